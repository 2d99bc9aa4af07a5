#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much memory and CPU does one process need for many LLM streams at once?

    bench/streams_bench.py [--streams 2000] [--prompt-bytes 8192] [--seconds 10] [--rate 1]

Starts a server of its own (plain HTTP/1.1, Chat Completions, one token a stream every 1/rate s, for ever) and the
gateway with that many streams open (build target `streams_driver`, in REGATTA_BIN_DIR or build/release/bin). Memory is
the growth of the process' Pss from one open stream to all of them; the prompts are in it.
"""
import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import subprocess

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


def serve(pipe, pause):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def run():
        server = await asyncio.start_server(lambda r, w: answer(r, w, pause), "127.0.0.1", 0, backlog=4096)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--streams", type=int, default=2000)
    options.add_argument("--prompt-bytes", type=int, default=8192)
    options.add_argument("--seconds", type=int, default=10)
    options.add_argument("--rate", type=float, default=1)
    given = options.parse_args()
    mine, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs, 1 / given.rate), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{mine.recv()}/v1"
    driver = os.path.join(PROGRAMS, "streams_driver")
    done = subprocess.run([driver, url, str(given.streams), str(given.prompt_bytes), str(given.seconds)],
                          stdout=subprocess.PIPE, text=True, check=False)
    server.terminate()
    if done.returncode != 0:
        raise SystemExit(f"not all streams came up: {done.stdout}")
    got = json.loads(done.stdout)
    print(f"{got['streams']} streams: {got['bytes_per_stream'] / 1024:.1f} KiB each, "
          f"{got['cpu_us_per_delta']:.1f} us of CPU a token ({got['deltas']} tokens, {got['cpu_s']:.2f} s)")


if __name__ == "__main__":
    main()
