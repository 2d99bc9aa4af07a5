# SPDX-License-Identifier: Apache-2.0
"""For code_with_real_python_test.cpp: one line for each file named, "ok NAME …" or "no line N: reason"."""
import ast
import sys

for path in sys.argv[1:]:
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        print("ok", *[x.name for x in tree.body if isinstance(x, (ast.FunctionDef, ast.ClassDef))])
    except SyntaxError as error:
        print(f"no line {error.lineno}: {error.msg}")
