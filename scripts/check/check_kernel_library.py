#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a package that `alphakernel library build` wrote, on a GPU with PyTorch; nothing is built or downloaded.

    python3 scripts/check/check_kernel_library.py OUT.json --package dist/ [--package other_dist/] [--max-gb 8] [--shapes 6]

A package is the folder that pip takes, or the site-packages folder that it was installed into. Every operator is compared
with its PyTorch reference at its shapes; timed: host time of a call (function, torch.ops), time on the GPU beside the
reference, and in a CUDA graph; called under torch.compile; with strided, misaligned, empty and wrong inputs; on another
stream; with weights that change. Small models of the structure of Llama, Qwen, Phi and Gemma are patched, and compared with
themselves: called, compiled, in a CUDA graph; attention in one with a static cache. Exit code 0: everything that was tried is right.
"""
import argparse
import glob
import importlib
import json
import os
import statistics
import sys
import time
import traceback
import types

import torch

CALLS = 200  # of a measurement of host time: 1 ms and more, so that the clock's steps do not matter


def draw(shape, dtype, generator):
    kind = getattr(torch, dtype)
    if kind.is_floating_point and not shape:  # a probability or a factor
        return torch.rand(shape, device="cuda", generator=generator).to(kind)
    if kind.is_floating_point:
        return torch.randn(shape, device="cuda", generator=generator).to(kind)
    low, high = {"bool": (0, 2), "uint8": (0, 256), "int8": (-8, 9)}.get(dtype, (0, 2))
    return torch.randint(low, high, shape, device="cuda", generator=generator).to(kind)


def group_starts(sizes):
    """Of grouped_gemm: equal groups."""
    if sizes["PLACES"] == sizes["E"]:
        return torch.full((sizes["E"],), sizes["M"] // 2, dtype=torch.int32, device="cuda")
    return (torch.arange(sizes["E"] + 1, device="cuda") * sizes["M"] // sizes["E"]).int()


DRAWN = {("grouped_gemm", "groups"): group_starts}  # contents that have to fit the sizes


def sizes_of(operator, axes):
    sizes = {axis["name"]: axis["value"] for axis in operator.axes if "value" in axis}
    sizes.update(axes)
    names = {**operator.description["params"], **sizes}
    from importlib import import_module
    functions = import_module(operator.library.package + "._operators")._FUNCTIONS
    for name, code in operator._derived:
        names[name] = sizes[name] = eval(code, {"__builtins__": {}, **functions}, names)
    return sizes


def arguments_of(operator, axes, seed=1):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    sizes = sizes_of(operator, axes)
    made = []
    for one in operator.inputs:
        if one["shape"] is None:
            made.append({"real": float, "whole": int, "boolean": bool}[one["kind"]](one.get("value", 1)))
        elif (operator.description["algorithm"], one["name"]) in DRAWN:
            made.append(DRAWN[operator.description["algorithm"], one["name"]](sizes))
        else:
            made.append(draw([sizes[axis] for axis in one["shape"]], one["dtype"], generator))
    return made + [sizes[name] for name in operator.given]


def bytes_of(operator, axes):
    sizes = sizes_of(operator, axes)
    total = 0
    for one in operator.inputs + operator.outputs:
        if one["shape"] is not None:
            count = 8
            for axis in one["shape"]:
                count *= sizes[axis]
            total += count
    return total


def listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def error_of(got, want):
    """Largest error relative to |want| + rms(want), in roundoffs of the output's type."""
    if got.shape != want.shape:
        return float("inf")
    if not got.dtype.is_floating_point:
        return 0.0 if torch.equal(got, want.to(got.dtype)) else float("inf")
    unit = torch.finfo(got.dtype).eps / 2
    got, want = got.double(), want.double()
    finite = torch.isfinite(want)
    if not torch.equal(torch.isfinite(got), finite):
        return float("inf")
    got, want = got[finite], want[finite]
    if want.numel() == 0:
        return 0.0
    return ((got - want).abs() / (want.abs() + want.square().mean().sqrt() + 1e-300)).max().item() / unit


def agrees(operator, got, want):
    worst = max(error_of(a, b) for a, b in zip(listed(got), listed(want)))
    return worst <= operator.description["bound_ulps"], worst


def host_us(call):
    """Median of five: host time of a call while the GPU never has to be waited for."""
    for _ in range(10):
        call()
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - begin) / CALLS * 1e6)
        torch.cuda.synchronize()
    return statistics.median(times)


def gpu_us(call, calls=20):
    for _ in range(3):
        call()
    times = []
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / calls)
    return statistics.median(times)


