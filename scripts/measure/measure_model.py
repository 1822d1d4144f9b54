#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures whole models with the operators of a kernel library (`patch(model)`) beside PyTorch and torch.compile.

    python3 scripts/measure/measure_model.py OUT.json --package dist/                       # on a GPU, 4 of 32 layers
    python3 scripts/measure/measure_model.py OUT.json --package dist/ --part decode --batch 1 --layers 32 --profile
    python3 scripts/measure/measure_model.py OUT.json --package dist/ --small               # a toy model, without a GPU, too

Needs PyTorch, and transformers unless --small; nothing is downloaded: weights are drawn. Parts:

    accuracy  logits of the patched and of the plain bfloat16 model against float32 of the plain one with the same weights,
              of a prompt and of steps behind it, and whether their greedy tokens are the same
    decode    a token more for every sequence, --batch of them, --context tokens in a static cache (Llama, 8B geometry)
    prefill   --prompt tokens, without a cache, the last one's logits
    train     forward and backward of one layer and the norm behind it, --prompt tokens, gradients of all weights
    encoder   --texts texts of 256 tokens (Bert, 12 layers of width 384)

Variants of a part run in turns in one process, in rounds of the same number of steps; step_ms is the median over rounds, of
wall time. A ratio is the geometric mean over the rounds, with Student's 95 % interval.

    --quantise: the patched model's linear layers are of that format, the plain one's stay; accuracy is said, and not judged

    eager, compile, compile_max           the plain model; torch.compile, and its mode max-autotune, which has CUDA graphs
    eager_graph                           the plain model in a CUDA graph
    patched, patched_graph                with the library's operators: called, in a CUDA graph
    patched_compile, patched_compile_max  with them under torch.compile, and in its mode max-autotune
    bare_graph, bare_compile, bare_compile_max  the plain encoder without the mask that texts of one length need not

While a graph is captured or compiled, transformers makes a mask where it needs none else, so the plain model's prefill, and
encoders, may be slower in a graph than called: the bare variants are what PyTorch reaches without it. A variant that cannot
be measured is null, with a reason. OUT.json is written after every variant and round, so a run that is cut off loses
nothing. --profile adds where the GPU's time of every variant goes, by name of kernel. Exit code 0: every part has a time of
the plain and of the patched model, and the patched one's logits are no further off than --worse times those of the plain one.
"""
import argparse
import copy
import glob
import importlib
import inspect
import itertools
import json
import math
import os
import signal
import statistics
import sys
import time
import traceback

import torch

BEGIN = time.time()
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PARTS = ("accuracy", "decode", "prefill", "train", "encoder")
VARIANTS = ("eager", "eager_graph", "compile", "compile_max", "patched", "patched_graph", "patched_compile",
            "patched_compile_max", "bare_graph", "bare_compile", "bare_compile_max")
COMPILE_OPTIONS = {name: {"mode": "max-autotune"} if name.endswith("_max") else {} for name in VARIANTS if "compile" in name}
ROOM = 128  # positions behind the context, for steps of a round and those that warm up; caches stay multiples of 64 (chosen)
ROUND_SECONDS = 0.1  # of the fastest variant: 100 steps of 1 ms, which the clock's steps do not matter for (chosen)
MOST_ROUNDS = 40  # the interval shrinks with their square root (chosen)
LEAST_ROUNDS = 3
WARM_STEPS = 2  # of a round, after another variant has run (chosen)
WARM_CALLS = 5  # of a variant: CUDA graphs of torch.compile need three
KERNELS_SHOWN = 15
ANNOTATIONS = ("## ", "Torch-Compiled", "ProfilerStep")  # spans around kernels, which no time is spent in
# 97.5 % points of Student's distribution, by degrees of freedom from 1 on.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
           2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


def say(text):
    print(f"[{time.time() - BEGIN:7.1f} s] {text}", flush=True)


class Missing(Exception):
    """What cannot be measured here, and why."""


class OutOfTime(BaseException):
    """Not an Exception, which compilers catch."""


class Bounded:
    """A block that is broken off after so many seconds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        def stop(*ignored):
            raise OutOfTime(f"it took longer than {self.seconds:g} s")

        self.before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *ignored):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def twin(model):
    """Another model with the very same weights."""
    shared = {id(one): one for one in itertools.chain(model.parameters(), model.buffers())}
    return copy.deepcopy(model, shared)


