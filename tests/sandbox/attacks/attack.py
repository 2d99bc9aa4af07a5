# SPDX-License-Identifier: Apache-2.0
"""What the attack candidates share. Each tries something and says BREACH for every thing that worked, then DONE."""

import os


def breach(what):
    print("BREACH:", what, flush=True)


def must_fail(what, action):
    """The action must raise; a result is a breach."""
    try:
        result = action()
    except Exception as error:
        print("refused:", what, "-", type(error).__name__, flush=True)
        return
    breach(f"{what} -> {str(result)[:200]}")


def must_not_contain(what, action, secrets):
    """The action may work, but must not show a secret."""
    try:
        result = action()
    except Exception as error:
        print("refused:", what, "-", type(error).__name__, flush=True)
        return
    data = result if isinstance(result, bytes) else str(result).encode()
    if any(secret and secret.encode() in data for secret in secrets):
        breach(f"{what} shows a secret")


def read(path):
    with open(path, "rb") as file:
        return file.read(1 << 20)


def fact(name):
    return os.environ["ATTACK_" + name]


def sees_host():
    """No namespaces: what they would hide is refused instead, and there is no /tmp of the run's own."""
    return fact("VIEW") == "host"


def done():
    print("DONE", flush=True)