def captured(call):
    """The graph of a call, and its result."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    return graph, result


class Check:
    def __init__(self, library, options):
        self.library, self.options = library, options
        self.rows, self.wrong = [], []

    def note(self, operator, what, right, **more):
        row = {"operator": operator.name, "what": what, "right": bool(right), **more}
        self.rows.append(row)
        print(f"{'ok   ' if right else 'WRONG'} {operator.name} {what} " + " ".join(f"{k}={v}" for k, v in more.items()), flush=True)
        if not right:
            self.wrong.append(row)

    def tried(self, operator, what, function):
        try:
            function()
        except Exception as failure:
            traceback.print_exc()
            self.note(operator, what, False, failure=f"{type(failure).__name__}: {failure}"[:500])

    def shapes(self, operator):
        shapes = [{"name": json.dumps(axes), "axes": axes} for axes in operator.description.get("plan_shapes") or []]
        shapes += sorted(operator.description["shapes"], key=lambda one: not one["timed"])
        fitting = [one for one in shapes if bytes_of(operator, one["axes"]) <= self.options.max_gb * 1e9]
        return fitting[:self.options.shapes]

    def served(self, operator, axes):
        return self.library.served.get((operator.name, tuple(sizes_of(operator, axes)[name] for name in operator.varying)))

    def values(self, operator, shape):
        arguments = arguments_of(operator, shape["axes"])
        kept = [one.clone() if isinstance(one, torch.Tensor) else one for one in arguments]
        function = self.library.functions[operator.name]
        got = function(*arguments)
        torch.cuda.synchronize()
        want = operator.reference()(*[one.clone() if isinstance(one, torch.Tensor) else one for one in kept[:len(operator.inputs)]])
        right, worst = agrees(operator, got, want)
        unchanged = all(torch.equal(a.view(torch.uint8) if a.dim() else a, b.view(torch.uint8) if b.dim() else b)
                        for a, b in zip(arguments, kept) if isinstance(a, torch.Tensor))
        kernel = self.served(operator, shape["axes"])
        self.note(operator, f"values at {shape['name']}", right and unchanged, error=round(worst, 3),
                  bound=operator.description["bound_ulps"], kernel=kernel, unchanged=unchanged)

    def times(self, operator, shape):
        arguments = arguments_of(operator, shape["axes"])
        function = self.library.functions[operator.name]
        registered = getattr(getattr(torch.ops, self.library.name), operator.name).default
        inputs = arguments[:len(operator.inputs)]
        with torch.no_grad():
            graph, result = captured(lambda: function(*arguments))
            graph.replay()
            torch.cuda.synchronize()
            right, worst = agrees(operator, result, function(*arguments))
            row = {"gpu_us": gpu_us(lambda: function(*arguments)), "graph_us": gpu_us(graph.replay),
                   "reference_us": gpu_us(lambda: operator.reference()(*inputs)),
                   "host_us_function": host_us(lambda: function(*arguments)),
                   "host_us_torch_ops": host_us(lambda: registered(*arguments)),
                   "host_us_graph": host_us(graph.replay)}
            small = inputs[0] if isinstance(inputs[0], torch.Tensor) else inputs[1]
            row["host_us_torch_add"] = host_us(lambda: torch.add(small, small))
        self.note(operator, f"graph and times at {shape['name']}", right, error=round(worst, 3),
                  kernel=self.served(operator, shape["axes"]), **{key: round(value, 3) for key, value in row.items()})

    def compiled(self, operator, shape):
        import torch._dynamo

        arguments = arguments_of(operator, shape["axes"])
        function = self.library.functions[operator.name]
        want = function(*arguments)

        def model(*given):
            return [one * 1 for one in listed(function(*given))]

        for options in ({}, {"mode": "reduce-overhead"}, {"dynamic": True}):
            torch._dynamo.reset()
            try:
                made = torch.compile(model, fullgraph=True, **options)
                with torch.no_grad():
                    for _ in range(3):
                        got = made(*arguments)
                right, worst = agrees(operator, got, want)
                self.note(operator, f"torch.compile {options}", right, error=round(worst, 3))
            except Exception as failure:
                text = f"{type(failure).__name__}: {failure}"
                # Inductor compiles what is around the operator with Triton and a C compiler, which may be missing.
                missing = any(word in text for word in ("ompiler", "riton", "gcc"))
                self.note(operator, f"torch.compile {options}", missing, failure=text[:300], skipped=missing)
        try:
            torch._dynamo.reset()
            got = torch.compile(model, fullgraph=True, backend="aot_eager")(*arguments)
            self.note(operator, "torch.compile aot_eager", agrees(operator, got, want)[0])
        except Exception as failure:
            self.note(operator, "torch.compile aot_eager", False, failure=f"{failure}"[:300])
        if hasattr(torch.library, "opcheck"):
            try:
                torch.library.opcheck(getattr(getattr(torch.ops, self.library.name), operator.name).default, tuple(arguments),
                                      test_utils=("test_schema", "test_faketensor"))
                self.note(operator, "torch.library.opcheck", True)
            except Exception as failure:
                self.note(operator, "torch.library.opcheck", False, failure=f"{failure}"[:500])

    def strange(self, operator, shape):
        function = self.library.functions[operator.name]
        arguments = arguments_of(operator, shape["axes"])
        want = function(*arguments)
        first = next(i for i, one in enumerate(arguments) if isinstance(one, torch.Tensor))

        def with_first(value):
            return function(*[value if i == first else one for i, one in enumerate(arguments)])

        x = arguments[first]
        if x.dim():
            wide = torch.empty(list(x.shape[:-1]) + [2 * x.shape[-1]], dtype=x.dtype, device=x.device)
            strided = wide[..., ::2]
            strided.copy_(x)
            self.note(operator, "a strided input", agrees(operator, with_first(strided), want)[0])
            flat = torch.empty(x.numel() + 1, dtype=x.dtype, device=x.device)
            shifted = flat[1:].view(x.shape)
            shifted.copy_(x)
            self.note(operator, "a misaligned input", agrees(operator, with_first(shifted), want)[0])
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            got = function(*arguments)
        stream.synchronize()
        self.note(operator, "another stream", agrees(operator, got, want)[0])
        on_cpu = [one.cpu() if isinstance(one, torch.Tensor) else one for one in arguments]
        if bytes_of(operator, shape["axes"]) < 1e9:
            try:
                got = function(*on_cpu)
                self.note(operator, "the CPU", all(not one.is_cuda for one in listed(got)) and
                          agrees(operator, [one.cuda() for one in listed(got)], want)[0])
            except RuntimeError as failure:  # a reference that PyTorch's CPU cannot compute
                self.note(operator, "the CPU", True, failure=f"{failure}"[:200])
        mixed = [one.cpu() if i == first else one for i, one in enumerate(arguments)]
        if sum(isinstance(one, torch.Tensor) for one in arguments) > 1:
            self.refused(operator, "two devices", lambda: function(*mixed))
        if x.dim():
            self.refused(operator, "too many dimensions", lambda: with_first(x.reshape([1] * 4 + list(x.shape))))
        weights = [i for i, one in enumerate(operator.inputs) if one.get("weight") and one["shape"] is not None]
        if weights:
            for i in weights:
                if arguments[i].dtype.is_floating_point:
                    arguments[i].mul_(2)
            changed = function(*arguments)
            reference = operator.reference()(*arguments[:len(operator.inputs)])
            self.note(operator, "weights that changed", agrees(operator, changed, reference)[0])
            fresh = arguments_of(operator, shape["axes"], seed=2)
            got = function(*fresh)
            self.note(operator, "other weights", agrees(operator, got, operator.reference()(*fresh[:len(operator.inputs)]))[0])

    def refused(self, operator, what, call):
        """An error, or what PyTorch makes of it: never a kernel's answer to a question that was not asked."""
        try:
            call()
            self.note(operator, what, True, answer="PyTorch's")
        except Exception as failure:
            self.note(operator, what, True, answer=f"{type(failure).__name__}: {failure}"[:200])
        torch.cuda.synchronize()

    def run(self):
        for operator in self.library.operators:
            shapes = self.shapes(operator)
            for shape in shapes:
                self.tried(operator, f"values at {shape['name']}", lambda: self.values(operator, shape))
            for shape in shapes[:3]:
                self.tried(operator, f"times at {shape['name']}", lambda: self.times(operator, shape))
            if shapes:
                smallest = min(shapes, key=lambda one: bytes_of(operator, one["axes"]))
                self.tried(operator, "times at its smallest shape", lambda: self.times(operator, smallest))
                self.tried(operator, "strange inputs", lambda: self.strange(operator, smallest))
                self.tried(operator, "torch.compile", lambda: self.compiled(operator, smallest))
            else:
                self.note(operator, "no shape fits", False)


