#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small models with the operators of a kernel library, on random batches and lengths, against themselves in float32.

    python3 scripts/check/check_random_mixes.py OUT.json --package dist/ [--count 10000] [--seed 1] [--seconds 600]

Each mix is a model, how it is called (a prompt alone; a prompt, steps and some tokens at once into a static or a growing
cache), a batch and lengths. The token whose logits are furthest off may be no further off than --worse times that of the plain
bfloat16 model of the same weights, and a rounding. New memory is filled with NaN before it is used, so that a kernel which leaves some of it as it was
is seen. Models are those of transformers (Llama, Qwen 2 and 3, Mistral with a window, Gemma, Phi-3, BERT), of two layers with
drawn weights; without transformers those of the tests. OUT.json has every mix that was wrong, and how many shapes each kernel
served. Exit code 0: none is wrong, --count were tried (or --seconds are over), and kernels of the library served them.
"""
import argparse
import collections
import copy
import json
import math
import os
import random
import sys
import time
import warnings

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what PyTorch asks for with deterministic algorithms

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "measure"))
from measure_model import DEVICE, SOURCE, built, configured, package_of, static_cache, twin

WORDS = 512
MOST_TOKENS = 8192  # of a batch: some milliseconds a mix (chosen)
ROUNDINGS = 2.0**-9  # one of bfloat16, where the plain model is exact (chosen)
HIDDEN, HEADS, GROUPS = 512, 4, 2


class Family:
    """A model in float32, in bfloat16, and in bfloat16 with the library's operators; all of the same weights."""

    def __init__(self, name, plain, module, caches=None, words=WORDS):
        """caches: types of them by what the calls are named."""
        self.name, self.plain, self.patched, self.words = name, plain, twin(plain), words
        self.exact = copy.deepcopy(plain).float()
        self.served = collections.Counter(kind for kinds in module.patch(self.patched, every_shape=True)["served"].values()
                                          for kind in kinds)
        self.caches = caches or {}

    def models(self):
        return {"exact": self.exact, "plain": self.plain, "patched": self.patched}


