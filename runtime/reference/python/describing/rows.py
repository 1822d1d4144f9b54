"""Modules of elementwise operators and reductions over one group of axes, as one kernel: a block for each row."""

from .elementwise import BINARY, UNARY, Unknown, number

SAME_ELEMENTS = frozenset("""view _unsafe_view reshape _reshape_alias alias detach contiguous clone unsqueeze squeeze
expand lift_fresh _to_copy""".split())
# Reductions: the first value of the accumulator, and how two become one.
SUM = ("0.0", "a + b")
LARGEST = ("-1.0 / 0.0", "a > b ? a : b")
SMALLEST = ("1.0 / 0.0", "a < b ? a : b")
PRODUCT = ("1.0", "a * b")
PLAIN = {"sum": SUM, "mean": SUM, "amax": LARGEST, "amin": SMALLEST, "max": LARGEST, "min": SMALLEST, "prod": PRODUCT}
CHOSEN = {"argmax": ">", "argmin": "<"}


CONSECUTIVE = "(row / inner * count + r) * inner + row % inner"
GROUPS = "row * count + r"
CHANNELS = "(r / inner * gridDim.x + row) * inner + r % inner"


class Value:
    """kind: `element`, `row`, `index` (of a row) or `number`. text: C. shape: of the tensor that it stands for."""

    def __init__(self, kind, text, shape):
        self.kind, self.text, self.shape = kind, text, tuple(shape)