def small_models(name="small_models"):
    """Models of the tests."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "python")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


def off(got, want):
    return ((got.double() - want.double()).square().mean() / want.double().square().mean()).sqrt().item()


def check_patched(check, module, name, small):
    """A small model with the library's operators in it, against itself."""
    heads = [int(one.description["params"]["head_dim"]) for one in module._library.operators if one.description["algorithm"] == "rope"]
    model = getattr(small, name)(**({"head": heads[0]} if heads else {})).cuda()
    tokens = torch.arange(24, device="cuda").reshape(2, 12)
    what = types.SimpleNamespace(name=f"patch({name})")
    limit = 0.02  # of bfloat16 over two layers, as in the tests (chosen)
    with torch.no_grad():
        want = model(tokens)
        answer = module.patch(model, every_shape=True)
        check.note(what, "called", off(model(tokens), want) < limit, error=off(model(tokens), want), served=len(answer["served"]))
        graph, result = captured(lambda: model(tokens))
        graph.replay()
        torch.cuda.synchronize()
        check.note(what, "in a graph", off(result, want) < limit)
        if hasattr(torch, "compile"):
            torch._dynamo.reset()
            check.note(what, "compiled", off(torch.compile(model, backend="aot_eager")(tokens), want) < limit)
        module.unpatch(model)
        check.note(what, "unpatched", torch.equal(model(tokens), want))
        # A graph sees weights that change once the model has been called: those that are prepared, and 1 + weight of norms.
        module.patch(model, every_shape=True)
        model(tokens)
        graph, result = captured(lambda: model(tokens))
        for weight in model.parameters():
            weight.mul_(1.25)
        model(tokens)
        graph.replay()
        torch.cuda.synchronize()
        module.unpatch(model)
        check.note(what, "in a graph after weights changed", off(result, model(tokens)) < limit)