def of_transformers(module):
    import transformers as hf

    sizes = {"hidden_size": HIDDEN, "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": 1024,
             "vocab_size": WORDS, "max_position_embeddings": 2048}
    decoders = {"llama": ("Llama", {"head_dim": 128}), "qwen2": ("Qwen2", {}), "qwen3": ("Qwen3", {"head_dim": 128}),
                "mistral": ("Mistral", {"head_dim": 128, "sliding_window": 256}), "gemma": ("Gemma", {"head_dim": 128}),
                "phi3": ("Phi3", {"pad_token_id": 0})}
    for name, (kind, own) in decoders.items():
        config = configured(getattr(hf, kind + "Config"), num_key_value_heads=GROUPS, **sizes, **own)
        plain = built(getattr(hf, kind + "ForCausalLM"), config)
        yield Family(name, plain, module, {"static": hf.StaticCache, "growing": hf.DynamicCache})
    config = configured(hf.BertConfig, **sizes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    yield Family("bert", built(lambda one: hf.BertModel(one, add_pooling_layer=False), config), module)


def of_the_tests(module):
    sys.path.append(os.path.join(SOURCE, "tests", "python"))
    import cached_models

    plain = cached_models.model().to(DEVICE).requires_grad_(False)
    yield Family("small", plain, module, {"static": cached_models.StaticCache, "growing": cached_models.DynamicCache},
                 words=100)


def log_uniform(draw, least, most):
    return min(most, int(math.exp(draw.uniform(math.log(least), math.log(most + 1)))))


def mix_of(draw, families):
    family = draw.choice(families)
    batch = log_uniform(draw, 1, 64)
    length = log_uniform(draw, 1, min(1024, MOST_TOKENS // batch))
    call = draw.choice(["prompt", *family.caches])
    pieces = [length] if call == "prompt" else [length, *[draw.choice((1, 1, 1, 2, 3, 8, 9, 40)) for _ in range(draw.randint(1, 4))]]
    spare = draw.choice((0, 0, 1, 7, 16, 100))
    return family, {"model": family.name, "call": call, "batch": batch, "pieces": pieces, "spare": spare, "words": draw.randrange(2**31)}


def logits_of(family, model, mix, tokens):
    """Of every token."""
    if mix["call"] == "prompt":
        out = model(input_ids=tokens, **({"use_cache": False} if family.caches else {}))
        return getattr(out, "logits", getattr(out, "last_hidden_state", out))
    kind, room = family.caches[mix["call"]], tokens.shape[1] + mix["spare"]
    cache = kind(config=model.config) if mix["call"] == "growing" else static_cache(kind, model.config, mix["batch"], room)
    made, at = [], 0
    for piece in mix["pieces"]:
        made.append(model(input_ids=tokens[:, at:at + piece], past_key_values=cache, use_cache=True).logits)
        at += piece
    return torch.cat(made, dim=1)


def off(got, want):
    """Root mean square of the token that is furthest off, over that of all that is wanted; infinite where a number is none, or
    the shape is another."""
    if got.shape != want.shape or not torch.isfinite(got).all():
        return math.inf
    return ((got.double() - want.double()).square().mean(-1).max() / want.double().square().mean()).sqrt().item()


def tried(family, mix, worse):
    generator = torch.Generator(device=DEVICE).manual_seed(mix["words"])
    tokens = torch.randint(0, family.words, (mix["batch"], sum(mix["pieces"])), device=DEVICE, generator=generator)
    with torch.no_grad():
        made = {name: logits_of(family, model, mix, tokens) for name, model in family.models().items()}
    errors = {name: off(made[name], made["exact"]) for name in ("plain", "patched")}
    return errors, math.isfinite(errors["patched"]) and errors["patched"] <= worse * errors["plain"] + ROUNDINGS


def options_of():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out")
    arguments.add_argument("--package", required=True, help="folder that `library build` wrote")
    arguments.add_argument("--count", type=int, default=10000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--seconds", type=float, default=math.inf)
    arguments.add_argument("--worse", type=float, default=2, help="times the plain model's own error (chosen)")
    return arguments.parse_args()


def families_of(module):
    try:
        import transformers  # noqa: F401
    except ImportError:
        return list(of_the_tests(module))
    return list(of_transformers(module))


def main():
    options = options_of()
    module = package_of(options)
    torch.use_deterministic_algorithms(True, warn_only=True)  # with it goes torch.utils.deterministic.fill_uninitialized_memory
    warnings.filterwarnings("ignore", message=".*deterministic")
    draw, families = random.Random(options.seed), families_of(module)
    count, wrong, worst, began = 0, [], collections.defaultdict(float), time.time()
    tries = collections.Counter()
    while count < options.count and time.time() - began < options.seconds:
        family, mix = mix_of(draw, families)
        try:
            errors, right = tried(family, mix, options.worse)
        except Exception as failure:
            errors, right = {"failure": f"{type(failure).__name__}: {failure}"[:300]}, False
        count += 1
        tries[family.name, mix["call"]] += 1
        if right and errors["plain"] > 0:
            worst[family.name] = max(worst[family.name], errors["patched"] / errors["plain"])
        if not right:
            wrong.append({**mix, **{name: value if value != math.inf else None for name, value in errors.items()}})
            print("WRONG", json.dumps(wrong[-1]), flush=True)
        if count % 500 == 0:
            print(f"{count} mixes, {len(wrong)} wrong, {time.time() - began:.0f} s", flush=True)
    kernels = collections.Counter(f"{key[0]}: {which}" for key, which in module.served.items())
    record = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if DEVICE == "cuda" else DEVICE,
              "seed": options.seed, "worse": options.worse, "mixes": count, "wrong": wrong,
              "tries": {" ".join(key): number for key, number in sorted(tries.items())},
              "largest_of_plain_error": {name: round(value, 3) for name, value in sorted(worst.items())},
              "patched": {one.name: dict(one.served) for one in families}, "shapes_served": dict(sorted(kernels.items()))}
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
    print(f"{count} mixes, {len(wrong)} wrong; {len(module.served)} shapes by kernels of the library; {options.out}")
    return 0 if count and not wrong and module.served else 1


if __name__ == "__main__":
    sys.exit(main())