class Rows:
    """The kernel of recorded calls. Raises Unknown where they are not of this kind.

    leaves: tensor -> (name, its axes, their sizes) for inputs of the problem and views of a whole one, else None.
    """

    def __init__(self, calls, leaves):
        self.leaves = leaves
        self.values, self.steps, self.used = {}, [], []
        self.shape = self.dims = None  # of the tensor whose rows these are, and the axes that a row has
        self.names = self.given = None  # of the axes that the problem gives it, and their sizes
        self.address = None  # of element r of a row
        self.sizes = None  # as factors: rows, elements of a row, and how far apart these are
        for call in calls:
            try:
                self._take(call)
            except Unknown:
                self.values[call.key] = None  # it may be of no account for the result

    def value(self, argument):
        if not hasattr(argument, "tensor"):
            return Value("number", number(argument), ())
        if argument.key in self.values:
            if self.values[argument.key] is None:
                raise Unknown
            return self.values[argument.key]
        return self._leaf(argument.tensor)

    # ---- tensors of the problem

    def _leaf(self, tensor):
        found = self.leaves(tensor)
        if found is None or not tensor.is_contiguous():
            raise Unknown
        name, axes, given = found
        if self.shape is None:
            self.shape, self.names, self.given = tuple(tensor.shape), list(axes), given
        if tuple(tensor.shape) == self.shape:
            text = "real(%s[i])" % name
            kind = "element"
        elif self.dims and tuple(tensor.shape) == tuple(self.shape[d] for d in self.dims) \
                and self.dims[-1] == len(self.shape) - 1:
            text, kind = "real(%s[r])" % name, "element"
        elif tensor.numel() == 1:
            text, kind = "real(%s[0])" % name, "row"
        else:
            raise Unknown
        if name not in self.used:
            self.used.append(name)
        return Value(kind, text, tensor.shape)

    # ---- calls

    def _take(self, call):
        name = call.name if call.name in SAME_ELEMENTS else call.name.rstrip("_")
        if name in SAME_ELEMENTS and call.args[0].key not in self.values and self.leaves(call.result):
            return  # another view of a tensor of the problem
        if name in ("max", "min") and len(call.args) > 1 and hasattr(call.args[1], "tensor"):
            name = {"max": "maximum", "min": "minimum"}[name]
        for table, take in ((SAME_ELEMENTS, self._same), (UNARY, self._unary), (BINARY, self._binary),
                            (PLAIN, self._reduced), (CHOSEN, self._chosen), (SPECIAL, self._special)):
            if name in table:
                self.values[call.key] = take(name, call)
                return
        raise Unknown

    def _same(self, name, call):
        value = self.value(call.args[0])
        if value.kind == "element" and call.result.numel() != call.args[0].tensor.numel():
            raise Unknown
        return Value(value.kind, value.text, call.result.shape)

    def _unary(self, name, call):
        if any(hasattr(argument, "tensor") for argument in call.args[1:]):
            raise Unknown
        value = self.value(call.args[0])
        return Value(value.kind, UNARY[name](value.text, *call.args[1:], **call.kwargs), call.result.shape)

    def _binary(self, name, call):
        a, b = self.value(call.args[0]), self.value(call.args[1])
        kinds = {a.kind, b.kind} - {"number"}
        if "index" in kinds:
            raise Unknown
        if kinds == {"element", "row"}:
            self._check_broadcast(a if a.kind == "row" else b, call.result.shape)
        kind = "element" if "element" in kinds else "row"
        return Value(kind, BINARY[name](a.text, b.text, *call.args[2:], **call.kwargs), call.result.shape)

    def _check_broadcast(self, row, shape):
        """A row's value goes with that row alone: its axes are those of the result, of size 1 where they were reduced."""
        if all(size == 1 for size in row.shape):
            return
        kept = tuple(1 if d in self.dims else size for d, size in enumerate(self.shape))
        if (1,) * (len(shape) - len(row.shape)) + row.shape != kept or tuple(shape) != self.shape:
            raise Unknown

    # ---- reductions

    def _row_of(self, call, dims):
        """The element that is reduced, after a look at which axes are."""
        element = self.value(call.args[0])
        if element.kind != "element" or call.args[0].tensor.numel() != _count(self.shape):
            raise Unknown
        rank = call.args[0].tensor.dim()
        dims = sorted(d % rank for d in dims) if dims else list(range(rank))
        if tuple(call.args[0].tensor.shape) != self.shape or self.shape != self.given or dims != list(range(dims[0], dims[-1] + 1)):
            raise Unknown
        if self.dims not in (None, dims):
            raise Unknown
        self.dims = dims
        self.address = CONSECUTIVE
        outer, inner = self.names[:dims[0]], self.names[dims[-1] + 1:]
        self.sizes = outer + inner, self.names[dims[0]:dims[-1] + 1], inner
        return element

    def normalised_rows(self, call, address, sizes):
        """The element of a tensor of the problem that is normalised in rows of another kind."""
        element = self.value(call.args[0])
        if element.kind != "element" or self.steps:
            raise Unknown
        self.address, self.sizes, self.dims = address, sizes, []
        return element.text

    def weight(self, argument, index, count):
        """One of `count` weights; None where there are none."""
        if argument is None:
            return None
        found = self.leaves(argument.tensor)
        if found is None or argument.tensor.numel() != count:
            raise Unknown
        if found[0] not in self.used:
            self.used.append(found[0])
        return "real(%s[%s])" % (found[0], index)

    def _reduced(self, name, call):
        dims = [] if len(call.args) < 2 or call.args[1] is None else call.args[1]
        if call.kwargs.get("dtype") is not None or any(a is not None and not isinstance(a, bool) for a in call.args[3:]):
            raise Unknown
        element = self._row_of(call, dims if isinstance(dims, (list, tuple)) else [dims])
        row = self.reduce(PLAIN[name], element.text)
        text = "(%s / real(count))" % row if name == "mean" else row
        return Value("row", text, call.result.shape)

    def _chosen(self, name, call):
        if len(call.args) < 2 or call.args[1] is None:
            raise Unknown
        element = self._row_of(call, [call.args[1]])
        row = "row_%d" % len(self.steps)
        self.steps.append(("chosen", row, element.text, CHOSEN[name]))
        return Value("index", row, call.result.shape)

    def _special(self, name, call):
        return SPECIAL[name](self, call)

    def results_of(self, value):
        """How many results the kernel writes for a value."""
        return _count(self.shape) // (1 if value.kind == "element" else _count(self.shape[d] for d in self.dims))

    def reduce(self, how, text):
        """A row's value from its elements: its name as a real."""
        row = "row_%d" % len(self.steps)
        self.steps.append(("plain", row, text, how))
        return "real(%s)" % row


def _count(shape):
    product = 1
    for size in shape:
        product *= size
    return product


def _softmax(rows, call, logarithm=False):
    element = rows._row_of(call, [call.args[1]]).text
    moved = "(%s - %s)" % (element, rows.reduce(LARGEST, element))
    total = rows.reduce(SUM, "exp(%s)" % moved)
    text = "(%s - log(%s))" % (moved, total) if logarithm else "(exp(%s) / %s)" % (moved, total)
    return Value("element", text, call.result.shape)


