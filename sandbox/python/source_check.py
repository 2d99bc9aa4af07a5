# SPDX-License-Identifier: Apache-2.0
"""Answers whether texts are Python, as this interpreter reads it.

Runs in a sandbox for as long as its node (node/source_checker.hpp). Reads questions from stdin:

    <number> <bytes>\\n<that many bytes of text>

and answers each with one line of JSON:

    {"id": 7, "parses": false, "error": "line 3: invalid syntax", "definitions": [], "has_main": false}

The first line, with the id 0, only says that it is ready. Never runs, imports or prints the text. A text may make the parser crash or hang; the node counts with that.
"""
import ast
import itertools
import json
import re
import resource
import sys
import warnings

MAX_BYTES = 1 << 20  # messages/limits.hpp: candidate_bytes
MAX_NAMES = 4096  # no honest program has a tenth of it
MAX_NAME = 256
# compile() compares each scope with all equal ones before it: 10,000 empty functions take it 3 s, 70,000 minutes. Integers
# whose hashes are equal are as bad; only those of 61 bits and more can have that.
MAX_SCOPES = 1000
MAX_GIANTS = 1000
MAX_ERROR = 500
# Below the run's own limit, so that a text that needs more is a MemoryError here and not the death of the helper.
MAX_DATA = 448 << 20


def is_main_guard(node):
    """`if __name__ == "__main__":`, either way round."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    test = node.test
    if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [test.left, test.comparators[0]]
    names = [x for x in sides if isinstance(x, ast.Name) and x.id == "__name__"]
    texts = [x for x in sides if isinstance(x, ast.Constant) and x.value == "__main__"]
    return len(names) == 1 and len(texts) == 1


def branches(node):
    """The statements that run at import, depending on conditions."""
    if isinstance(node, ast.If):
        return node.body + node.orelse
    if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
        handlers = [x for handler in node.handlers for x in handler.body]
        return node.body + handlers + node.orelse + node.finalbody
    if isinstance(node, ast.With):
        return node.body
    return []


def facts_of(tree):
    names, has_main = [], False
    waiting = list(reversed(tree.body))  # a stack, as an elif chain may be deeper than Python recurses
    while waiting and len(names) < MAX_NAMES:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name[:MAX_NAME])
        elif is_main_guard(node):
            has_main = True
            waiting.extend(reversed(node.orelse))
        else:
            waiting.extend(reversed(branches(node)))
    return names, has_main


SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
          ast.GeneratorExp)
SCOPE_WORDS = re.compile(rb"\b(?:def|class|lambda|for)\b")
GIANT_DIGITS = re.compile(rb"[0-9a-fA-F_]{16,}")


def is_more(pattern, raw, most):
    return sum(1 for _ in itertools.islice(pattern.finditer(raw), most + 1)) > most


def excess(raw, tree):
    """What there is too much of to be compiled; empty if nothing is. The tree is walked only if words make it likely."""
    if not is_more(SCOPE_WORDS, raw, MAX_SCOPES) and not is_more(GIANT_DIGITS, raw, MAX_GIANTS):
        return ""
    scopes = giants = 0
    for node in ast.walk(tree):
        scopes += isinstance(node, SCOPES)
        giants += isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value >= (1 << 61) - 1
    if scopes > MAX_SCOPES:
        return "%d functions, classes and comprehensions, allowed are %d" % (scopes, MAX_SCOPES)
    return "%d integers of 61 bits or more, allowed are %d" % (giants, MAX_GIANTS) if giants > MAX_GIANTS else ""


def located(error):
    line = getattr(error, "lineno", None)
    return "line %d: %s" % (line, error.msg) if line else str(error.msg)


def check(raw):
    """Takes bytes, as a file is bytes: mark and coding line count. Also compiles: `return` outside a function parses,
    and is still no program."""
    answer = {"parses": False, "error": "", "definitions": [], "has_main": False}
    try:
        tree = ast.parse(raw)
        answer["error"] = excess(raw, tree)
        if answer["error"]:
            return answer
        compile(tree, "candidate", "exec", dont_inherit=True)
        answer["definitions"], answer["has_main"] = facts_of(tree)
        answer["parses"] = True
    except SyntaxError as error:
        answer["error"] = located(error)
    except ValueError as error:  # NUL bytes; the text is Python's
        answer["error"] = str(error)
    except RecursionError:
        answer["error"] = "nested too deeply for Python's parser"
    except MemoryError:
        answer["error"] = "too large or nested too deeply for Python's parser"
    answer["error"] = answer["error"][:MAX_ERROR]
    return answer


def say(number, answer):
    answer["id"] = number
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def main():
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA, MAX_DATA))
    say(0, {})
    for head in sys.stdin.buffer:
        number, size = (int(x) for x in head.split())
        if size > MAX_BYTES:
            raise SystemExit("question of %d bytes" % size)
        say(number, check(sys.stdin.buffer.read(size)))


main()
