#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Responses-API server that answers at once: the constant in a comparison of what happens around the LLM.

    instant_llm.py CASE [ANSWERED]    prints its port, serves until stdin closes

Cases (a reply is one python block; the round is read from the prompt's line "ATTEMPT: k"; every reply is unique by a
comment, so that no deduplication can shorten anybody's work):
  a  the first reply passes                     c  as b, and every candidate imports torch
  b  two replies fail, the third passes         d  one reply passes after 1 s, all others hang for 600 s
  e  as d, but those that hang fork, ignore SIGTERM and leave their session
  f  as e, and after ANSWERED requests every stream stalls at its first event
  g  as f, and all those processes spin instead of sleeping
"""
import http.server
import itertools
import json
import re
import sys
import threading

COUNT = itertools.count()
PASS = 'print("PASS")\n'
FAIL = 'raise SystemExit("wrong result: max abs difference 0.5")\n'
HANG = "import time\ntime.sleep(600)\n"
FIERCE = """import os, signal, time
for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(name, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.fork()
time.sleep(600)
"""


def candidate(case, attempt, number):
    body = {
        "a": PASS,
        "b": PASS if attempt >= 3 else FAIL,
        "c": "import torch\n" + (PASS if attempt >= 3 else FAIL),
        "d": "import time\ntime.sleep(1)\n" + PASS if number == 0 else HANG,
        "e": "import time\ntime.sleep(1)\n" + PASS if number == 0 else FIERCE,
        "f": "import time\ntime.sleep(1)\n" + PASS if number == 0 else FIERCE,
        "g": "import time\ntime.sleep(1)\n" + PASS if number == 0 else FIERCE.replace("time.sleep(600)", "while True: pass"),
    }[case]
    # The names that Regatta's kernel stage asks for; the other ways do not look.
    names = "class ModelNew: pass\ndef kernel_function(*inputs): pass\n"
    return f"# candidate {number}\n{names}{body}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    case = "a"
    answered = 16

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(request)
        found = re.search(r"ATTEMPT: (\d+)", text)
        number = next(COUNT)
        code = candidate(self.case, int(found.group(1)) if found else 1, number)
        reply = f"```python\n{code}```\n"
        done = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "instant",
                "output": [{"type": "message", "id": "m", "role": "assistant", "status": "completed",
                            "content": [{"type": "output_text", "text": reply, "annotations": []}]}],
                "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
                "usage": {"input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050,
                          "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}}
        start = dict(done, status="in_progress", output=[], usage=None)
        events = [("response.created", {"response": start}),
                  ("response.output_item.added", {"output_index": 0, "item": dict(done["output"][0], content=[])}),
                  ("response.content_part.added", {"item_id": "m", "output_index": 0, "content_index": 0,
                                                   "part": {"type": "output_text", "text": "", "annotations": []}}),
                  ("response.output_text.delta", {"item_id": "m", "output_index": 0, "content_index": 0, "delta": reply,
                                                  "logprobs": []}),
                  ("response.output_text.done", {"item_id": "m", "output_index": 0, "content_index": 0, "text": reply,
                                                 "logprobs": []}),
                  ("response.completed", {"response": done})]
        out = "".join(f"event: {kind}\ndata: {json.dumps(dict(body, type=kind, sequence_number=i))}\n\n"
                      for i, (kind, body) in enumerate(events)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        if self.case in "fg" and number >= self.answered:
            self.wfile.write(out[:out.index(b"\n\n") + 2])
            self.rfile.read(1)  # until the client hangs up
            return
        self.wfile.write(out)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, *_):
        """A loser's connection is cut in mid-reply: that is what is being measured."""


def main():
    Handler.case = sys.argv[1]
    Handler.answered = int(sys.argv[2]) if len(sys.argv) > 2 else Handler.answered
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
