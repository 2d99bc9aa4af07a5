# SPDX-License-Identifier: Apache-2.0
"""The questions about time, as both sides answer them. No test here says that something is fast or slow: the numbers are
the machine's; what is shown is that no trick of a candidate lets a call that did no work pass for one that did."""
import math
import unittest

import driver

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x, ids):
        return self.linear(x) + ids.unsqueeze(1)

def get_inputs():
    return [torch.randn(16, 8), torch.randint(0, 5, (16,))]

def get_init_inputs():
    return []
"""
HEAD = """
import torch

class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def right(self, x, ids):
        return self.linear(x) + ids.unsqueeze(1)

"""
HONEST = HEAD + """
class Model(Base):
    def forward(self, x, ids):
        return self.right(x, ids)
"""
CALLS = 6


class Pair:
    """Both sides of one timing, as the comparator drives them."""

    def __init__(self, case, text, problem=PROBLEM, stage="extract"):
        self.case, self.folders = case, [driver.Folder(), driver.Folder()]
        self.ref = driver.reference(self.folders[0].file("problem.py", problem))
        self.cand = driver.candidate(self.folders[1].file("candidate_main.py", text), stage)
        self.hello, self.number = self.ref.hear(), 0
        case.assertEqual(self.hello["op"], "hello")
        case.assertEqual(self.cand.hear()["op"], "hello")
        truth = driver.ask_reference(self.ref)
        self.asked = driver.ask_candidate(self.cand, self.hello, truth["inputs"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for side in (self.ref, self.cand):
            side.close()
        for folder in self.folders:
            folder.made.cleanup()

    def load(self, keep_model=False, first_seed=100, sets=CALLS):
        self.number += 1
        head = {"op": "time_load", "id": self.number, "init_seed": 5, "style": "plain",
                "model": "kept" if keep_model else "fresh", "calls": CALLS}
        truth = self.ref.ask({**head, "input_seeds": [first_seed + i for i in range(sets)]})
        self.case.assertEqual(truth["op"], "loaded", truth)
        return truth, self.cand.ask({**head, "inputs": truth["inputs"]}, truth["inputs"])

    def go(self, nonce, calls=CALLS):
        self.number += 1
        head = {"op": "time_go", "id": self.number, "nonce": nonce, "calls": calls}
        return self.ref.ask(head), self.cand.ask(head)

    def pick(self, call):
        """The error of that call's outputs; infinite if there are none."""
        self.number += 1
        head = {"op": "time_pick", "id": self.number, "call": call}
        truth, got = self.ref.ask(head), self.cand.ask(head)
        return math.inf if got["op"] == "failed" else driver.worst(got["outputs"], truth["outputs"])


