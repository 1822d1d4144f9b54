"""Says as JSON which operators a user's model runs: those of the library, and others by their names in PyTorch."""

import torch

from .. import attempts, channel
from ..problems import TaskError, explained
from ..randomness import refuse_random_modules
from ..task import load
from ..trace import _flat
from .graph import Place, recorded, replayed, through
from .matching import matches_at

SEED = 1
# Of the largest result, where the fused and the unfused operator are compared in float64: constants may be of float32 (chosen).
LARGEST_ERROR = 1e-6


class Shaped:
    """A tensor of a match, as expressions of patterns see it."""

    def __init__(self, value):
        self.value, self.shape = value, value.shape
        self.dtype = str(value.dtype).replace("torch.", "")
        self.columns = value.shape[-1] if value.shape else 1
        self.rows = value.count // max(self.columns, 1)
        self.count = value.count

    def with_axes(self, count):
        """The shape that it had when it last had so many axes; none: all ones."""
        for value in through(self.value):
            if len(value.shape) == count:
                return value.shape
        return (1,) * count


def _is_causal(shaped):
    """A mask that is 0 on and below the diagonal and hides all above."""
    contents = next((value.contents for value in through(shaped.value) if value.contents is not None), None)
    if contents is None or contents.dim() < 2 or contents.shape[-1] != contents.shape[-2]:
        return False
    masks = contents.reshape(-1, *contents.shape[-2:])
    seen = torch.ones_like(masks, dtype=torch.bool).tril()
    if masks.dtype == torch.bool:
        return bool(torch.equal(masks, seen) or torch.equal(masks, ~seen))
    return bool((masks[seen] == 0).all() and (masks[~seen] <= -1e4).all())