def drawn_weights(model):
    """The same in every version of transformers: matrices as Llama begins with, norms about 1, biases about 0."""
    generator = torch.Generator(device=next(model.parameters()).device).manual_seed(1)
    with torch.no_grad():
        for name, one in model.named_parameters():
            one.requires_grad_(False)
            if one.dtype is not torch.bfloat16:
                one.data = one.data.to(torch.bfloat16)
            if one.dim() > 1:
                one.normal_(0, 0.02, generator=generator)
            else:
                one.normal_(0 if name.endswith("bias") else 1, 0.1, generator=generator)
    return model.eval()


def built(kind, config):
    """A model on the GPU, in bfloat16; buffers such as the angles' frequencies stay as the model makes them."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(DEVICE):
            model = kind(config)
    finally:
        torch.set_default_dtype(before)
    return drawn_weights(model.to(torch.device(DEVICE)))


def configured(kind, **sizes):
    try:
        return kind(attn_implementation="sdpa", **sizes)
    except TypeError:
        return kind(**sizes)


def takes(model, name):
    return name in inspect.signature(type(model).forward).parameters


def static_cache(kind, config, batch, room):
    """As the versions of transformers want it."""
    forms = ({"max_cache_len": room},
             {"max_batch_size": batch, "max_cache_len": room, "device": DEVICE, "dtype": torch.bfloat16},
             {"batch_size": batch, "max_cache_len": room, "device": DEVICE, "dtype": torch.bfloat16})
    for number, form in enumerate(forms):
        try:
            return kind(config=config, **form)
        except TypeError:
            if number + 1 == len(forms):
                raise
    return None


class StaticDecoder:
    """A model and its static cache: tokens go in, logits of the last one come out. Reads nothing from the GPU."""

    def __init__(self, model, cache, batch, room):
        self.model, self.batch = model, batch
        self.cache = static_cache(cache, model.config, batch, room)
        self.position = torch.zeros(1, dtype=torch.long, device=DEVICE)
        self.last_only = {"logits_to_keep": 1} if takes(model, "logits_to_keep") else {}

    def lengths(self):
        """Tensors of the layers that count what is in the cache, in the versions of transformers that have them."""
        counts = [getattr(one, "cumulative_length", None) for one in getattr(self.cache, "layers", [])]
        return [one for one in counts if isinstance(one, torch.Tensor)]

    def feed(self, tokens, model=None):
        named = dict(self.last_only)
        if not self.lengths():  # where the caller says which positions these are
            named["cache_position"] = self.position + torch.arange(tokens.shape[1], device=DEVICE)
        out = (self.model if model is None else model)(input_ids=tokens, past_key_values=self.cache, use_cache=True, **named)
        self.position.add_(tokens.shape[1])
        return out.logits[:, -1]

    def set_length(self, length):
        for one in self.lengths():
            one.fill_(length)
        self.position.fill_(length)

    def fill(self, length):
        """As if so many tokens had been read: drawn keys and values."""
        self.feed(torch.zeros(self.batch, 1, dtype=torch.long, device=DEVICE))
        layers = getattr(self.cache, "layers", None)
        pairs = ([(one.keys, one.values) for one in layers] if layers is not None else
                 list(zip(self.cache.key_cache, self.cache.value_cache)))
        for one in itertools.chain(*pairs):
            one.normal_()
        self.set_length(length)


class Decoder:
    """A family of models that read texts and say the next token."""

    def __init__(self, name, model, cache, words):
        self.name, self.model, self.cache, self.words = name, model, cache, words
        self.layers = model.config.num_hidden_layers
        self.last_only = {"logits_to_keep": 1} if takes(model, "logits_to_keep") else {}

    def tokens(self, batch, length):
        generator = torch.Generator(device=DEVICE).manual_seed(2)
        return torch.randint(0, self.words, (batch, length), device=DEVICE, generator=generator)

    def logits(self, model, tokens):
        """Of every token."""
        return model(input_ids=tokens, use_cache=False).logits

    def last(self, model, tokens):
        return model(input_ids=tokens, use_cache=False, **self.last_only).logits[:, -1]

    def decoder(self, model, batch, room):
        return StaticDecoder(model, self.cache, batch, room)


class Encoder(Decoder):
    """One of models that give a vector for each token."""

    def logits(self, model, tokens):
        out = model(input_ids=tokens)
        return getattr(out, "last_hidden_state", out)


class Layers(Decoder):
    """Of layers of a decoder without what makes tokens of their results."""

    def logits(self, model, tokens):
        out = model(input_ids=tokens, use_cache=False)
        return getattr(out, "last_hidden_state", out)


def llama(options):
    """Of 8B geometry (Llama 3), with fewer layers unless asked for."""
    from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

    config = configured(LlamaConfig, hidden_size=4096, num_attention_heads=32, num_key_value_heads=8, head_dim=128,
                        intermediate_size=14336, vocab_size=128256, num_hidden_layers=options.layers,
                        max_position_embeddings=131072, rms_norm_eps=1e-5, tie_word_embeddings=False)
    return Decoder("llama_8b", built(LlamaForCausalLM, config), StaticCache, 128256)


def llama_layer():
    """One layer of it, whose weights learn."""
    from transformers import LlamaConfig, LlamaModel

    config = configured(LlamaConfig, hidden_size=4096, num_attention_heads=32, num_key_value_heads=8, head_dim=128,
                        intermediate_size=14336, vocab_size=32, num_hidden_layers=1, max_position_embeddings=131072,
                        rms_norm_eps=1e-5)
    return Layers("llama_8b_layer", built(LlamaModel, config).requires_grad_(True), None, 32)


def bert():
    """Sentence embeddings: 12 layers of width 384, 12 heads."""
    from transformers import BertConfig, BertModel

    config = configured(BertConfig, hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536,
                        vocab_size=30522, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return Encoder("bert_384", built(lambda one: BertModel(one, add_pooling_layer=False), config), None, 30522)


def small(part):
    """The toys of the tests: what this program does, where there is neither a GPU nor transformers."""
    folder = os.path.join(SOURCE, "tests", "python")
    if folder not in sys.path:
        sys.path.append(folder)
    models = importlib.import_module("cached_models")
    if part == "encoder":
        return Encoder("small", models.model(is_causal=False).model.to(DEVICE).requires_grad_(False), None, 100)
    if part == "train":
        return Layers("small", models.model().model.to(DEVICE), None, 100)
    return Decoder("small", models.model().to(DEVICE).requires_grad_(False), models.StaticCache, 100)


class DecodeWork:
    """Steps of a token; what it gives is the next step's token, on the GPU."""

    def __init__(self, family, batch, context):
        self.part, self.sizes, self.tokens = "decode", {"batch": batch, "context": context}, batch
        self.context, self.most_steps = context, ROOM - WARM_STEPS
        self.decoder = family.decoder(family.model, batch, context + ROOM)
        self.token = family.tokens(batch, 1).clone()
        with torch.no_grad():
            self.decoder.fill(context)

    def step(self, model):
        def run():
            self.token.copy_(self.decoder.feed(self.token, model).argmax(-1, keepdim=True))

        return run

    def reset(self):
        self.decoder.set_length(self.context)


