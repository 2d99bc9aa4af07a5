# SPDX-License-Identifier: Apache-2.0
"""Plays the comparator over pipes, with a codec of its own: a second reading of docs/judge.md."""
import json
import math
import os
import runpy
import select
import signal
import struct
import sys
import tempfile
import time
import traceback

SOURCE = os.environ.get("REGATTA_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
SIDES = os.path.join(SOURCE, "sandbox", "python", "judge")
PIECE = 1 << 18
DEVICE = os.environ.get("REGATTA_JUDGE_DEVICE", "cpu")  # cuda: by hand, on a machine that has one
WIDTH = {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint16": 2, "uint32": 4, "uint64": 8,
         "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1, "complex64": 8,
         "complex128": 16}
FORMAT = {"bool": "?", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H",
          "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d", "complex64": "f",
          "complex128": "d"}


class Gone(Exception):
    """The side ended."""


class Silent(Exception):
    """The side said nothing in time."""


def tensor_nodes(node):
    if node is None:
        return []
    if node["t"] == "tensor":
        return [node]
    if node["t"] in ("list", "tuple", "dict", "record"):
        return [x for child in node["v"] for x in tensor_nodes(child)]
    return []


def leaf_nodes(node):
    if node["t"] in ("list", "tuple", "dict", "record"):
        return [x for child in node["v"] for x in leaf_nodes(child)]
    return [node]


def count_of(node):
    return math.prod(node["shape"])


def numbers(node):
    """A tensor's elements, flat. Complex ones as pairs."""
    data = node["data"]
    if node["dtype"] == "bfloat16":
        wide = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
        return list(struct.unpack("<%df" % (len(data) // 2), wide))
    letter = FORMAT[node["dtype"]]
    return list(struct.unpack("<%d%s" % (len(data) // struct.calcsize(letter), letter), data))


def tensor(shape, values, dtype="float32"):
    data = struct.pack("<%d%s" % (len(values), FORMAT[dtype]), *values)
    return {"t": "tensor", "dtype": dtype, "shape": list(shape), "bytes": len(data), "data": data}


def node_list(*nodes):
    return {"t": "list", "v": list(nodes)}


def become(argv, environment, ends, is_cold):
    """In the child: never comes back."""
    try:
        for to, end in enumerate(ends):
            os.dup2(end, to)
        os.closerange(3, 256)
        if is_cold:
            os.execve(os.environ["REGATTA_PYTHON"], [os.environ["REGATTA_PYTHON"], "-I", "-B", *argv], environment)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = argv
        sys.path[:] = [x for x in sys.path if not x.startswith(SOURCE)]
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
        runpy.run_path(argv[0], run_name="__main__")
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(70)


class Side:
    """A process at the other end of two pipes: forked from this one, which has torch, or started cold."""

    def __init__(self, script, arguments, environment=None, limit_s=60, is_cold=False):
        self.limit_s = limit_s
        self.log = tempfile.TemporaryFile()
        theirs_in, self.questions = os.pipe()
        self.answers, theirs_out = os.pipe()
        argv = [os.path.join(SIDES, script), *arguments]
        made = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0",
                "TRITON_INTERPRET": "0" if DEVICE == "cuda" else "1",
                "HOME": tempfile.gettempdir(), **(environment or {})}
        self.pid = os.fork()
        if self.pid == 0:
            become(argv, made, (theirs_in, theirs_out, self.log.fileno()), is_cold)
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self, wait_s=2.0):
        """End of file, and time to leave; True if that was enough."""
        if self.pid is None:
            return True
        os.close(self.questions)
        end, has_left = time.monotonic() + wait_s, False
        while not has_left and time.monotonic() < end:
            has_left = os.waitpid(self.pid, os.WNOHANG)[0] != 0
            time.sleep(0.0 if has_left else 0.005)
        if not has_left:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.answers)
        self.words = self.printed()
        self.log.close()
        self.pid = None
        return has_left

    def printed(self):
        if self.pid is None:
            return self.words
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    def take(self, count):
        end = time.monotonic() + self.limit_s
        while len(self.buffer) < count:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise Silent(self.printed()[-2000:])
            got = os.read(self.answers, 1 << 20)
            if not got:
                raise Gone(self.printed()[-2000:])
            self.buffer += got
        out = bytes(self.buffer[:count])
        del self.buffer[:count]
        return out

    def hear(self):
        head_bytes, body_bytes = struct.unpack("<IQ", self.take(12))
        assert 2 <= head_bytes <= 4 << 20, head_bytes
        head = json.loads(self.take(head_bytes))
        body = self.take(body_bytes)
        assert attach(head, body) == len(body), "body of another length than the head says"
        if head["op"] == "policy":  # before a candidate's hello
            self.findings = head["findings"]
            return self.hear()
        return head

    def ask(self, head, trees=()):
        body = b"".join(x["data"] for tree in trees for x in tensor_nodes(tree))
        text = json.dumps(head, default=repr, separators=(",", ":")) if not trees else json.dumps(bare(head))
        self.say(text.encode(), body)
        return self.hear()

    def say(self, text, body=b""):
        view = memoryview(struct.pack("<IQ", len(text), len(body)) + text + body)
        while view:
            try:
                view = view[os.write(self.questions, view):]
            except BrokenPipeError:
                raise Gone(self.printed()[-2000:])


def bare(node):
    """Without the bytes that stand in the body."""
    if isinstance(node, dict):
        return {key: bare(value) for key, value in node.items() if key != "data"}
    if isinstance(node, list):
        return [bare(x) for x in node]
    return node


def attach(head, body):
    """Gives every tensor of an answer its bytes; returns how many were used."""
    at = 0

    def take(node):
        nonlocal at
        node["data"] = body[at:at + node["bytes"]]
        at += node["bytes"]

    if head["op"] in ("parameters", "hello"):
        for node in tensor_nodes(head.get("tree") or head.get("init_args")):
            take(node)
    if head["op"] in ("loaded", "picked"):
        for node in tensor_nodes(node_list(*head.get("inputs", []), *([head["outputs"]] if "outputs" in head else []))):
            take(node)
    if head["op"] != "answer" or "undrawn" in head:
        return at
    for node in tensor_nodes(None if "input_sha256" in head else head.get("inputs")):
        take(node)
    leaves = leaf_nodes(head["outputs"])
    exacts = leaf_nodes(head["exact"]) if head.get("exact") else [{"t": "none"}] * len(leaves)
    assert len(leaves) == len(exacts)
    for node, exact in zip(leaves, exacts):
        if exact["t"] != "tensor":
            for one in tensor_nodes(node):
                take(one)
            continue
        node["data"], exact["data"] = b"", b""
        for first in range(0, count_of(node), PIECE):
            elements = min(PIECE, count_of(node) - first)
            for twin in (node, exact):
                size = elements * WIDTH[twin["dtype"]]
                twin["data"] += body[at:at + size]
                at += size
    for _, tree in head["inputs_after"]:
        for node in tensor_nodes(tree):
            take(node)
    for node in tensor_nodes((head.get("function") or {}).get("outputs")):
        take(node)
    return at


class Folder:
    """Files of one test, gone afterwards."""

    def __init__(self):
        self.made = tempfile.TemporaryDirectory()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.made.cleanup()

    def file(self, name, text):
        path = os.path.join(self.made.name, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path


def reference(path, *arguments, **options):
    return Side("reference_side.py", ["--problem", path, "--device", DEVICE, *arguments], **options)


def candidate(path, stage="kernel", *arguments, **options):
    return Side("candidate_side.py", ["--candidate", path, "--stage", stage, "--device", DEVICE, *arguments], **options)


def ask_reference(side, number=1, init_seed=11, input_seed=22, style="plain"):
    return side.ask({"op": "ask", "id": number, "init_seed": init_seed, "input_seed": input_seed, "style": style})


def ask_candidate(side, hello, inputs, number=1, init_seed=11, style="plain", parameters=None):
    """As the comparator does: the reference's arguments and inputs."""
    head = {"op": "ask", "id": number, "init_seed": init_seed, "style": style,
            "mode": hello.get("mode", "as_constructed"),
            "init_args": hello["init_args"], "inputs": inputs, "parameters": parameters}
    return side.ask(head, [x for x in (hello["init_args"], inputs, parameters) if x is not None])


def worst(outputs, wanted):
    """Largest difference, relative to the largest wanted value of the leaf; infinite where the form differs."""
    if shape_of(outputs) != shape_of(wanted):
        return math.inf
    largest = 0.0
    for one, other in zip(leaf_nodes(outputs), leaf_nodes(wanted)):
        if one["t"] != "tensor":
            largest = largest if one == other else math.inf
            continue
        x, y = numbers(one), numbers(other)
        scale = max([abs(v) for v in y if math.isfinite(v)] + [1e-6])
        for a, b in zip(x, y):
            if math.isfinite(a) != math.isfinite(b):
                return math.inf
            if math.isfinite(a):
                largest = max(largest, abs(a - b) / scale)
    return largest


def shape_of(node):
    kind = "list" if node["t"] == "tuple" else node["t"]
    if kind == "tensor":
        return ["tensor", node["dtype"], node["shape"]]
    if kind in ("list", "dict", "record"):
        return [kind, node.get("k"), node.get("name"), node.get("f")] + [shape_of(x) for x in node["v"]]
    return [kind]


class Verdict:
    """What a simple comparator would say of one candidate."""

    def __init__(self):
        self.plain, self.affine, self.marks = [], [], []
        self.hello, self.failed, self.answers = None, None, []

    @property
    def is_correct(self):
        return self.failed is None and max(self.plain + self.affine) <= 1e-4


def judged(problem, text, stage="kernel", styles=("plain", "plain+affine", "plain"), name="candidate_main.py",
           options=(),
           is_cold=False):
    """Asks both sides as docs/judge.md says, with the reference's parameters where the seeds' do not do."""
    verdict = Verdict()
    with Folder() as apart, Folder() as folder, reference(apart.file("problem.py", problem), *options,
            is_cold=is_cold) as ref, \
            candidate(folder.file(name, text), stage, is_cold=is_cold) as cand:
        hello = ref.hear()
        assert hello["op"] == "hello", hello
        verdict.hello = cand.hear()
        if verdict.hello["op"] == "failed":
            verdict.failed = verdict.hello
            return verdict
        for number, style in enumerate(styles):
            one_question(verdict, ref, cand, hello, number, style)
            if verdict.failed:
                return verdict
        verdict.has_left = cand.close()
        verdict.printed = cand.printed()
    return verdict


def one_question(verdict, ref, cand, hello, number, style):
    init_seed, input_seed = 1000 + 17 * number, 2000 + 13 * number
    truth = ask_reference(ref, number, init_seed, input_seed, style)
    assert truth["op"] == "answer", truth
    got = ask_candidate(cand, hello, truth["inputs"], number, init_seed, style)
    error = error_of(got, truth)
    if error > 1e-4 and got["op"] == "answer" and got["parameters"] != truth["parameters"]:
        given = ref.ask({"op": "parameters", "id": number, "init_seed": init_seed, "style": style})["tree"]
        got = ask_candidate(cand, hello, truth["inputs"], number, init_seed, style, given)
        error = error_of(got, truth)
        verdict.marks.append("weights_transplanted")
    if got["op"] == "failed":
        verdict.failed = got
        return
    verdict.answers.append(got)
    (verdict.affine if style.endswith("+affine") else verdict.plain).append(error)


def error_of(got, truth):
    if got["op"] == "failed":
        return math.inf
    error = worst(got["outputs"], truth["outputs"])
    after, wanted = dict(map(tuple, pairs(got["inputs_after"]))), dict(map(tuple, pairs(truth["inputs_after"])))
    if set(after) != set(wanted):
        return math.inf
    return max([error] + [worst(after[x], wanted[x]) for x in after] + [
        worst(got["function"]["outputs"], got["outputs"]) if "outputs" in (got["function"] or {}) else 0.0])


def pairs(changed):
    return [(leaf, tree) for leaf, tree in changed]
