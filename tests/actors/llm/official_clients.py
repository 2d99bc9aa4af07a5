#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official Python clients of OpenAI and Anthropic against the imposter: it speaks the public formats, not only our
reading of them. REGATTA_OFFICIAL_CLIENTS names a Python that has both packages (scripts/setup.sh makes one); without it
this is skipped aloud, or fails if REGATTA_REQUIRE names official-clients.
"""
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77  # CMake's SKIP_RETURN_CODE
FEATURE = "official-clients"
SOURCE = os.environ.get("REGATTA_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
TEXT = "grüße 🙂\n```python\nprint('x')\n```"


def skip(why):
    print(f"SKIPPED: {FEATURE}: {why}", file=sys.stderr)
    sys.exit(1 if FEATURE in os.environ.get("REGATTA_REQUIRE", "").split(",") else SKIPPED)


def run_by_the_right_python():
    python = os.environ.get("REGATTA_OFFICIAL_CLIENTS", "")
    if python and not os.environ.get("REGATTA_RE_RUN"):
        os.environ["REGATTA_RE_RUN"] = "1"
        os.execv(python, [python, os.path.abspath(__file__)])


run_by_the_right_python()
try:
    import anthropic
    import openai
except ImportError as error:
    skip(f"{error}; REGATTA_OFFICIAL_CLIENTS={os.environ.get('REGATTA_OFFICIAL_CLIENTS', '')}")


class Imposter:
    """imposter.py with these rules; as a context."""

    def __init__(self, *rules):
        self.rules = list(rules)

    def __enter__(self):
        self.script = tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8")
        json.dump({"rules": self.rules}, self.script)
        self.script.flush()
        program = os.path.join(SOURCE, "tests", "support", "imposter", "imposter.py")
        self.process = subprocess.Popen([sys.executable, program, self.script.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.url = "http://127.0.0.1:" + self.process.stdout.readline().split()[1]
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        lines = [json.loads(line) for line in self.process.stdout]
        self.calls = sum(line["event"] == "call" for line in lines)
        self.process.wait()
        self.process.stdout.close()
        self.script.close()

    def openai(self, retries=0):
        return openai.OpenAI(base_url=self.url + "/v1", api_key="k", max_retries=retries, timeout=20)

    def anthropic(self, retries=0):
        return anthropic.Anthropic(base_url=self.url, api_key="k", max_retries=retries, timeout=20)


def stream(wire, **more):
    return {"steps": [{wire: {"text": TEXT, "input_tokens": 7, "output_tokens": 9, **more}}]}


def whole(wire, **more):
    reply = {"wire": wire, "text": TEXT, "input_tokens": 7, "output_tokens": 9, **more}
    return {"headers": {"content-type": "application/json"}, "framing": "length", "steps": [{"whole": reply}]}


def refusal(status, error, times=None, **headers):
    rule = {"status": status, "headers": {"content-type": "application/json", **headers}, "framing": "length",
            "steps": [{"text": json.dumps(error)}]}
    return rule if times is None else {**rule, "times": times}


CHAT = {"model": "m", "messages": [{"role": "user", "content": "u"}]}
RESPONSES = {"model": "m", "input": "u"}
MESSAGES = {**CHAT, "max_tokens": 100}


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def read_chat(client):
    text, usage, finish = "", None, None
    for chunk in client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    return text, usage, finish


def chat_streams():
    with Imposter(stream("chat", pieces=9)) as server:
        text, usage, finish = read_chat(server.openai())
        equal((text, usage.prompt_tokens, usage.completion_tokens, finish), (TEXT, 7, 9, "stop"))
    with Imposter(stream("chat", finish="length", thinking="hm")) as server:
        equal(read_chat(server.openai())[2], "length")


def chat_comes_whole():
    with Imposter(whole("chat")) as server:
        got = server.openai().chat.completions.create(**CHAT)
        equal((got.choices[0].message.content, got.usage.completion_tokens), (TEXT, 9))


def responses_stream():
    with Imposter(stream("responses", pieces=9)) as server:
        with server.openai().responses.stream(**RESPONSES) as events:
            deltas = "".join(event.delta for event in events if event.type == "response.output_text.delta")
            got = events.get_final_response()
        equal((deltas, got.output_text, got.status, got.usage.output_tokens), (TEXT, TEXT, "completed", 9))


def responses_come_whole():
    with Imposter(whole("responses")) as server:
        equal(server.openai().responses.create(**RESPONSES).output_text, TEXT)
    with Imposter(whole("responses", finish="max_output_tokens")) as server:
        got = server.openai().responses.create(**RESPONSES)
        equal((got.status, got.incomplete_details.reason), ("incomplete", "max_output_tokens"))


def responses_are_cut():
    with Imposter(stream("responses", finish="max_output_tokens")) as server:
        last = list(server.openai().responses.create(**RESPONSES, stream=True))[-1]
        equal((last.type, last.response.incomplete_details.reason), ("response.incomplete", "max_output_tokens"))


def messages_stream():
    with Imposter(stream("messages", pieces=9, thinking="let me see", cached_tokens=4)) as server:
        with server.anthropic().messages.stream(**MESSAGES) as events:
            text = "".join(events.text_stream)
            got = events.get_final_message()
        equal((text, got.content[0].type, got.content[0].thinking), (TEXT, "thinking", "let me see"))
        equal((got.content[1].text, got.stop_reason, got.usage.output_tokens), (TEXT, "end_turn", 9))
        equal((got.usage.input_tokens, got.usage.cache_read_input_tokens), (7, 4))
    with Imposter(stream("messages", finish="max_tokens")) as server:
        with server.anthropic().messages.stream(**MESSAGES) as events:
            equal(events.get_final_message().stop_reason, "max_tokens")


def messages_come_whole():
    with Imposter(whole("messages", thinking="hm")) as server:
        got = server.anthropic().messages.create(**MESSAGES)
        equal((got.content[1].text, got.usage.input_tokens), (TEXT, 7))


def errors_have_their_types():
    openai_error = {"error": {"message": "no", "type": "invalid_request_error", "param": None, "code": "bad"}}
    anthropic_error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
    for status, kind in ((400, "BadRequestError"), (401, "AuthenticationError"), (404, "NotFoundError"),
                         (429, "RateLimitError"), (500, "InternalServerError")):
        with Imposter(refusal(status, openai_error)) as server:
            error = raises(getattr(openai, kind), lambda: server.openai().chat.completions.create(**CHAT))
            equal(error.code, "bad")
        with Imposter(refusal(status, anthropic_error)) as server:
            error = raises(getattr(anthropic, kind), lambda: server.anthropic().messages.create(**MESSAGES))
            assert "no" in str(error)


def limits_are_waited_out():
    for wire in ("chat", "messages"):
        limit = refusal(429, {"error": {"message": "slow", "type": "rate_limit_error"}}, 1, **{"retry-after-ms": "50"})
        with Imposter(limit, whole(wire)) as server:
            if wire == "chat":
                server.openai(1).chat.completions.create(**CHAT)
            else:
                server.anthropic(1).messages.create(**MESSAGES)
        equal(server.calls, 2)


def errors_inside_streams_are_errors():
    broken = 'data: {"error": {"message": "upstream is gone", "type": "server_error", "code": "500"}}\n\n'
    with Imposter({"steps": [{"text": broken}]}) as server:
        assert "upstream is gone" in str(raises(openai.APIError, lambda: read_chat(server.openai())))
    named = 'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
    with Imposter({"steps": [{"text": named}]}) as server:
        call = lambda: list(server.anthropic().messages.create(**MESSAGES, stream=True))
        assert "Overloaded" in str(raises(anthropic.APIError, call))


def main():
    cases = [chat_streams, chat_comes_whole, responses_stream, responses_come_whole, responses_are_cut, messages_stream,
             messages_come_whole, errors_have_their_types, limits_are_waited_out, errors_inside_streams_are_errors]
    failed = 0
    for case in cases:
        try:
            case()
            print("ok", case.__name__)
        except Exception as error:  # whatever a client raises: the case has failed
            failed += 1
            print("FAILED", case.__name__, type(error).__name__, error)
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: {len(cases) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