class ForwardWork:
    """A forward pass of the same tokens, without a cache."""

    def __init__(self, part, sizes, tokens, function):
        self.part, self.sizes, self.tokens = part, sizes, tokens.numel()
        self.most_steps, self._tokens, self._function = 100, tokens, function

    def step(self, model):
        return lambda: self._function(model, self._tokens)

    def reset(self):
        pass


class TrainWork:
    """A step of training without an optimizer: the same tokens and the same gradient of the result in every step."""

    def __init__(self, family, length):
        self.part, self.sizes, self.tokens, self.most_steps = "train", {"batch": 1, "prompt": length}, length, 100
        self._family, self._tokens, self._seed = family, family.tokens(1, length), None

    def step(self, model):
        def run():
            try:
                with torch.enable_grad():
                    made = self._family.logits(model, self._tokens)
                    if self._seed is None:
                        self._seed = torch.randn(made.shape, device=made.device).to(made.dtype)
                    made.backward(self._seed)
            finally:  # of a step that is cut off, too: they may be a CUDA graph's, which another step overwrites
                for one in model.parameters():
                    one.grad = None

        return run

    def reset(self):
        pass


def captured(work, step):
    """A CUDA graph of a step."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    work.reset()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = step()
    graph.kept = kept  # its memory
    return graph.replay


def marked(step):
    """A new step for the CUDA graphs of torch.compile: results of the one before may be overwritten."""
    mark = getattr(getattr(torch, "compiler", None), "cudagraph_mark_step_begin", None)
    if mark is None:
        return step

    def run():
        mark()
        return step()

    return run


def bare(step):
    """A step whose encoders make no mask."""
    places = [one for name, one in list(sys.modules.items())
              if name.startswith("transformers.models.") and "create_bidirectional_mask" in vars(one)]

    def no_mask(*arguments, **named):
        return None

    def run():
        own = [one.create_bidirectional_mask for one in places]
        try:
            for one in places:
                one.create_bidirectional_mask = no_mask
            return step()
        finally:
            for one, function in zip(places, own):
                one.create_bidirectional_mask = function

    if not places:
        raise Missing("no model of transformers with create_bidirectional_mask is there")
    return run


def variant(work, name, plain, patched):
    """A step of a variant as a function; Missing says why there is none."""
    is_bare = name.startswith("bare_")
    if is_bare and work.part != "encoder":
        raise Missing("it is for encoders")
    model = patched if name.startswith("patched") else plain
    if model is None:
        raise Missing("no --package is given")
    if work.part == "train" and name.endswith("_graph"):
        raise Missing("steps of training are not captured")
    if name.endswith("_graph"):
        if not torch.cuda.is_available():
            raise Missing("there is no CUDA device")
        step = work.step(model)
        return captured(work, bare(step) if is_bare else step)
    if name in COMPILE_OPTIONS:
        if not hasattr(torch, "compile"):
            raise Missing(f"PyTorch {torch.__version__} has no torch.compile")
        step = marked(work.step(torch.compile(model, **COMPILE_OPTIONS[name])))
        return bare(step) if is_bare else step
    return work.step(model)


def timed(work, run, steps):
    """Seconds of a step."""
    work.reset()
    for _ in range(WARM_STEPS):
        run()
    synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        run()
    synchronize()
    return (time.perf_counter() - begin) / steps


def ratio_of(slow, fast):
    """(geometric mean, low, high) of what a round says."""
    logs = [math.log(a / b) for a, b in zip(slow, fast)]
    mean, half = statistics.mean(logs), None
    if len(logs) > 1:
        point = STUDENT[min(len(logs) - 1, len(STUDENT)) - 1]
        half = point * statistics.stdev(logs) / math.sqrt(len(logs))
    ends = (None, None) if half is None else (math.exp(mean - half), math.exp(mean + half))
    return tuple(None if one is None else round(one, 4) for one in (math.exp(mean), *ends))


def short(failure):
    kind = "" if isinstance(failure, Missing) else type(failure).__name__ + ": "
    lines = [line for line in f"{kind}{failure}".splitlines() if line.strip()]
    return " / ".join(lines[:3])[:400]


class Run:
    """What is measured so far, and where it goes."""

    def __init__(self, options, record):
        self.options, self.record = options, record

    def save(self):
        with open(self.options.out + ".part", "w", encoding="utf-8") as file:
            json.dump(self.record, file, indent=1)
        os.replace(self.options.out + ".part", self.options.out)

    def left(self):
        """Seconds until nothing new begins."""
        return math.inf if self.options.deadline is None else self.options.deadline - (time.time() - BEGIN)

    def ready(self, work, row, plain, patched):
        """Steps of the variants that work."""
        found = {}
        for name in self.options.variants:
            if self.left() <= 0:
                row["variants"][name] = {"step_ms": None, "reason": "the deadline has passed"}
                continue
            begin = time.time()
            try:
                with Bounded(min(self.options.setup_seconds, self.left())):
                    work.reset()
                    run = variant(work, name, plain, patched)
                    work.reset()
                    for _ in range(WARM_CALLS):
                        run()
                    alone = timed(work, run, 3)
            except (Exception, OutOfTime) as failure:
                if not isinstance(failure, Missing):
                    traceback.print_exc(limit=8)
                row["variants"][name] = {"step_ms": None, "reason": short(failure)}
                say(f"  {name}: none, as {short(failure)}")
                continue
            finally:
                self.save()
            found[name] = run, alone
            row["variants"][name] = {"step_ms": alone * 1e3, "tokens_per_s": work.tokens / alone, "rounds": 0,
                                     "setup_s": round(time.time() - begin, 2)}
            say(f"  {name}: {alone * 1e3:.3f} ms alone, ready after {time.time() - begin:.1f} s")
            self.save()
        return found

    def summed_up(self, work, row, times):
        for name, seconds in times.items():
            median = statistics.median(seconds)
            row["variants"][name].update(step_ms=round(median * 1e3, 5), tokens_per_s=round(work.tokens / median, 2),
                                         rounds=len(seconds), round_ms=[round(one * 1e3, 5) for one in seconds])
        row["ratios"] = []
        for base in (one for one in times if not one.startswith("patched")):
            for name in (one for one in times if one != base):
                ratio, low, high = ratio_of(times[base], times[name])
                row["ratios"].append({"of": name, "over": base, "faster": ratio, "low": low, "high": high})
        self.save()

    def measure(self, family, work, plain, patched):
        row = {"part": work.part, "model": family.name, "layers": family.layers, **work.sizes, "variants": {}, "ratios": []}
        self.record["rows"].append(row)
        say(f"{work.part} {work.sizes}")
        if hasattr(torch, "compile"):
            torch._dynamo.reset()
        with torch.no_grad():
            found = self.ready(work, row, plain, patched)
            if not found:
                return
            fastest = min(alone for _, alone in found.values())
            row["steps"] = steps = max(3, min(work.most_steps, math.ceil(ROUND_SECONDS / fastest)))
            times, begin, order = {name: [] for name in found}, time.time(), list(found)
            while len(times[order[0]]) < MOST_ROUNDS:
                count = min(map(len, times.values()))
                if count >= LEAST_ROUNDS and (time.time() - begin > self.options.seconds or self.left() <= 0):
                    break
                for name in order:
                    times[name].append(timed(work, found[name][0], steps))
                order = order[1:] + order[:1]
                self.summed_up(work, row, times)
            for name in found:
                one = row["variants"][name]
                say(f"  {name}: {one['step_ms']:.3f} ms, {one['tokens_per_s']:.1f} tokens/s in {one['rounds']} rounds")
            for one in row["ratios"]:
                if one["of"].startswith("patched"):
                    low, high = (f"{end:.3f}" if end is not None else "?" for end in (one["low"], one["high"]))
                    say(f"  {one['of']} is {one['faster']:.3f} [{low}, {high}] times as fast as {one['over']}")
            if self.options.profile and self.left() > 0:
                self.profiled(work, row, found)

    def profiled(self, work, row, found):
        for name, (run, _) in found.items():
            try:
                row["variants"][name]["profile"] = made = profile(work, run)
            except Exception as failure:
                row["variants"][name]["profile"] = {"reason": short(failure)}
                continue
            finally:
                self.save()
            say(f"  where {name}'s {made['gpu_us']:.0f} us on the GPU go:")
            for one in made["kernels"]:
                print(f"      {one['us']:9.1f} us {100 * one['share']:5.1f} % {one['calls']:6.1f} x {one['name'][:100]}",
                      flush=True)


def profile(work, run, steps=5):
    """Time of a step on the GPU by kernel: those that take most."""
    if not torch.cuda.is_available():
        raise Missing("there is no CUDA device")
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    work.reset()
    run()
    synchronize()
    with profiler(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as made:
        for _ in range(steps):
            run()
        synchronize()
    kernels = {}
    for one in made.events():
        if not str(one.device_type).endswith("CUDA") or getattr(one, "is_user_annotation", False):
            continue
        if one.name.startswith(ANNOTATIONS):
            continue
        entry = kernels.setdefault(one.name, [0, 0.0])
        entry[0] += 1
        entry[1] += one.time_range.elapsed_us()
    total = sum(us for _, us in kernels.values()) / steps
    listed = sorted(kernels.items(), key=lambda one: -one[1][1])
    return {"gpu_us": round(total, 2), "kernels_of_a_step": round(sum(n for n, _ in kernels.values()) / steps, 1),
            "kernels": [{"name": name, "us": round(us / steps, 3), "calls": round(calls / steps, 2),
                         "share": round(us / steps / total, 4) if total else 0.0}
                        for name, (calls, us) in listed[:KERNELS_SHOWN]]}


def off(got, want):
    """Root of the mean square error over that of what is wanted."""
    got, want = got.float(), want.float()
    return ((got - want).square().mean() / want.square().mean()).sqrt().item()


def same(a, b):
    """Of sequences [batch, steps]: the share of equal tokens, and how many are equal before the first that is not."""
    equal = a == b
    before = equal.long().cumprod(1).sum(1)
    return {"share": round(equal.float().mean().item(), 4), "steps_before_the_first_other": before.tolist()}


def greedy(decoder, prompt, steps, forced=None):
    """(tokens, logits) behind a prompt; forced: what is fed instead of one's own tokens."""
    tokens, logits, fed = [], [], prompt
    for step in range(steps):
        logits.append(decoder.feed(fed).float())
        tokens.append(logits[-1].argmax(-1, keepdim=True))
        fed = tokens[-1] if forced is None else forced[:, step:step + 1]
    return torch.cat(tokens, 1), torch.stack(logits, 1)


