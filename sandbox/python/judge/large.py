# SPDX-License-Identifier: Apache-2.0
"""Questions to a candidate whose inputs are too large to be copied (docs/judge.md, "Large problems"): inputs are drawn
here, what changed is told by digests, the function is not called by itself, and evidence is looked for afterwards."""
__builtins__ = dict(vars(__import__("builtins")))

import draws
import modules
import recipe
from evidence import DRY_LAUNCHES
from loading import one_line
from tree import Decoder, skeleton


def bytes_in(node):
    if node["t"] == "tensor":
        return node["bytes"]
    return sum([bytes_in(x) for x in node["v"]]) if isinstance(node.get("v"), list) else 0


class Large:
    def __init__(self, side):
        self.side, self.given, self.last = side, None, None
        self.recipe, self.drawer = None, None

    def answers(self, question):
        return question["op"] in ("keep", "evidence") or question["op"] == "ask" and (
            "draw" in question or question.get("parameters") == "kept" or bytes_in(question["inputs"]) > self.side.options.large)

    def answer(self, question, channel, make):
        """`make`: of an answer (candidate_side.Answer)."""
        if question["op"] == "evidence":
            return ({"op": "evidence", "id": question["id"], "kernel_evidence": self.evidence()},)
        self.last = None
        if self.side.codec is None:
            self.side.take_torch()
        decoder = Decoder(self.side.codec, channel.fill, self.side.record_class)
        if question["op"] == "keep":
            self.given = None
            self.given = decoder.value(question["tree"])
            return ({"op": "kept", "id": question["id"]},)
        return self.ask(question, decoder, make)

    def drawn(self, question):
        draw = question["draw"]
        if self.recipe != draw["recipe"]:
            self.recipe, self.drawer = draw["recipe"], recipe.drawer_of(draw["recipe"])
        style, _ = draws.split(question["style"])
        draws.seed_all(self.side.torch, draw["input_seed"])
        return draws.styled(self.side.torch, list(self.drawer()), style, draw["input_seed"])

    def ask(self, question, decoder, make):
        side = self.side
        codec = side.codec
        init_args = decoder.value(question["init_args"])
        host = None if "draw" in question else decoder.value(question["inputs"])
        parameters = question.get("parameters")
        parameters = self.given if parameters == "kept" else None if parameters is None else decoder.value(parameters)
        if host is None:
            try:
                host = self.drawn(question)
            except BaseException as error:  # its imports and its draws are the problem's own code
                return ({"op": "answer", "id": question["id"], "undrawn": one_line(error)},)
        form, digests = skeleton(host), modules.leaf_digests(codec, host)
        tensors = modules.tensor_digests(codec, host, digests)
        used = modules.moved(codec, host, side.device)
        del host
        model = side.built(question, init_args, parameters)
        del parameters
        state = modules.state_of(side.torch, model)
        of_state = modules.digests(codec, state)
        side.launches.start()
        outputs = side.forward(model, used)
        count, storages = side.launches.count, side.launches.storages
        changed = modules.changed_since(codec, form, digests, used)
        answer = make(codec, question["id"], outputs, changed)
        answer.digests, answer.launches, answer.input_digests = of_state, count, tensors
        answer.launched = side.launches.launched.told()
        answer.is_launched = side.evidence.is_launched(outputs, storages)
        answer.evidence = self.first_evidence(question, outputs, count, answer.is_launched)
        if answer.evidence == "later":
            self.last = (question, model, list(state.values()), outputs,
                         [(x, modules.leaf_digests(codec, value)) for x, value in changed], count)
        return answer.frame()

    def first_evidence(self, question, outputs, count, is_launched):
        if not self.side.function_name or not self.side.evidence.has_tensor(outputs):
            return "not_looked"
        if count == 0:
            return "absent"
        if "draw" in question:
            return "later"
        # They came byte for byte and are used up: that a launch had the output among its arguments must do.
        return "seen" if is_launched else "inconsistent"

    def evidence(self):
        """The last question's call once more, with launches that do nothing. Its outputs are out, so they may be spoilt."""
        if self.last is None:
            return "not_looked"
        side, codec = self.side, self.side.codec
        question, model, weights, outputs, changed, count = self.last
        self.last = None
        form, wanted = skeleton(outputs), modules.leaf_digests(codec, outputs)
        host = self.drawn(question)
        before = skeleton(host), modules.leaf_digests(codec, host)
        used = modules.moved(codec, host, side.device)
        del host
        side.evidence.spoil(outputs, weights, False)
        side.launches.start(is_dry=True, left=count + DRY_LAUNCHES)
        try:
            made = side.forward(model, used)
            now = [(x, modules.leaf_digests(codec, value)) for x, value in modules.changed_since(codec, *before, used)]
            is_other = skeleton(made) != form or modules.leaf_digests(codec, made) != wanted or now != changed
        except BaseException:  # garbage may break what follows
            is_other = True
        finally:
            side.launches.start()
        return "seen" if is_other else "inconsistent"