class Timing(unittest.TestCase):
    def errors(self, text, loads=(False,), **options):
        """Worst error of each batch's calls: for each load, two batches."""
        out = []
        with Pair(self, text, **options) as pair:
            for number, keep in enumerate(loads):
                _, loaded = pair.load(keep, 100 * (number + 1))
                self.assertEqual(loaded["op"], "loaded", loaded)
                for nonce in (11 + number, 23 + number):
                    _, timed = pair.go(nonce)
                    self.assertEqual(timed["op"], "timed", timed)
                    out.append(max(pair.pick(x) for x in range(CALLS)))
        return out

    def test_an_honest_candidate_is_right_in_every_call_of_every_batch(self):
        self.assertLess(max(self.errors(HONEST, (False, True))), 1e-4)

    def test_inputs_are_others_at_every_go_and_the_same_on_both_sides(self):
        text = HEAD + "class Model(Base):\n    def forward(self, x, ids):\n        return x\n"
        problem = PROBLEM.replace("return self.linear(x) + ids.unsqueeze(1)", "return x")
        seen = []
        with Pair(self, text, problem) as pair:
            truth, _ = pair.load()
            drawn = [driver.numbers(x["v"][0])[0] for x in truth["inputs"]]
            for nonce in (1, 2):
                pair.go(nonce)
                for call in range(CALLS):
                    self.assertEqual(pair.pick(call), 0.0)
                seen.append([driver.numbers(pair.cand.ask({"op": "time_pick", "id": 99, "call": x})["outputs"])[0]
                             for x in range(CALLS)])
        self.assertFalse(set(drawn) & set(seen[0] + seen[1]))
        self.assertFalse(set(seen[0]) & set(seen[1]))

    def test_a_side_says_how_long_it_took_by_its_own_clock(self):
        with Pair(self, HONEST) as pair:
            pair.load()
            ref, cand = pair.go(1)
            self.assertGreater(ref["own_ns"], 0)
            self.assertGreater(cand["own_ns"], 0)
            self.assertFalse(cand["copies"])

    # Tricks ----------------------------------------------------------------------------------------------------------

    def test_outputs_remembered_by_the_inputs_address_are_wrong(self):
        text = HEAD + """
known = {}

class Model(Base):
    def forward(self, x, ids):
        key = (x.data_ptr(), ids.data_ptr())
        if key not in known:
            known[key] = self.right(x, ids)
        return known[key]
"""
        self.assertGreater(max(self.errors(text, (False, True))), 1e-2)

    def test_neither_if_the_output_is_the_same_for_all_multiples_of_an_input(self):
        line = "x / x.norm(dim=1, keepdim=True)"
        problem = PROBLEM.replace("self.linear(x) + ids.unsqueeze(1)", line)
        text = HEAD + """
known = {}

class Model(Base):
    def forward(self, x, ids):
        if x.data_ptr() not in known:
            known[x.data_ptr()] = %s
        return known[x.data_ptr()]
""" % line
        self.assertGreater(max(self.errors(text, problem=problem)), 1e-2)

    def test_outputs_remembered_by_the_inputs_identity_or_shape_are_wrong(self):
        for key in ("tuple(x.shape)", "id(type(x))", "(x.dtype, x.stride())"):
            text = HEAD + """
known = {}

class Model(Base):
    def forward(self, x, ids):
        key = %s
        if key not in known:
            known[key] = self.right(x, ids)
        return known[key]
""" % key
            self.assertGreater(min(self.errors(text)), 1e-2, key)

    def test_outputs_remembered_by_the_inputs_content_are_never_found_again(self):
        text = HEAD + """
known, hits, last = {}, [0], [None]

class Model(Base):
    def forward(self, x, ids):
        key = (bytes(x.numpy().tobytes()), bytes(ids.numpy().tobytes()))
        hits[0] += key in known and key != last[0]  # the warm-up calls one input again
        last[0] = key
        if key not in known:
            known[key] = self.right(x, ids)
        return known[key] + hits[0]
"""
        self.assertLess(max(self.errors(text, (False, True))), 1e-4)

    def test_work_that_only_the_first_call_of_a_batch_does_is_missed(self):
        text = HEAD + """
class Model(Base):
    def forward(self, x, ids):
        self.count = getattr(self, "count", 0) + 1
        if self.count %% %d != 4:
            return torch.empty(16, 4)
        return self.right(x, ids)
""" % CALLS
        self.assertGreater(min(self.errors(text)), 1e-2)

    def test_an_output_that_is_computed_when_it_is_looked_at_is_none(self):
        lazy = """
class Lazy(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return function(*[x.work() if isinstance(x, cls) else x for x in args], **(kwargs or {}))

    @staticmethod
    def of(work):
        made = torch.Tensor._make_wrapper_subclass(Lazy, (16, 4), dtype=torch.float32)
        made.work = work
        return made

class Model(Base):
    def forward(self, x, ids):
        return Lazy.of(lambda: self.right(x, ids))
"""
        self.assertEqual(min(self.errors(HEAD + lazy)), math.inf)

    def test_a_mapping_that_computes_when_it_is_looked_at_is_looked_at_in_the_batch(self):
        text = HEAD + """
import collections.abc
looked = [0]

class Lazy(collections.abc.Mapping):
    def __init__(self, work):
        self.work = work
    def __getitem__(self, key):
        looked[0] += 1
        return self.work()
    def __iter__(self):
        return iter(["y"])
    def __len__(self):
        return 1

class Model(Base):
    def forward(self, x, ids):
        return Lazy(lambda: self.right(x, ids) + 0 * looked[0])
"""
        problem = PROBLEM.replace("return self.linear(x) + ids.unsqueeze(1)", "return {'y': self.linear(x) + ids.unsqueeze(1)}")
        with Pair(self, text, problem) as pair:
            pair.load()
            pair.go(1)
            self.assertLess(pair.pick(3), 1e-4)

    def test_a_mapping_that_appears_only_in_some_calls_is_refused(self):
        text = HEAD + """
import collections.abc

class Lazy(collections.abc.Mapping):
    def __init__(self, work):
        self.work = work
    def __getitem__(self, key):
        return self.work()
    def __iter__(self):
        return iter(["y"])
    def __len__(self):
        return 1

class Model(Base):
    def forward(self, x, ids):
        self.count = getattr(self, "count", 0) + 1
        return Lazy(lambda: self.right(x, ids)) if self.count > 3 else {"y": self.right(x, ids)}
"""
        problem = PROBLEM.replace("return self.linear(x) + ids.unsqueeze(1)", "return {'y': self.linear(x) + ids.unsqueeze(1)}")
        self.assertEqual(min(self.errors(text, problem=problem)), math.inf)

    def test_a_thread_that_goes_on_after_the_batch_is_counted_and_late(self):
        text = HEAD + """
import threading, time

class Model(Base):
    def forward(self, x, ids):
        made = torch.zeros(16, 4)
        def work():
            time.sleep(0.5)
            made.copy_(self.right(x, ids))
        threading.Thread(target=work, daemon=True).start()
        return made
"""
        text = text.replace("made.copy_(self.right(x, ids))", "with torch.no_grad():\n                made.copy_(self.right(x, ids))")
        with Pair(self, text) as pair:
            pair.load()
            _, timed = pair.go(1)
            self.assertGreater(timed["threads"], 0)
            self.assertGreater(pair.pick(CALLS - 1), 1e-2)

    def test_patched_timers_reach_nothing_of_ours(self):
        text = HONEST + """
import time, random
for name in ("perf_counter_ns", "perf_counter", "monotonic", "time", "time_ns"):
    setattr(time, name, lambda: 7)
random.Random = None
torch.Tensor.mul_ = lambda x, factor: x
torch.Tensor.copy_ = lambda x, other: x
"""
        with Pair(self, text) as pair:
            self.assertEqual(pair.load()[1]["op"], "loaded")
            _, timed = pair.go(1)
            self.assertGreater(timed["own_ns"], 0)
            self.assertLess(max(pair.pick(x) for x in range(CALLS)), 1e-4)

    # Honest habits ---------------------------------------------------------------------------------------------------

    def test_one_buffer_for_all_outputs_is_copied_and_said_so(self):
        text = HEAD + """
class Model(Base):
    def __init__(self):
        super().__init__()
        self.out = torch.empty(16, 4)

    def forward(self, x, ids):
        return self.out.copy_(self.right(x, ids))
"""
        with Pair(self, text) as pair:
            pair.load()
            _, timed = pair.go(1)
            self.assertTrue(timed["copies"])
            self.assertLess(max(pair.pick(x) for x in range(CALLS)), 1e-4)

    def test_inputs_that_are_changed_in_place_are_new_in_the_next_batch(self):
        problem = PROBLEM.replace("return self.linear(x) + ids.unsqueeze(1)", "x.mul_(0.5)\n        return self.linear(x)")
        text = HEAD + """
class Model(Base):
    def forward(self, x, ids):
        x.mul_(0.5)
        return self.linear(x)
"""
        self.assertLess(max(self.errors(text, (False, True), problem=problem)), 1e-4)

    def test_records_and_plain_numbers_are_timed_too(self):
        problem = PROBLEM.replace("return self.linear(x) + ids.unsqueeze(1)",
                                  "return Out(self.linear(x), float(x.sum()))").replace(
            "class Model", "import dataclasses\n\n@dataclasses.dataclass\nclass Out:\n    y: object\n    total: float\n\n\nclass Model")
        text = HEAD.replace("class Base", "import dataclasses\n\n@dataclasses.dataclass\nclass Out:\n    y: object\n    total: float\n\n\nclass Base") + """
class Model(Base):
    def forward(self, x, ids):
        return Out(self.linear(x), float(x.sum()))
"""
        self.assertLess(max(self.errors(text, problem=problem)), 1e-4)

    def test_a_candidate_that_raises_in_a_batch_says_so(self):
        text = HEAD + """
class Model(Base):
    def forward(self, x, ids):
        self.count = getattr(self, "count", 0) + 1
        if self.count > 5:
            raise ValueError("tired")
        return self.right(x, ids)
"""
        with Pair(self, text) as pair:
            pair.load()
            _, timed = pair.go(1)
            self.assertEqual((timed["op"], timed["judgement"]), ("failed", "raised"))
