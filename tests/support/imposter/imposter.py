#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An LLM server that says exactly what a script tells it, byte by byte and pause by pause.

    imposter.py SCRIPT.json [--tls] [--http1] [--name HOST]

Prints `port N` on stdout; with --tls then `ca PATH`, a certificate for 127.0.0.1 and localhost to trust. With --tls it
offers h2 by ALPN (python3-h2) unless --http1. Then one JSON object a line for everything that happens:

    {"event": "call", "call": 1, "path": "/v1/responses", "protocol": "h1", "headers": {…}, "body": "…"}
    {"event": "answered", "call": 1}            the whole script of this call was sent
    {"event": "closed_by_client", "call": 2}    HTTP/1.1 connection closed before that (also while it stalls)
    {"event": "reset_by_client", "call": 3, "code": 8}   HTTP/2 RST_STREAM before that
    {"event": "no_rule", "call": 4, "path": …}  answered with 404
The same, as a list, at GET /imposter/events. Ends when its stdin closes.

SCRIPT.json: {"rules": [RULE, …]}. A call is answered by the first rule that fits and has times left:

    path    suffix of the request's path; any if missing
    match   text that must stand in the request's body, or a list of such texts; any if missing
    times   how often this rule answers; no limit if missing
    status  200          headers {"content-type": "text/event-stream"}
    framing "chunked" | "length" | "close" (HTTP/1.1 only)
    steps   list of what is done after the head is sent:
        {"text": "…"}                    sent as UTF-8, in one piece
        {"hex": "f09f"}                  any bytes
        {"text": "…", "cut": [3, 7]}     in pieces that end at these byte positions, 5 ms apart
        {"text": "…", "drip_ms": 2}      byte by byte
        {"text": "…", "repeat": 1000}    that often, each time in a piece of its own
        {"pause_ms": 500}                silence
        {"stall": true}                  nothing more, for ever
        {"reset": true}                  TCP reset (HTTP/2: RST_STREAM with INTERNAL_ERROR)
        {"close": true}                  the connection ends without the body's end
        {"chat": {…}} {"responses": {…}} {"messages": {…}}   a whole honest stream of that wire, see below
        {"whole": {"wire": "chat", …}}   the same reply in one JSON body (chat, responses, messages, relay)
    before  steps of the same kind done before the head (pause_ms, stall, reset, close)
    idle_close_ms  close a kept connection after this much idleness, as uvicorn does after 5000

