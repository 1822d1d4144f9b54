"""A plain kernel for modules of simple operators: right, and easy to read; a search makes it fast."""

import json

import torch

from ..buffers import storage
from ..modes import Mode
from ..precision import operator_name
from .elementwise import Unknown
from .product import Product
from .rows import Rows

# What kernels call their own variables and functions.
OWN_NAMES = {"first", "count", "inner", "rows", "columns", "row", "column", "matrix", "sum", "results", "element", "real",
             "pointwise", "product", "shared", "i", "j", "k", "r", "left_tile", "right_tile", "first_row", "first_column",
             "across", "down", "begin", "part", "sums", "left", "right"}
CTYPES = {"float32": "float", "float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16",
          "int64": "long long"}
HEADERS = {"float16": "cuda_fp16.h", "bfloat16": "cuda_bf16.h"}


class Argument:
    """A tensor that a call takes."""

    def __init__(self, tensor):
        self.tensor, self.key = tensor, id(tensor)


class Call:
    """One operator call."""

    def __init__(self, name, args, kwargs, result):
        self.name, self.result, self.key = name, result, id(result)
        self.args = [Argument(part) if isinstance(part, torch.Tensor) else part for part in args]
        self.kwargs = {key: part for key, part in kwargs.items() if part is not None}


class _Recorder(Mode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        first = result[0] if isinstance(result, (list, tuple)) and result else result
        if isinstance(first, torch.Tensor):
            self.calls.append(Call(operator_name(function), args, kwargs or {}, first))
        return result


def written(instance, problem):
    """The text of a .cu file, or None where the operators are not simple.

    instance: the file at sizes that differ from each other, so that an axis is not taken for another.
    problem: problem.json of the file, whose inputs and outputs are the kernel's arguments.
    """
    definition = problem["definition"]
    outputs = list(definition["outputs"].items())
    dtypes = {tensor["dtype"] for tensor in definition["inputs"].values()}
    if len(outputs) != 1 or len(dtypes) != 1 or not dtypes <= set(CTYPES) - {"int64"}:
        return None
    if outputs[0][1]["dtype"] not in dtypes | {"int64"}:
        return None
    if OWN_NAMES & (set(definition["inputs"]) | set(definition["outputs"])):
        return None
    calls, leaves, result = _recorded(instance, definition)
    for emit in (_product_file, _rows_file):
        try:
            return emit(calls, leaves, result, definition)
        except Unknown:
            continue
    return None


def _recorded(instance, definition):
    """(calls, leaves, result): leaves says which input of the problem a tensor is."""
    inputs = instance.inputs(1)
    recorder, outputs = _Recorder(), []
    with recorder:
        outputs.extend(output for output in instance.run(inputs) if output is not None)
    tensors = dict(instance.weights, **inputs)
    places = {storage(tensors[name]): (name, entry["shape"], tuple(tensors[name].shape)) for name, entry in definition["inputs"].items()
              if isinstance(tensors.get(name), torch.Tensor) and entry["shape"] is not None}
    counts = {storage(value): value.numel() for value in tensors.values() if isinstance(value, torch.Tensor)}

    def leaves(tensor):
        place = storage(tensor)
        return places.get(place) if tensor.numel() == counts.get(place) else None

    recorder.kept = inputs  # their memory stays theirs while calls are looked at
    return recorder.calls, leaves, outputs[0]


def _size(axes):
    return " * ".join(axes) or "1"


def _plan(kernel, grid, block, arguments, tunables, constraints=()):
    launch = {"kernel": kernel, "grid": grid, "block": block, "args": arguments}
    limits = '  "constraints": %s,\n' % json.dumps(constraints) if constraints else ""
    return '{\n  "tunables": %s,\n%s  "launches": [%s]\n}' % (json.dumps(tunables), limits, json.dumps(launch))


def _file(plan, dtypes, comment, constants, body):
    headers = "".join("#include <%s>\n" % HEADERS[dtype] for dtype in sorted(dtypes) if dtype in HEADERS)
    real = "double" if "float64" in dtypes else "float"
    return ("/* alphakernel\n%s\n*/\n// %s\n%s#ifndef ALPHAKERNEL  // defaults for a plain nvcc -c\n%s\n#endif\n\n"
            "using real = %s;\n\n%s" % (plan, comment, headers, constants, real, body))


def _parameters(names, definition):
    return ", ".join("const %s* %s" % (CTYPES[definition["inputs"][name]["dtype"]], name) for name in names)


def _stored(text, dtype):
    return text if dtype == "int64" else "static_cast<%s>(%s)" % (CTYPES[dtype], text)


BLOCKS = {"BLOCK": {"values": [128, 256, 512, 1024], "default": 256}}


def _calls_behind(result, calls):
    """Those that the result comes from: copies that a module keeps of its buffers are none of the kernel's work."""
    wanted, behind = {id(result)}, []
    for call in reversed(calls):
        if call.key in wanted:
            wanted.update(part.key for part in call.args if isinstance(part, Argument))
            behind.append(call)
    return behind[::-1]


def _rows_file(calls, leaves, result, definition):
    rows = Rows(_calls_behind(result, calls), leaves)
    value = rows.values.get(id(result))
    if value is None or not rows.used or not rows.steps and value.kind != "element":
        raise Unknown
    if result.numel() != rows.results_of(value) or not result.is_contiguous():
        raise Unknown
    return (_reducing if rows.address else _pointwise)(rows, value, definition)


GROUP = """/// Neighbouring elements, which are loaded and stored together.
template <class T>
struct alignas(sizeof(T) * VALUES) Group {
  T at[VALUES];
};

template <class T>
__device__ Group<T> group_at(const T* first) {
  return *reinterpret_cast<const Group<T>*>(first);
}

"""


def _pointwise(rows, value, definition):
    (name, output), dtypes = next(iter(definition["outputs"].items())), _dtypes(definition)
    parameters, result = _parameters(rows.used, definition), CTYPES[output["dtype"]]
    body = GROUP + """__device__ %s element(%s, long long i) {
  return %s;
}

__global__ void pointwise(%s, %s* %s, long long count) {
  const long long first = (static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x) * VALUES;
  if (first + VALUES > count) {
    for (long long i = first; i < count; ++i) %s[i] = element(%s, i);
    return;
  }
%s  Group<%s> results;
#pragma unroll
  for (int j = 0; j < VALUES; ++j) results.at[j] = element(%s, j);
  *reinterpret_cast<Group<%s>*>(%s + first) = results;
}
""" % (result, parameters, _stored(value.text, output["dtype"]), parameters, result, name, name, ", ".join(rows.used),
       "".join("  const auto {0}_group = group_at({0} + first);\n".format(used) for used in rows.used), result,
       ", ".join("%s_group.at" % used for used in rows.used), result, name)
    count = _size(rows.names)
    plan = _plan("pointwise", ["ceil_div(%s, BLOCK * VALUES)" % count], ["BLOCK"], rows.used + [name, {"i64": count}],
                 dict(BLOCKS, VALUES={"values": [1, 2, 4, 8], "default": 4}))
    return _file(plan, dtypes, "One thread for VALUES neighbouring elements.",
                 "constexpr int BLOCK = 256;\nconstexpr int VALUES = 4;", body)


def _dtypes(definition):
    return {tensor["dtype"] for tensor in list(definition["inputs"].values()) + list(definition["outputs"].values())}


OVER_BLOCK = """/// What the values of all threads come to.
template <class T, class Combine>
__device__ T over_block(T value, Combine combine) {
  __shared__ T shared[BLOCK];
  __syncthreads();
  shared[threadIdx.x] = value;
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
  }
  __syncthreads();
  return shared[0];
}

"""
PICK = """struct Pick {
  double value;
  long long at;  // -1: none
};

"""


def _loop(address, body):
    return ("  for (long long r = threadIdx.x; r < count; r += BLOCK) {\n"
            "    const long long i = %s;\n    %s\n  }\n" % (address, body))


def _step(step, address):
    kind, row, text, how = step
    if kind == "plain":
        start, combine = how
        together = "[](double a, double b) { return %s; }" % combine
        return ("  const auto combine_{0} = {1};\n  double part_{0} = {2};\n{3}"
                "  const double {0} = over_block(part_{0}, combine_{0});\n").format(
                    row, together, start,
                    _loop(address, "part_{0} = combine_{0}(part_{0}, static_cast<double>({1}));".format(row, text)))
    # Of equal values the first counts.
    better = "(a.at < 0 || (b.at >= 0 && (b.value %s a.value || (b.value == a.value && b.at < a.at)))) ? b : a" % how
    return ("  const auto combine_{0} = [](Pick a, Pick b) {{ return {1}; }};\n  Pick part_{0}{{0.0, -1}};\n{2}"
            "  const long long {0} = over_block(part_{0}, combine_{0}).at;\n").format(
                row, better,
                _loop(address, "part_{0} = combine_{0}(part_{0}, Pick{{static_cast<double>({1}), r}});".format(row, text)))


def _reducing(rows, value, definition):
    (name, output), dtypes = next(iter(definition["outputs"].items())), _dtypes(definition)
    grid, count, inner = (_size(part) for part in rows.sizes)
    body = "".join(_step(step, rows.address) for step in rows.steps)
    stored = _stored(value.text, output["dtype"])
    body += _loop(rows.address, "%s[i] = %s;" % (name, stored)) if value.kind == "element" else \
        "  if (threadIdx.x == 0) %s[row] = %s;\n" % (name, stored)
    body = "%s%s__global__ void rows(%s, %s* %s, long long count, long long inner) {\n" \
           "  const long long row = blockIdx.x;\n%s}\n" % (
               PICK if any(step[0] == "chosen" for step in rows.steps) else "", OVER_BLOCK if rows.steps else "",
               _parameters(rows.used, definition), CTYPES[output["dtype"]], name, body)
    plan = _plan("rows", [grid], ["BLOCK"],
                 rows.used + [name, {"i64": count}, {"i64": inner}], BLOCKS)
    what = "One block for each row of what is reduced together; sums are kept in double." if rows.steps else \
        "One block for each row of elements with the same weights."
    return _file(plan, dtypes, what,
                 "constexpr int BLOCK = 256;", body)


PRODUCT = """constexpr int SIDE = TILE / EACH;  // threads along a side of the block's tile

/// A block computes a tile of TILE x TILE results, a thread EACH x EACH of them. Of both factors STEPS steps of the sum lie
/// in shared memory at a time; their products are summed in `real`, and these sums in double.
__global__ void product(%(parameters)s, %(result_type)s* %(result)s, long long rows, long long inner, long long columns) {
  __shared__ real left_tile[STEPS][TILE + 1], right_tile[STEPS][TILE + 1];
  const long long first_row = static_cast<long long>(blockIdx.x) * TILE;
  const long long first_column = static_cast<long long>(blockIdx.y) * TILE, matrix = blockIdx.z;
  const int across = threadIdx.x %% SIDE, down = threadIdx.x / SIDE;
  double sums[EACH][EACH] = {};
  for (long long begin = 0; begin < inner; begin += STEPS) {
    for (int i = threadIdx.x; i < TILE * STEPS; i += SIDE * SIDE) {
      const int r = %(a_row)s, j = %(a_step)s;  // neighbouring threads load neighbouring elements
      const long long row = first_row + r, k = begin + j;
      left_tile[j][r] = row < rows && k < inner ? real(%(a)s[matrix * rows * inner + %(a_index)s]) : real(0);
    }
    for (int i = threadIdx.x; i < TILE * STEPS; i += SIDE * SIDE) {
      const int r = %(b_column)s, j = %(b_step)s;
      const long long column = first_column + r, k = begin + j;
      right_tile[j][r] = k < inner && column < columns ? real(%(b)s[matrix * inner * columns + %(b_index)s]) : real(0);
    }
    __syncthreads();
    real part[EACH][EACH] = {};
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
      real left[EACH], right[EACH];
      for (int i = 0; i < EACH; ++i) left[i] = left_tile[k][down + SIDE * i];
      for (int j = 0; j < EACH; ++j) right[j] = right_tile[k][across + SIDE * j];
      for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) part[i][j] += left[i] * right[j];
    }
    for (int i = 0; i < EACH; ++i)
      for (int j = 0; j < EACH; ++j) sums[i][j] += part[i][j];
    __syncthreads();
  }
  for (int i = 0; i < EACH; ++i) {
    for (int j = 0; j < EACH; ++j) {
      const long long row = first_row + down + SIDE * i, column = first_column + across + SIDE * j;
      if (row < rows && column < columns) %(result)s[(matrix * rows + row) * columns + column] = %(value)s;
    }
  }
}
"""
# A tile's threads fill a warp at least and a block at most; sizes were chosen for occupancy, and a search finds better ones.
PRODUCT_TUNABLES = {"TILE": {"values": [32, 64, 128], "default": 64}, "EACH": {"values": [2, 4, 8], "default": 4},
                    "STEPS": {"values": [8, 16, 32], "default": 16}}
PRODUCT_THREADS = "(TILE // EACH) * (TILE // EACH)"


def _loaded(transposed, along_rows):
    """(place along the tile's side, step of the sum) of element i of a tile, in the order in which a factor is stored."""
    side_first, step_first = ("i % TILE", "i / TILE"), ("i / STEPS", "i % STEPS")
    return side_first if transposed == along_rows else step_first


def _product_file(calls, leaves, result, definition):
    product = Product(calls, leaves)
    (name, output), dtypes = next(iter(definition["outputs"].items())), _dtypes(definition)
    a, b = product.a, product.b
    rows, inner, columns, batch = _product_sizes(product)
    a_row, a_step = _loaded(a.transposed, along_rows=True)
    b_column, b_step = _loaded(b.transposed, along_rows=False)
    body = PRODUCT % {
        "parameters": _parameters(product.used(), definition), "result_type": CTYPES[output["dtype"]], "result": name,
        "a": a.name, "a_row": a_row, "a_step": a_step, "a_index": a.index("row", "inner", "k", "rows"),
        "b": b.name, "b_column": b_column, "b_step": b_step, "b_index": b.index("k", "columns", "column", "inner"),
        "value": _stored("real(sums[i][j])" + (" + real(%s[column])" % product.bias if product.bias else ""),
                         output["dtype"])}
    plan = _plan("product", ["ceil_div(%s, TILE)" % rows, "ceil_div(%s, TILE)" % columns, batch], [PRODUCT_THREADS],
                 product.used() + [name, {"i64": rows}, {"i64": inner}, {"i64": columns}], PRODUCT_TUNABLES,
                 ["32 <= %s <= 1024" % PRODUCT_THREADS])
    return _file(plan, dtypes, "Tiles of both factors go through shared memory.",
                 "constexpr int TILE = 64, EACH = 4, STEPS = 16;", body)


def _product_sizes(product):
    """Formulas for rows, inner size, columns and batch, from the axes of both factors."""
    a, b = product.a, product.b
    if a.batch == 1 and b.batch == 1:
        rows = _size(a.axes[1:] if a.transposed else a.axes[:-1])
        inner = _size(a.axes[:1] if a.transposed else a.axes[-1:])
        columns = _size(b.axes[:-1] if b.transposed else b.axes[-1:])
        return rows, inner, columns, "1"
    if len(a.axes) < 3 or len(b.axes) < 3:
        raise Unknown
    rows, inner = (a.axes[-1], a.axes[-2]) if a.transposed else (a.axes[-2], a.axes[-1])
    return rows, inner, b.axes[-2] if b.transposed else b.axes[-1], _size(a.axes[:-2])