class Model:
    def __init__(self, path, patterns):
        self.patterns = patterns
        self.notes = []
        attempts.watch(path)
        task = load(path, None, {"eval": True})
        instance = task.instance(dict(task.sizes), SEED)
        refuse_random_modules(instance.module)
        inputs = instance.inputs(SEED)
        # What has no element is nobody's work.
        self.nodes = [node for node in recorded(lambda: self._run(instance, inputs))
                      if not node.outputs or any(one.count for one in node.outputs)]
        self.order = {id(node): place for place, node in enumerate(self.nodes)}
        self.taken, self.checked = set(), {}

    @staticmethod
    def _run(instance, inputs):
        return instance.run(inputs)

    def rows(self):
        found = {}
        for row in self._library_rows() + self._other_rows():
            key = str([row[what] for what in ("operator", "algorithm", "params", "axes", "flops", "bytes")])
            if key in found:
                found[key]["count"] += 1
            else:
                found[key] = row
        return sorted(found.values(), key=lambda row: row.pop("place"))

    def _library_rows(self):
        rows = []
        for pattern in self.patterns:
            for node in reversed(self.nodes):
                for match in matches_at(pattern, node):
                    if self._suits(match):
                        rows.append(self._row(match))
                        self.taken.update(id(one) for one in match.nodes)
                        break
        return rows

    def _environment(self, match):
        names = {name: Shaped(value) for name, value in match.variables.items()}
        return dict(match.constants, **names, out=Shaped(match.root.outputs[0]), causal=_is_causal, abs=abs, len=len, max=max, min=min,
                    __builtins__={})

    def _suits(self, match):
        if any(id(node) in self.taken for node in match.nodes if not node.moves_nothing()):
            return False
        environment = self._environment(match)
        if "when" in match.pattern and not eval(match.pattern["when"], environment):
            return False
        shapes = str(sorted((name, value.shape, str(value.dtype)) for name, value in match.variables.items()))
        key = (id(match.pattern), shapes, str([_settings(node) for node in match.nodes]))
        if key not in self.checked:
            self.checked[key] = self._right(match)
        return self.checked[key]

    def _right(self, match):
        """Whether the fused operator's formula gives what the nodes give, on contents drawn anew."""
        torch.manual_seed(SEED)
        ways = [through(place) for place in match.places]
        before = {id(value.node): value.node for way in ways for value in way[:-1]}
        nodes = sorted(list(before.values()) + [node for node in match.nodes if id(node) not in before],
                       key=lambda node: self.order[id(node)])
        try:
            known = {value: _drawn(value) for value in dict.fromkeys(way[-1] for way in ways)}
            known = replayed(nodes, known)
            expected = known[match.root.outputs[0]].double()
        except (RuntimeError, TypeError, ValueError, IndexError, KeyError) as error:
            return self._refused(match, "its operators cannot be run alone: %s" % str(error).splitlines()[0])
        given = {name: known[value] for name, value in match.variables.items()}
        try:
            got = eval(match.pattern["formula"], dict(match.constants, torch=torch, F=torch.nn.functional, **given))
            got = got.reshape(expected.shape)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            return self._refused(match, "its formula does not fit: %s" % str(error).splitlines()[0])
        error = (got - expected).abs().max().item() / max(expected.abs().max().item(), 1e-30)
        if not error <= LARGEST_ERROR:
            return self._refused(match, "its formula is off by %.2g of the largest result" % error)
        return True

    def _refused(self, match, why):
        self.notes.append("%s at %s is not %s: %s" % (
            match.root.name, list(match.root.outputs[0].shape), match.pattern["operator"], why))
        return False

    def _row(self, match):
        environment = self._environment(match)
        inside = set(map(id, match.nodes))
        read = {id(value): value.bytes for node in match.nodes for value in node.inputs
                if value.node is None or id(value.node) not in inside}
        written = [match.root] + match.shared
        return {"operator": match.pattern["operator"], "algorithm": match.pattern["algorithm"],
                "what": match.pattern["what"],
                "params": {name: eval(text, environment) for name, text in match.pattern.get("params", {}).items()},
                "axes": {name: int(eval(text, environment)) for name, text in match.pattern["axes"].items()},
                "count": 1, "flops": sum(node.flops for node in match.nodes),
                "bytes": sum(read.values()) + sum(node.outputs[0].bytes for node in written),
                "dtype": str(match.root.outputs[0].dtype).replace("torch.", ""), "place": self.order[id(match.root)]}

    def _other_rows(self):
        rows = []
        for node in self.nodes:
            if id(node) in self.taken or node.is_free() or node.moves_nothing() or not node.outputs:
                continue
            rows.append({"operator": node.name, "algorithm": "", "what": "PyTorch's %s" % node.name, "params": {},
                         "axes": {}, "count": 1, "flops": node.flops,
                         "bytes": sum(value.bytes for value in node.inputs + node.outputs[:1]),
                         "dtype": str(node.outputs[0].dtype).replace("torch.", ""), "place": self.order[id(node)]})
        return rows


def _settings(node):
    """Its arguments that are no tensors: axes, shapes, types."""
    parts = _flat(list(node.args) + list(node.kwargs.values()))
    return str([node.name] + [part for part in parts if not isinstance(part, Place)])


def _drawn(value):
    """Contents for a tensor of the graph, which lies as it did."""
    if value.contents is not None and not value.dtype.is_floating_point:
        return value.contents
    kind = torch.float64 if value.dtype.is_floating_point else value.dtype
    make = torch.randn if value.dtype.is_floating_point else torch.zeros
    if value.strides is None or value.count == 0:
        return make(value.shape, dtype=kind)
    reached = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.strides))
    return make(reached, dtype=kind).as_strided(value.shape, value.strides)


def answered(request):
    """The operators of the model in request["file"], by request["patterns"]. Raises TaskError."""
    with explained("tracing"):
        model = Model(request["file"], request["patterns"])
        rows = model.rows()
        if not rows:
            raise TaskError("it runs no operator on any element")
        return {"operators": rows, "notes": model.notes + attempts.notes()}


def main(stream, launch):
    """Answers requests of the program that started this process."""
    torch.set_num_threads(1)
    channel.serve(stream, {"hello": lambda request: {"torch": str(torch.__version__)}, "operators": answered})
