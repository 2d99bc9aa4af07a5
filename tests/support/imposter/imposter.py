#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An LLM server that says exactly what a script tells it, byte by byte and pause by pause.

    imposter.py SCRIPT.json [--tls] [--http1]

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
    match   text that must stand in the request's body; any if missing
    times   how often this rule answers; no limit if missing
    status  200          headers {"content-type": "text/event-stream"}
    framing "chunked" | "length" | "close" (HTTP/1.1 only)
    steps   list of what is done after the head is sent:
        {"text": "…"}                    sent as UTF-8, in one piece
        {"hex": "f09f"}                  any bytes
        {"text": "…", "cut": [3, 7]}     in pieces that end at these byte positions, 5 ms apart
        {"text": "…", "drip_ms": 2}      byte by byte
        {"pause_ms": 500}                silence
        {"stall": true}                  nothing more, for ever
        {"reset": true}                  TCP reset (HTTP/2: RST_STREAM with INTERNAL_ERROR)
        {"close": true}                  the connection ends without the body's end
        {"chat": {…}} {"responses": {…}} a whole honest stream of that wire, see below
    before  steps of the same kind done before the head (pause_ms, stall, reset, close)
    idle_close_ms  close a kept connection after this much idleness, as uvicorn does after 5000

An honest stream: {"text": "reply", "pieces": 4, "pause_ms": 0, "finish": "stop", "input_tokens": 3, "output_tokens": 5,
"id": "…"}; only `text` is needed.
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


def chat_stream(x):
    def chunk(delta, finish=None):
        return data_line({"id": x.get("id", "chatcmpl-1"), "object": "chat.completion.chunk", "model": "imposter",
                          "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces_of(x["text"], x.get("pieces", 4)):
        yield chunk({"content": piece})
    yield chunk({}, x.get("finish", "stop"))
    usage = {"prompt_tokens": x.get("input_tokens", 3), "completion_tokens": x.get("output_tokens", 5)}
    yield data_line({"id": x.get("id", "chatcmpl-1"), "object": "chat.completion.chunk", "choices": [], "usage": usage})
    yield "data: [DONE]\n\n"


def responses_stream(x):
    def event(kind, **more):
        return data_line({"type": kind, **more}, kind)
    rid = x.get("id", "resp_1")
    usage = {"input_tokens": x.get("input_tokens", 3), "output_tokens": x.get("output_tokens", 5)}
    part = {"type": "output_text", "text": x["text"]}
    finish = x.get("finish", "stop")
    status = "completed" if finish == "stop" else "incomplete"
    why = None if finish == "stop" else {"reason": finish}
    yield event("response.created", response={"id": rid, "status": "in_progress", "output": []})
    for piece in pieces_of(x["text"], x.get("pieces", 4)):
        yield event("response.output_text.delta", item_id="m", output_index=0, content_index=0, delta=piece)
    yield event("response.output_text.done", item_id="m", output_index=0, content_index=0, text=x["text"])
    done = {"id": rid, "status": status, "incomplete_details": why, "error": None, "usage": usage,
            "output": [{"type": "message", "role": "assistant", "content": [part]}]}
    yield event(f"response.{status}", response=done)


def sends(step):
    """What a step sends, as (bytes, pause before the next in seconds)."""
    for wire, make in (("chat", chat_stream), ("responses", responses_stream)):
        if wire in step:
            return [(text.encode(), step[wire].get("pause_ms", 0) / 1000) for text in make(step[wire])]
    data = bytes.fromhex(step["hex"]) if "hex" in step else step.get("text", "").encode()
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
            if self.left[i] > 0 and path.endswith(rule.get("path", "")) and rule.get("match", "") in body:
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
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
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


def make_certificate(folder):
    """A certificate of its own, as new as this run; returns (certificate, key)."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=imposter",
                    "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)
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
    given = options.parse_args()
    with open(given.script, encoding="utf-8") as file:
        imposter = Imposter(json.load(file)["rules"])
    with tempfile.TemporaryDirectory(prefix="imposter-") as folder:
        context = None
        if given.tls:
            cert, key = make_certificate(folder)
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