def _normalised(rows, element, epsilon):
    mean = "(%s / real(count))" % rows.reduce(SUM, element)
    moved = "(%s - %s)" % (element, mean)
    variance = "(%s / real(count))" % rows.reduce(SUM, "%s * %s" % (moved, moved))
    return "(%s / sqrt(%s + %s))" % (moved, variance, number(epsilon))


def _layer_norm(rows, call):
    _, sizes, weight, bias, epsilon = call.args
    element = rows._row_of(call, list(range(-len(sizes), 0))).text
    count = _count(sizes)
    weights = [rows.weight(tensor, "r", count) for tensor in (weight, bias)]
    return Value("element", _scaled_by(_normalised(rows, element, epsilon), *weights), call.result.shape)


def _scaled_by(text, weight, bias):
    text = "%s * %s" % (text, weight) if weight else text
    return "(%s + %s)" % (text, bias) if bias else text


def _batch_norm(rows, call):
    """Of channels, or of each channel of each sample where these became one axis (instance normalisation)."""
    tensor, weight, bias, mean, variance, training, _, epsilon = call.args
    shape = tensor.tensor.shape
    rows.value(tensor)
    if len(shape) < 2:
        raise Unknown
    names, given = rows.names, rows.given
    if (1, given[0] * given[1]) + given[2:] == tuple(shape) and given[0] > 1:
        element = rows.normalised_rows(call, CONSECUTIVE, (names[:2], names[2:], []))
        if weight is not None or bias is not None:
            raise Unknown
    else:
        if given != tuple(shape):
            raise Unknown
        element = rows.normalised_rows(call, CHANNELS, (names[1:2], names[:1] + names[2:], names[2:]))
    weights = [rows.weight(argument, "row", shape[1]) for argument in (weight, bias)]
    if training:
        text = _normalised(rows, element, epsilon)
    else:
        text = "((%s - %s) / sqrt(%s + %s))" % (element, rows.weight(mean, "row", shape[1]),
                                                rows.weight(variance, "row", shape[1]), number(epsilon))
    return Value("element", _scaled_by(text, *weights), call.result.shape)


def _group_norm(rows, call):
    tensor, weight, bias, _, channels, _, groups, epsilon = call.args
    rows.value(tensor)
    names = rows.names
    if rows.given != tuple(tensor.tensor.shape):
        raise Unknown
    of_group = "(%s / %d)" % (names[1], groups)
    element = rows.normalised_rows(call, GROUPS, (names[:1] + [str(groups)], [of_group] + names[2:], names[2:]))
    index = "row %% %d * (count / inner) + r / inner" % groups
    weights = [rows.weight(argument, index, channels) for argument in (weight, bias)]
    return Value("element", _scaled_by(_normalised(rows, element, epsilon), *weights), call.result.shape)


def _vector_norm(rows, call):
    order = call.args[1] if len(call.args) > 1 else 2
    dims = call.args[2] if len(call.args) > 2 and call.args[2] is not None else []
    element = rows._row_of(call, dims if isinstance(dims, (list, tuple)) else [dims]).text
    if order == 1:
        return Value("row", rows.reduce(SUM, "fabs(%s)" % element), call.result.shape)
    if order not in (2, None):
        raise Unknown
    return Value("row", "sqrt(%s)" % rows.reduce(SUM, "%s * %s" % (element, element)), call.result.shape)


def _logsumexp(rows, call):
    dims = call.args[1]
    element = rows._row_of(call, dims if isinstance(dims, (list, tuple)) else [dims]).text
    largest = rows.reduce(LARGEST, element)
    total = rows.reduce(SUM, "exp(%s - %s)" % (element, largest))
    return Value("row", "(%s + log(%s))" % (largest, total), call.result.shape)


SPECIAL = {
    "_softmax": _softmax, "_log_softmax": lambda rows, call: _softmax(rows, call, True),
    "native_layer_norm": _layer_norm, "native_batch_norm": _batch_norm, "native_group_norm": _group_norm,
    "linalg_vector_norm": _vector_norm, "norm": _vector_norm, "logsumexp": _logsumexp,
}