def check_attention(check, module):
    """A model with a static cache and the library's attention in it, against itself: a text, and tokens behind it."""
    cached = small_models("cached_models")
    attention = module._library.attention()
    what = types.SimpleNamespace(name="patch(cached)")
    widths = sorted({width for kind, width, *_ in [*attention.decode, *attention.prefill] if kind is torch.bfloat16})
    for width in widths:
        model = cached.model(head_dim=width).cuda()
        tokens = torch.arange(24, device="cuda").reshape(2, 12)

        def read():
            """Of a text, a token and two tokens."""
            cache = cached.StaticCache(model.config, 64)  # whole pages, but for those of 256
            return [model(tokens[:, begin:end], past_key_values=cache).logits for begin, end in ((0, 9), (9, 10), (10, 12))], cache

        with torch.no_grad():
            want, _ = read()
            answer = module.patch(model, kinds=("attention",))
            got, cache = read()
            errors = [off(one, other) for one, other in zip(got, want)]
            check.note(what, f"attention of heads of {width}", max(errors) < 0.02, error=max(errors), served=len(answer["served"]))

            def again():
                for layer in cache.layers:
                    layer.cumulative_length.fill_(9)
                return model(tokens[:, 9:10], past_key_values=cache).logits

            graph, result = captured(again)
            graph.replay()
            torch.cuda.synchronize()
            check.note(what, f"attention of heads of {width} in a graph", off(result, want[1]) < 0.02, error=off(result, want[1]))
            module.unpatch(model)


def packages(folder):
    """Names of the packages below a folder, which goes onto Python's path."""
    sys.path.insert(0, os.path.abspath(folder))
    return [os.path.basename(os.path.dirname(path)) for path in sorted(glob.glob(os.path.join(folder, "*", "library.json")))]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out")
    arguments.add_argument("--package", action="append", required=True)
    arguments.add_argument("--max-gb", type=float, default=8, help="of a shape's tensors as float64; larger ones are left out")
    arguments.add_argument("--shapes", type=int, default=6, help="of each operator")
    options = arguments.parse_args()
    record = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "driver": torch.version.cuda, "libraries": []}
    wrong = 0
    for name in [name for folder in options.package for name in packages(folder)]:
        module = importlib.import_module(name)
        check = Check(module._library, options)
        check.run()
        small = small_models()
        for model in ("llama", "qwen", "phi", "gemma", "bert"):
            check.tried(types.SimpleNamespace(name=f"patch({model})"), "patched", lambda: check_patched(check, module, model, small))
        if module._library.attention() is not None:
            check.tried(types.SimpleNamespace(name="patch(cached)"), "patched", lambda: check_attention(check, module))
        wrong += len(check.wrong)
        record["libraries"].append({"name": name, "available": module.available(), "rows": check.rows,
                                    "served": [[*key, value] for key, value in module.served.items()]})
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
    print(f"{wrong} wrong; {options.out}")
    return 1 if wrong or not record["libraries"] else 0


if __name__ == "__main__":
    sys.exit(main())
