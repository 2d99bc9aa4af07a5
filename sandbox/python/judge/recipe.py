# SPDX-License-Identifier: Apache-2.0
"""The part of a problem that draws its inputs, without its `Model`: what the candidate's side needs where inputs are too
large to be sent. Text to text; nothing of the problem runs here."""
__builtins__ = dict(vars(__import__("builtins")))

import ast

BANNED = ("Model", "ModelNew")
# Calls at the top of a file that count: torch.set_default_dtype(…), random.seed(…).
SETTERS = ("torch", "numpy", "np", "random")


def names(node, context):
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, context)}


def bound(statement):
    """What a statement at the top of a file gives a name to; too much rather than too little."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    made = names(statement, ast.Store)
    for node in ast.walk(statement):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            made |= {(x.asname or x.name).split(".")[0] for x in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.add(node.name)
    return made


def is_setting(statement):
    target = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(target, ast.Call):
        return False
    root = target.func
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in SETTERS and not names(statement, ast.Load) & set(BANNED)


def recipe_of(source, function="get_inputs"):
    """Its statements that `function` needs, or "" where that cannot be told apart from the model."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return ""
    makers = {}
    for number, statement in enumerate(body):
        for name in bound(statement):
            makers.setdefault(name, []).append(number)
    wanted = {i for i, x in enumerate(body) if is_setting(x) or isinstance(x, ast.ImportFrom) and x.module == "__future__"}
    todo = [function] + [name for i in wanted for name in names(body[i], ast.Load)]
    while todo:
        for number in makers.pop(todo.pop(), ()):
            wanted.add(number)
            todo += names(body[number], ast.Load)
    chosen = [body[i] for i in sorted(wanted)]
    if any(bound(x) & set(BANNED) for x in chosen) or not any(function in bound(x) for x in chosen):
        return ""
    return "\n".join([ast.unparse(x) for x in chosen]) + "\n"


def drawer_of(text, function="get_inputs"):
    """The function, from what `recipe_of` gave."""
    space = {"__name__": "recipe"}
    exec(compile(text, "recipe.py", "exec"), space)
    return space[function]