def accuracy(run, family, plain, patched, length, steps, batch=2):
    """Everything against the plain model in float32 of the same weights."""
    row = {"part": "accuracy", "model": family.name, "layers": family.layers, "batch": batch, "prompt": length, "steps": steps}
    run.record["rows"].append(row)
    say(f"accuracy: {batch} prompts of {length} tokens, {steps} steps behind them")
    exact = copy.deepcopy(plain).float()
    models = {"plain": plain, "patched": patched}
    prompt = family.tokens(batch, length)
    with torch.no_grad():
        want = family.logits(exact, prompt)
        row["prompt_error"] = {name: off(family.logits(model, prompt), want) for name, model in models.items()}
        del want
        run.save()
        if steps:
            room = length + steps
            # In float32 the cache takes the type of the keys that it is given.
            right, want = greedy(family.decoder(exact, batch, room), prompt, steps)
            made = {name: greedy(family.decoder(model, batch, room), prompt, steps, right) for name, model in models.items()}
            row["step_error"] = {name: off(logits, want) for name, (_, logits) in made.items()}
            row["step_tokens_of_float32"] = {name: same(tokens, right) for name, (tokens, _) in made.items()}
            row["step_tokens_of_plain"] = same(made["patched"][0], made["plain"][0])
            own = {name: greedy(family.decoder(model, batch, room), prompt, steps)[0] for name, model in models.items()}
            row["greedy_of_float32"] = {name: same(tokens, right) for name, tokens in own.items()}
            row["greedy_of_plain"] = same(own["patched"], own["plain"])
    for name in ("prompt_error", "step_error"):
        if name in row:
            say(f"  {name}: " + ", ".join(f"{model} {value:.5f}" for model, value in row[name].items()))
    for name in ("step_tokens_of_float32", "step_tokens_of_plain", "greedy_of_float32", "greedy_of_plain"):
        if name in row:
            say(f"  {name}: {row[name]}")
    row["right"] = bool(run.options.quantise) or all(row[name]["patched"] <= run.options.worse * row[name]["plain"] + 1e-6
                       for name in ("prompt_error", "step_error") if name in row)
    run.save()


