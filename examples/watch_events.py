#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a race as it happens: watch_events.py ENDPOINT [RACE]. Needs `pip install pyzmq msgpack`; docs/events.md."""
import sys

try:
    import msgpack
    import zmq
except ImportError as missing:
    sys.exit(f"watch_events.py: {missing}: pip install pyzmq msgpack")

if len(sys.argv) < 2:
    sys.exit("usage: watch_events.py ENDPOINT [RACE]; regatta race -v says the endpoint")
endpoint, race = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "")
SHOWN = {"worker_moved": "phase note", "prompt_sent": "prompt_digest", "reply_ended": "outcome error",
         "code_extracted": "result note", "candidate_reserved": "duplicate owner", "round_failed": "why",
         "worker_finished": "end reason", "winner_decided": "round standing", "race_cancelled": "why",
         "race_ended": "end reason winner", "reply_delta": "text", "worker_started": "node", "runner_up": "round",
         "race_resumed": "workers replies evaluations"}

socket = zmq.Context().socket(zmq.SUB)
socket.setsockopt_string(zmq.SUBSCRIBE, f"race.{race}")
socket.connect(endpoint)
last_seq = {}
while True:
    topic, seq, body = socket.recv_multipart()
    event, seq = msgpack.unpackb(body), int(seq)
    missed = seq - last_seq.get(event["race"], 0) - 1
    last_seq[event["race"]] = seq
    verdict = " ".join(str(event.get("result", {}).get(key, "")) for key in ("outcome", "reason")) \
        if event["kind"] == "candidate_evaluated" else ""
    words = [str(event[key]) for key in SHOWN.get(event["kind"], "").split() if event.get(key)] + [verdict]
    line = " ".join([f"{seq:5}", event["kind"], event.get("worker", ""), *words])
    print("".join(c if c.isprintable() else " " for c in line), f"({missed} missed)" if missed > 0 else "", flush=True)
    if event["kind"] == "race_ended":
        break
