# SPDX-License-Identifier: Apache-2.0
"""Batches of calls for the comparator's clock (docs/judge.md, "Timing"). Both sides do the same, by this code.

What is reported from here is a cross-check only: foreign code shares the process. The comparator believes its own clock
and the outputs of calls that it draws afterwards.
"""
__builtins__ = dict(vars(__import__("builtins")))

import _thread
import collections
import random
import time

import modules
from loading import Failure
from tree import leaves_of, parts, rebuilt

# Enough for compilers, autotuners and allocators to settle; KernelBench warms up by three, too.
WARM_UP = 3
# Of KernelBench's L2 eviction: 256 MB of int64.
FLUSH_ELEMENTS = 32 * 1024 * 1024
# Inputs become these times what the problem drew, so that nobody has seen them before "go". Below one, so that what has
# a range keeps it; the same number for a whole input, so that zeros, signs and structure stay.
LEAST_FACTOR, MOST_FACTOR = 0.75, 1.0
ALTERED = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
# What is whole once it is returned. Others (records, mappings of the program's own) may compute when they are looked at.
PLAIN = (list, tuple, dict, collections.OrderedDict)

_Random, _now, _threads = random.Random, time.perf_counter_ns, _thread._count


class Timer:
    def __init__(self, torch, codec, device):
        self.torch, self.codec, self.device = torch, codec, device
        self.is_cuda = device is not None and device.type == "cuda"
        self.no_grad = torch.no_grad if torch is not None else None
        self.altered = {getattr(torch, x) for x in ALTERED} if torch is not None else set()
        self.multiply = torch.Tensor.mul_ if torch is not None else None
        self.copy = torch.Tensor.copy_ if torch is not None else None
        if self.is_cuda:
            self.wait, self.event, self.blank = torch.cuda.synchronize, torch.cuda.Event, torch.empty
            self.int64, self.empty_cache = torch.int64, torch.cuda.empty_cache
        self.call, self.sets, self.places, self.outputs = None, [], [], []
        self.must_copy, self.must_look, self.cache_bytes = False, False, 0

    def synchronise(self):
        if self.is_cuda:
            self.wait()

    def within(self, function, *args):
        """Without gradients, entered once for a whole batch."""
        if self.no_grad is None:
            return function(*args)
        with self.no_grad():
            return function(*args)

    # Inputs ----------------------------------------------------------------------------------------------------------

    def load(self, sets, calls, call=None):
        """New inputs, which nobody else holds, for batches of up to `calls`; a new `call`, too, is warmed up."""
        self.outputs, self.sets, self.places = [], [], []
        if not sets:
            return
        self.sets = [modules.moved(self.codec, x, self.device) for x in sets]
        self.places = [[self.codec.twin(x) for x in self.tensors_in(self.sets[i % len(sets)])] for i in range(calls)]
        if call is not None:
            self.call = call
            self.cache_bytes = self.cache_of_device()
            self.within(self.warm_up)

    def warm_up(self):
        """Also finds out how outputs come: into the same memory each time, or as something that must be looked at."""
        made = [self.call(modules.fresh(self.codec, self.sets[0])) for _ in range(WARM_UP)]
        self.synchronise()
        self.must_look = made[-1] is made[-2] or not all([is_plain(x) for x in made])
        places = [self.storages(x) for x in made[-2:]]
        self.must_copy = bool(places[0] & places[-1])

    def storages(self, value):
        if self.codec is None:
            return set()
        raws = [self.codec.plain(x) for x in leaves_of(value) if self.codec.is_tensor(x)]
        return {x.untyped_storage().data_ptr() for x in raws if x is not None} - {0}

    def tensors_in(self, value):
        return [] if self.codec is None else [x for x in leaves_of(value) if self.codec.is_tensor(x)]

    def altered_sets(self, nonce):
        """Other inputs than anybody has seen, at the same addresses; all of them whatever the number of calls, so that this
        takes the same time in every batch: in another order, each times a number of its own."""
        draw = _Random(int(nonce))
        order = [i % len(self.sets) for i in range(len(self.places))]
        draw.shuffle(order)
        return [self.times(self.sets[x], place, LEAST_FACTOR + (MOST_FACTOR - LEAST_FACTOR) * draw.random())
                for x, place in zip(order, self.places)]

    def times(self, value, place, factor):
        following = iter(place)

        def leaf(x):
            if self.codec is None or not self.codec.is_tensor(x):
                return x
            made = next(following)
            # What a call has resized, or what a problem draws in another size each time, is made anew.
            made = self.copy(made, x) if made.shape == x.shape and made.dtype == x.dtype else self.codec.twin(x)
            return self.multiply(made, factor) if made.dtype in self.altered else made

        return rebuilt(value, leaf)

    # Batches ---------------------------------------------------------------------------------------------------------

    def go(self, nonce, calls):
        """What its own clock says of it."""
        self.outputs = []
        return self.within(self.batch, self.altered_sets_in(nonce), calls)

    def altered_sets_in(self, nonce):
        made = self.within(self.altered_sets, nonce)
        self.synchronise()
        return made

    def batch(self, inputs, calls):
        call, outputs = self.call, self.outputs
        began = _now()
        if self.must_copy or self.must_look:
            for i in range(calls):
                outputs.append(self.kept(call(inputs[i])))
        else:
            for i in range(calls):
                outputs.append(call(inputs[i]))
        self.synchronise()
        return {"own_ns": _now() - began, "threads": _threads(), "copies": self.must_copy, "cache_bytes": self.cache_bytes}

    def kept(self, made):
        """Before the next call can write over it; or before it is computed only because somebody asks."""
        if not self.must_copy:
            return rebuilt(made, lambda x: x)
        return rebuilt(made, lambda x: self.codec.twin(x) if self.codec.is_tensor(x) else x)

    def cache_of_device(self):
        if not self.is_cuda:
            return 0
        return int(getattr(self.torch.cuda.get_device_properties(self.device), "L2_cache_size", 0))

    def picked(self, number):
        """What a call of the last batch returned."""
        made = self.outputs[number]
        if not self.must_look and not is_plain(made):
            raise Failure("contract_violation", "outputs of type %s appear in some calls only" % type(made).__name__)
        return made

    # KernelBench -----------------------------------------------------------------------------------------------------

    def events(self, trials):
        """ms of each trial by events of the device, as KernelBench's `cuda_event` does it: L2 evicted before each."""
        self.outputs = []
        return self.within(self.event_trials, modules.fresh(self.codec, self.sets[0]), trials)

    def event_trials(self, inputs, trials):
        for _ in range(WARM_UP):
            self.call(inputs)
            self.wait()
        self.empty_cache()
        took = []
        for number in range(trials + 1):
            self.wait()
            self.blank((FLUSH_ELEMENTS,), dtype=self.int64, device=self.device).fill_(42)
            begin, end = self.event(enable_timing=True), self.event(enable_timing=True)
            begin.record()
            self.call(inputs)
            end.record()
            self.wait()
            if number > 0:
                took.append(float(begin.elapsed_time(end)))
        return took


def is_plain(value, depth=0):
    kind, children = parts(value) if type(value) in PLAIN else (None, None)
    if kind is None:
        return parts(value)[0] is None
    return depth < 32 and all([is_plain(x, depth + 1) for x in children])