def package_of(options):
    if options.package is None:
        return None
    folder = os.path.abspath(options.package)
    sys.path.insert(0, folder)
    names = [os.path.basename(os.path.dirname(path)) for path in sorted(glob.glob(os.path.join(folder, "*", "library.json")))]
    if not names:
        raise SystemExit(f"{folder}: no package of `alphakernel library build` below it")
    return importlib.import_module(names[0])


def counted(words):
    return {one: words.count(one) for one in sorted(set(words))}


def patched_twin(run, module, family):
    """The family's model with the library's operators, or None; the record says what was patched."""
    if module is None:
        return None
    model = twin(family.model)
    if run.options.quantise:
        replaced = module.replace_linear(model, run.options.quantise)
        run.record["quantised"] = {"model": family.name, "format": run.options.quantise, "replaced": len(replaced["replaced"]),
                                   "left": replaced["left"]}
        say(f"{len(replaced['replaced'])} linear layers of {family.name} are {run.options.quantise}, {len(replaced['left'])} stay")
    named = {"kinds": run.options.kinds} if run.options.kinds else {}
    with torch.no_grad():
        answer = module.patch(model, every_shape=run.options.every_shape, **named)
    found = {"model": family.name, "served": counted([kind for kinds in answer["served"].values() for kind in kinds]),
             "left": counted(list(answer["left"].values()))}
    run.record["patched"].append(found)
    say(f"patched {family.name}: {found['served']}")
    for why, number in found["left"].items():
        say(f"  left {number}, as {why}")
    return model


