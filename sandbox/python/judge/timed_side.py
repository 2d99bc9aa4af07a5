# SPDX-License-Identifier: Apache-2.0
"""The questions about time, which both sides answer alike (docs/judge.md, "Timing")."""
__builtins__ = dict(vars(__import__("builtins")))

from timing import Timer
from tree import Encoder


class TimedSide:
    """`open_sets(question, channel)` gives (inputs of each call, a call to be warmed up or None, what the answer says
    besides, the tensors of that)."""

    def __init__(self, open_sets):
        self.open_sets, self.timer, self.codec = open_sets, None, None

    def prepare(self, torch, codec, device):
        """Before foreign code is loaded, whose patches then reach nothing here."""
        self.timer, self.codec = Timer(torch, codec, device), codec

    def answers(self, question):
        return question["op"] in ("time_load", "time_go", "time_pick", "time_events")

    def answer(self, question, channel):
        op, number = question["op"], question["id"]
        if self.timer is None:
            self.prepare(None, None, None)
        if op == "time_load":
            return self.load(question, channel)
        if op == "time_go":
            return ({"op": "timed", "id": number, **self.timer.go(question["nonce"], question["calls"])},)
        if op == "time_events":
            return ({"op": "events", "id": number, "ms": self.timer.events(question["trials"])},)
        encoder = Encoder(self.codec)
        head = {"op": "picked", "id": number, "outputs": encoder.node(self.timer.picked(question["call"]))}
        return self.framed(head, encoder.tensors)

    def load(self, question, channel):
        self.timer.outputs, self.timer.sets, self.timer.places = [], [], []
        sets, call, said, tensors = self.open_sets(question, channel)
        self.timer.load(sets, question["calls"], call)
        return self.framed({"op": "loaded", "id": question["id"], **said}, tensors)

    def framed(self, head, tensors):
        if not tensors:
            return (head,)
        return head, sum([self.codec.bytes_of(x) for x in tensors]), (
            piece for x in tensors for piece in self.codec.buffers(x))