An honest stream: {"text": "reply", "pieces": 4, "pause_ms": 0, "finish": "stop", "input_tokens": 3, "output_tokens": 5,
"id": "…", "thinking": "…", "cached_tokens": 0}; only `text` is needed. `finish` is the wire's own word, `stop` stands for
its ordinary one.
"""
import argparse
import asyncio
import json
import os
import queue
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading


def data_line(value, name=None):
    head = f"event: {name}\n" if name else ""
    return head + "data: " + json.dumps(value) + "\n\n"


def pieces_of(text, count):
    size = max(1, -(-len(text) // max(1, count)))
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]


def chat_usage(x):
    return {"prompt_tokens": x.get("input_tokens", 3), "completion_tokens": x.get("output_tokens", 5),
            "total_tokens": x.get("input_tokens", 3) + x.get("output_tokens", 5),
            "prompt_tokens_details": {"cached_tokens": x.get("cached_tokens", 0)}}


def chat_stream(x):
    def chunk(choices, **more):
        return data_line({"id": x.get("id", "chatcmpl-1"), "object": "chat.completion.chunk", "created": 1, "model": "imposter",
                          "choices": choices, **more})

    def choice(delta, finish=None):
        return chunk([{"index": 0, "delta": delta, "finish_reason": finish}])
    yield choice({"role": "assistant", "content": ""})
    if "thinking" in x:
        yield choice({"reasoning_content": x["thinking"]})
    for piece in pieces_of(x["text"], x.get("pieces", 4)):
        yield choice({"content": piece})
    yield choice({}, x.get("finish", "stop"))
    yield chunk([], usage=chat_usage(x))
    yield "data: [DONE]\n\n"


def chat_whole(x):
    message = {"role": "assistant", "content": x["text"], "refusal": None}
    return {"id": x.get("id", "chatcmpl-1"), "object": "chat.completion", "created": 1, "model": "imposter",
            "choices": [{"index": 0, "message": message, "finish_reason": x.get("finish", "stop"), "logprobs": None}],
            "usage": chat_usage(x)}


def responses_whole(x, status=None):
    finish = x.get("finish", "stop")
    done = "completed" if finish == "stop" else "incomplete"
    usage = {"input_tokens": x.get("input_tokens", 3), "output_tokens": x.get("output_tokens", 5),
             "total_tokens": x.get("input_tokens", 3) + x.get("output_tokens", 5),
             "input_tokens_details": {"cached_tokens": x.get("cached_tokens", 0)},
             "output_tokens_details": {"reasoning_tokens": 0}}
    part = {"type": "output_text", "text": x["text"], "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": done, "content": [part]}
    return {"id": x.get("id", "resp_1"), "object": "response", "created_at": 1, "model": "imposter", "status": status or done,
            "error": None, "incomplete_details": None if finish == "stop" or status else {"reason": finish},
            "instructions": None, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            "temperature": 1, "top_p": 1, "output": [] if status else [item], "usage": None if status else usage}


def responses_stream(x):
    number = 0

    def event(kind, **more):
        nonlocal number
        number += 1
        return data_line({"type": kind, "sequence_number": number - 1, **more}, kind)
    whole = responses_whole(x)
    item = whole["output"][0]
    at = {"item_id": "msg_1", "output_index": 0}
    inside = {**at, "content_index": 0}
    yield event("response.created", response=responses_whole(x, "in_progress"))
    yield event("response.in_progress", response=responses_whole(x, "in_progress"))
    yield event("response.output_item.added", output_index=0, item={**item, "status": "in_progress", "content": []})
    yield event("response.content_part.added", **inside, part={"type": "output_text", "text": "", "annotations": []})
    for piece in pieces_of(x["text"], x.get("pieces", 4)):
        yield event("response.output_text.delta", **inside, delta=piece, logprobs=[])
    yield event("response.output_text.done", **inside, text=x["text"], logprobs=[])
    yield event("response.content_part.done", **inside, part=item["content"][0])
    yield event("response.output_item.done", output_index=0, item=item)
    yield event(f"response.{whole['status']}", response=whole)


def messages_whole(x):
    blocks = [{"type": "text", "text": x["text"]}]
    if "thinking" in x:
        blocks.insert(0, {"type": "thinking", "thinking": x["thinking"], "signature": "c2ln"})
    usage = {"input_tokens": x.get("input_tokens", 3), "output_tokens": x.get("output_tokens", 5),
             "cache_read_input_tokens": x.get("cached_tokens", 0), "cache_creation_input_tokens": 0}
    finish = x.get("finish", "stop")
    return {"id": x.get("id", "msg_1"), "type": "message", "role": "assistant", "model": "imposter", "content": blocks,
            "stop_reason": "end_turn" if finish == "stop" else finish, "stop_sequence": None, "usage": usage}


def messages_stream(x):
    def event(kind, **more):
        return data_line({"type": kind, **more}, kind)
    whole = messages_whole(x)
    usage = {**whole["usage"], "output_tokens": 1}
    yield event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": usage})
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        empty = {"type": "text", "text": ""} if kind == "text" else {"type": kind, "thinking": "", "signature": ""}
        yield event("content_block_start", index=index, content_block=empty)
        yield event("ping")
        for piece in pieces_of(block[kind], x.get("pieces", 4)):
            yield event("content_block_delta", index=index, delta={"type": f"{kind}_delta", kind: piece})
        if kind == "thinking":
            yield event("content_block_delta", index=index, delta={"type": "signature_delta", "signature": "c2ln"})
        yield event("content_block_stop", index=index)
    yield event("message_delta", delta={"stop_reason": whole["stop_reason"], "stop_sequence": None},
                usage={"output_tokens": whole["usage"]["output_tokens"]})
    yield event("message_stop")


def relay_whole(x):
    return [{"output": x["text"], "plugboard_request_id": x.get("id", "relay-1")}]


STREAMS = {"chat": chat_stream, "responses": responses_stream, "messages": messages_stream}
WHOLES = {"chat": chat_whole, "responses": responses_whole, "messages": messages_whole, "relay": relay_whole}


def sends(step):
    """What a step sends, as (bytes, pause before the next in seconds)."""
    for wire, make in STREAMS.items():
        if wire in step:
            return [(text.encode(), step[wire].get("pause_ms", 0) / 1000) for text in make(step[wire])]
    if "whole" in step:
        return [(json.dumps(WHOLES[step["whole"]["wire"]](step["whole"])).encode(), 0)]
    data = bytes.fromhex(step["hex"]) if "hex" in step else step.get("text", "").encode()
    if "repeat" in step:
        return ((data, 0) for _ in range(step["repeat"]))
    if "drip_ms" in step:
        return [(data[i : i + 1], step["drip_ms"] / 1000) for i in range(len(data))]
    if "cut" in step:
        ends = [0, *step["cut"], len(data)]
        return [(data[a:b], 0.005) for a, b in zip(ends, ends[1:])]
    return [(data, 0)]


class Cut(Exception):
    """The script ends this exchange; `how` is reset or close."""

    def __init__(self, how):
        super().__init__(how)
        self.how = how


async def perform(steps, send):
    for step in steps:
        if "pause_ms" in step:
            await asyncio.sleep(step["pause_ms"] / 1000)
        elif step.get("stall"):
            await asyncio.Event().wait()
        elif step.get("reset") or step.get("close"):
            raise Cut("reset" if step.get("reset") else "close")
        else:
            for data, pause in sends(step):
                await send(data)
                if pause:
                    await asyncio.sleep(pause)


class Imposter:
    def __init__(self, rules):
        self.rules = rules
        self.left = [rule.get("times", float("inf")) for rule in rules]
        self.calls = 0
        self.events = []
        # A thread of its own: a reader that lets the pipe fill up must not stop the server.
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self.print_lines, daemon=True).start()

    def print_lines(self):
        while True:
            try:
                print(self.lines.get(), flush=True)
            except OSError:
                return

    def tell(self, event, **more):
        self.events.append({"event": event, **more})
        self.lines.put(json.dumps(self.events[-1]))

    def pick(self, path, body):
        for i, rule in enumerate(self.rules):
            wanted = rule.get("match", [])
            wanted = [wanted] if isinstance(wanted, str) else wanted
            if self.left[i] > 0 and path.endswith(rule.get("path", "")) and all(text in body for text in wanted):
                self.left[i] -= 1
                return rule
        return None

    def begin(self, path, protocol, headers, body):
        """The call's number and rule, or None for the control path."""
        text = body.decode("utf-8", "replace")
        if path == "/imposter/events":
            listing = json.dumps(self.events)
            return 0, {"headers": {"content-type": "application/json"}, "steps": [{"text": listing}], "framing": "length"}
        self.calls += 1
        self.tell("call", call=self.calls, path=path, protocol=protocol, headers=headers, body=text)
        rule = self.pick(path, text)
        if rule is None:
            self.tell("no_rule", call=self.calls, path=path)
            rule = {"status": 404, "headers": {"content-type": "application/json"},
                    "steps": [{"text": '{"error": {"message": "no rule"}}'}]}
        return self.calls, rule

    # HTTP/1.1 ----------------------------------------------------------------------------------------------------

    async def on_connection(self, reader, writer):
        tls = writer.get_extra_info("ssl_object")
        try:
            if tls is not None and tls.selected_alpn_protocol() == "h2":
                await Http2(self, reader, writer).run()
            else:
                await self.serve_http1(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            pass  # Cancelled: the program ends.
        finally:
            writer.close()

    async def serve_http1(self, reader, writer):
        idle = None
        while True:
            try:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), idle)
            except asyncio.TimeoutError:
                return
            first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
            headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            number, rule = self.begin(first.split()[1], "h1", headers, body)
            idle = rule["idle_close_ms"] / 1000 if "idle_close_ms" in rule else None
            if not await self.answer_http1(number, rule, reader, writer):
                return

    async def answer_http1(self, number, rule, reader, writer):
        """True if the connection stays open."""
        answer = asyncio.ensure_future(self.send_http1(number, rule, writer))
        # Whatever comes now is the client's leaving: nobody here pipelines.
        gone = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            self.tell("closed_by_client", call=number)
            gone.exception()  # A reset is a way of leaving, too.
            return False
        gone.cancel()
        try:
            await gone
        except (asyncio.CancelledError, ConnectionError):
            pass
        return answer.result()

    async def send_http1(self, number, rule, writer):
        framing = rule.get("framing", "chunked")
        steps = rule.get("steps", [])

        async def send(data):
            if framing == "chunked" and data:
                data = b"%x\r\n%s\r\n" % (len(data), data)
            writer.write(data)
            await writer.drain()

        try:
            await perform(rule.get("before", []), send)
            writer.write(self.head_http1(rule, framing, steps))
            await writer.drain()
            await perform(steps, send)
        except Cut as cut:
            if cut.how == "reset":
                # Without lingering, close() sends RST and no FIN.
                sock = writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            return False
        if framing == "chunked":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        if number:
            self.tell("answered", call=number)
        return framing != "close"

    @staticmethod
    def head_http1(rule, framing, steps):
        headers = {"content-type": "text/event-stream", **rule.get("headers", {})}
        if framing == "chunked":
            headers["transfer-encoding"] = "chunked"
        elif framing == "length":
            headers["content-length"] = sum(len(data) for step in steps for data, _ in sends(step))
        else:
            headers["connection"] = "close"
        lines = [f"HTTP/1.1 {rule.get('status', 200)} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Http2:
    """One HTTP/2 connection; the frames are the h2 library's, the bytes the script's."""

    def __init__(self, imposter, reader, writer):
        import h2.config
        import h2.connection

        self.imposter, self.reader, self.writer = imposter, reader, writer
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.requests, self.answers, self.window = {}, {}, asyncio.Event()

    async def flush(self):
        self.writer.write(self.http.data_to_send())
        await self.writer.drain()

    async def run(self):
        self.http.initiate_connection()
        await self.flush()
        try:
            while data := await self.reader.read(65536):
                for event in self.http.receive_data(data):
                    self.on_event(event)
                await self.flush()
        finally:
            for number, answer in self.answers.values():
                if not answer.done():
                    answer.cancel()
                    self.imposter.tell("closed_by_client", call=number)

    def on_event(self, event):
        kind = type(event).__name__
        if kind == "RequestReceived":
            self.requests[event.stream_id] = (dict(event.headers), bytearray())
        elif kind == "DataReceived":
            self.requests[event.stream_id][1].extend(event.data)
            self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif kind == "StreamEnded":
            headers, body = self.requests.pop(event.stream_id)
            number, rule = self.imposter.begin(headers[":path"], "h2", headers, bytes(body))
            answer = asyncio.ensure_future(self.answer(event.stream_id, number, rule))
            self.answers[event.stream_id] = (number, answer)
        elif kind == "StreamReset" and event.stream_id in self.answers:
            number, answer = self.answers.pop(event.stream_id)
            if not answer.done():
                answer.cancel()
                self.imposter.tell("reset_by_client", call=number, code=int(event.error_code))
        elif kind == "WindowUpdated":
            self.window.set()

    async def answer(self, stream, number, rule):
        async def send(data):
            while data:
                room = min(self.http.local_flow_control_window(stream), self.http.max_outbound_frame_size)
                if room <= 0:
                    self.window.clear()
                    await self.window.wait()
                    continue
                self.http.send_data(stream, data[:room])
                data = data[room:]
                await self.flush()

        headers = {":status": str(rule.get("status", 200)), "content-type": "text/event-stream", **rule.get("headers", {})}
        try:
            await perform(rule.get("before", []), send)
            self.http.send_headers(stream, [(k, str(v)) for k, v in headers.items()])
            await self.flush()
            await perform(rule.get("steps", []), send)
            self.http.end_stream(stream)
            await self.flush()
        except Cut as cut:
            if cut.how == "reset":
                self.http.reset_stream(stream, 2)
                await self.flush()
            else:
                self.writer.transport.abort()
            return
        if number:
            self.imposter.tell("answered", call=number)


def make_certificate(folder, names):
    """A certificate of its own, as new as this run; returns (certificate, key)."""
    hosts = ",".join(["IP:127.0.0.1", "DNS:localhost"] + ["DNS:" + name for name in names])
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=imposter",
                    "-addext", "subjectAltName=" + hosts], check=True, capture_output=True)
    return cert, key


async def stdin_closed():
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(4096):
        pass


async def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("script")
    options.add_argument("--tls", action="store_true")
    options.add_argument("--http1", action="store_true")
    options.add_argument("--name", action="append", default=[], help="of a host that the certificate is for, too")
    given = options.parse_args()
    with open(given.script, encoding="utf-8") as file:
        imposter = Imposter(json.load(file)["rules"])
    with tempfile.TemporaryDirectory(prefix="imposter-") as folder:
        context = None
        if given.tls:
            cert, key = make_certificate(folder, given.name)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(cert, key)
            context.set_alpn_protocols(["http/1.1"] if given.http1 else ["h2", "http/1.1"])
        server = await asyncio.start_server(imposter.on_connection, "127.0.0.1", 0, ssl=context, backlog=4096)
        print("port", server.sockets[0].getsockname()[1], flush=True)
        if given.tls:
            print("ca", cert, flush=True)
        await stdin_closed()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)