def family_of(options, part):
    if options.small:
        return small(part)
    if not torch.cuda.is_available():
        raise Missing("there is no CUDA device; --small does without one")
    return {"encoder": bert, "train": llama_layer}.get(part, lambda: llama(options))()


def works(options, family, part):
    """(function that makes it) of every row of a part; one at a time has memory."""
    if part == "decode":
        return [lambda batch=batch: DecodeWork(family, batch, options.context) for batch in options.batch]
    if part == "train":
        return [lambda: TrainWork(family, options.prompt)]
    if part == "prefill":
        return [lambda: ForwardWork("prefill", {"batch": 1, "prompt": options.prompt}, family.tokens(1, options.prompt),
                                    family.last)]
    return [lambda texts=texts: ForwardWork("encoder", {"batch": texts, "prompt": options.text},
                                            family.tokens(texts, options.text), family.logits) for texts in options.texts]


def parts_run(run, module):
    """Every part, a family's model being built once."""
    families, options = {}, run.options
    for part in options.part:
        key = part if part in ("encoder", "train") else "model"
        try:
            if key not in families:
                families.clear()
                say(f"building the model of {part}")
                family = family_of(options, part)
                families[key] = family, patched_twin(run, module, family)
            family, patched = families[key]
            if part == "accuracy":
                if patched is not None:
                    accuracy(run, family, family.model, patched, options.accuracy_prompt, options.accuracy_steps)
                continue
            if part == "encoder" and patched is not None and "accuracy" in options.part:
                accuracy(run, family, family.model, patched, options.text, 0)
            for make in works(options, family, part):
                work = None
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()
                work = make()
                run.measure(family, work, family.model, patched)
        except Exception as failure:
            if not isinstance(failure, Missing):
                traceback.print_exc()
            run.record["rows"].append({"part": part, "reason": short(failure)})
            say(f"{part}: none, as {short(failure)}")
        if module is not None:
            run.record["kernels"] = [[str(one) for one in (*key, value)] for key, value in module.served.items()]
        run.save()


