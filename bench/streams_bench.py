#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much memory and CPU does one process need for many LLM streams at once?

    bench/streams_bench.py [--wire plain|tls|h2] [--streams 2000] [--prompt-bytes 8192] [--seconds 10] [--rate 1]

Starts a server of its own (HTTP/1.1, plain or over TLS, or HTTP/2 over TLS by python3-h2; Chat Completions, one token a
stream every 1/rate s, for ever) and the
gateway with that many streams open (build target `streams_driver`, in REGATTA_BIN_DIR or build/release/bin). Memory is
the growth of the process' Pss from one open stream to all of them; the prompts are in it.
"""
import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import ssl
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = os.environ.get("REGATTA_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
EVENT = b'data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" token"}}]}\n\n'


async def answer(reader, writer, pause):
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    await reader.readexactly(length)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)
    try:
        while True:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(pause)
    except ConnectionError:
        writer.close()


async def answer_h2(reader, writer, pause):
    import h2.config
    import h2.connection
    import h2.events
    import h2.settings

    wire = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    wire.update_settings({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 1000})
    wire.initiate_connection()
    writer.write(wire.data_to_send())

    async def talk(stream):
        wire.send_headers(stream, [(":status", "200"), ("content-type", "text/event-stream")])
        while True:
            if wire.local_flow_control_window(stream) >= len(EVENT):
                wire.send_data(stream, EVENT)
            writer.write(wire.data_to_send())
            await asyncio.sleep(pause)

    talks = []
    while data := await reader.read(65536):
        for event in wire.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                talks.append(asyncio.ensure_future(talk(event.stream_id)))
        writer.write(wire.data_to_send())
    for each in talks:
        each.cancel()


def make_certificate(folder):
    """A key and a certificate of its own for 127.0.0.1; the driver is told to trust it."""
    path = os.path.join(folder, "server.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path + ".key", "-out", path],
                   check=True, stderr=subprocess.DEVNULL)
    return path


def serve(pipe, pause, wire, certificate):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def run():
        secured = None
        if wire != "plain":
            secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            secured.load_cert_chain(certificate, certificate + ".key")
            secured.set_alpn_protocols(["h2"] if wire == "h2" else ["http/1.1"])
        talk = answer_h2 if wire == "h2" else answer
        server = await asyncio.start_server(lambda r, w: talk(r, w, pause), "127.0.0.1", 0, backlog=4096, ssl=secured)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--wire", choices=["plain", "tls", "h2"], default="plain")
    options.add_argument("--streams", type=int, default=2000)
    options.add_argument("--prompt-bytes", type=int, default=8192)
    options.add_argument("--seconds", type=int, default=10)
    options.add_argument("--rate", type=float, default=1)
    given = options.parse_args()
    mine, theirs = multiprocessing.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        certificate = "" if given.wire == "plain" else make_certificate(folder)
        server = multiprocessing.Process(target=serve, args=(theirs, 1 / given.rate, given.wire, certificate), daemon=True)
        server.start()
        url = f"{'http' if given.wire == 'plain' else 'https'}://127.0.0.1:{mine.recv()}/v1"
        driver = os.path.join(PROGRAMS, "streams_driver")
        done = subprocess.run([driver, url, str(given.streams), str(given.prompt_bytes), str(given.seconds), certificate],
                              stdout=subprocess.PIPE, text=True, check=False)
        server.terminate()
    if done.returncode != 0:
        raise SystemExit(f"not all streams came up: {done.stdout}")
    got = json.loads(done.stdout)
    print(f"{given.wire}, {got['streams']} streams: {got['bytes_per_stream'] / 1024:.1f} KiB each, "
          f"{got['cpu_us_per_delta']:.1f} us of CPU a token ({got['deltas']} tokens, {got['cpu_s']:.2f} s)")


if __name__ == "__main__":
    main()