def parsed(words):
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out")
    arguments.add_argument("--package", help="the folder that `library build` wrote; none: the plain model alone")
    arguments.add_argument("--part", action="append", choices=PARTS, help="default: all")
    arguments.add_argument("--variant", action="append", dest="variants", choices=VARIANTS, help="default: all")
    arguments.add_argument("--kind", action="append", dest="kinds", help="of what is patched; default: all")
    arguments.add_argument("--quantise", help="linear layers of the patched model: int4, int8_weights, int8, fp8 (replace_linear())")
    arguments.add_argument("--every-shape", action="store_true", help="as of patch(): linear layers of all sizes")
    arguments.add_argument("--layers", type=int, default=4, help="of Llama; 32 for all of the 8B model")
    arguments.add_argument("--batch", type=int, action="append", help="of decode; default: 1 and 16")
    arguments.add_argument("--texts", type=int, action="append", help="of the encoder; default: 64 and 256")
    arguments.add_argument("--context", type=int, help="default: 2048; small: 12")
    arguments.add_argument("--prompt", type=int, help="default: 4096; small: 24")
    arguments.add_argument("--seconds", type=float, default=20, help="of the rounds of a row")
    arguments.add_argument("--setup-seconds", type=float, default=300, help="that a variant may take to be ready (autotuning)")
    arguments.add_argument("--deadline", type=float, help="seconds from the start after which nothing new begins")
    arguments.add_argument("--worse", type=float, default=1.2, help="error over the plain model's that still counts as right")
    arguments.add_argument("--profile", action="store_true")
    arguments.add_argument("--small", action="store_true")
    options = arguments.parse_args(words)
    options.part, options.variants = options.part or list(PARTS), options.variants or list(VARIANTS)
    options.batch, options.texts = options.batch or [1, 16], options.texts or ([2] if options.small else [64, 256])
    options.text = 24 if options.small else 256
    options.context = options.context or (12 if options.small else 2048)
    options.prompt = options.prompt or (24 if options.small else 4096)
    options.accuracy_prompt, options.accuracy_steps = (12, 4) if options.small else (256, 32)
    return options


def main():
    options = parsed(sys.argv[1:])
    record = {"torch": torch.__version__, "cuda": torch.version.cuda, "transformers": None, "package": options.package,
              "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu", "options": vars(options),
              "patched": [], "rows": []}
    if not options.small:
        record["transformers"] = importlib.import_module("transformers").__version__
    if hasattr(torch, "compile"):
        importlib.import_module("torch._dynamo")
        for name in ("cache_size_limit", "recompile_limit"):  # of the variants of one model; its name differs with versions
            if hasattr(torch._dynamo.config, name):
                setattr(torch._dynamo.config, name, 64)
    run = Run(options, record)
    module = package_of(options)
    parts_run(run, module)
    wrong = [row for row in record["rows"] if row.get("right") is False]
    needed = ("eager", "patched") if module is not None else ("eager",)
    missing = [row for row in record["rows"] if "variants" in row and any(
        row["variants"].get(name, {}).get("step_ms") is None for name in needed if name in options.variants)]
    failed = [row for row in record["rows"] if "reason" in row]
    say(f"{len(record['rows'])} rows, {len(wrong)} wrong, {len(missing) + len(failed)} without a time; {options.out}")
    return 1 if wrong or missing or failed else 0


if __name__ == "__main__":
    sys.exit(main())
