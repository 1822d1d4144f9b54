// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/emit/stand_alone_commands.h"
#include "codegen/export/export_parts.h"
#include "core/text/json.h"

namespace ak::codegen {
namespace {

/// Where the operator finds the size of an axis.
struct AxisSource {
  std::string tensor;  ///< an input; empty: the caller gives it as a number
  std::size_t dimension = 0;
};

std::string_view scalar_type(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return "at::kDouble";
    case DType::float32:
      return "at::kFloat";
    case DType::float16:
      return "at::kHalf";
    case DType::bfloat16:
      return "at::kBFloat16";
    case DType::float8_e4m3fn:
      return "at::kFloat8_e4m3fn";
    case DType::float8_e5m2:
      return "at::kFloat8_e5m2";
    case DType::int64:
      return "at::kLong";
    case DType::int32:
      return "at::kInt";
    case DType::int16:
      return "at::kShort";
    case DType::int8:
      return "at::kChar";
    case DType::boolean:
      return "at::kBool";
  }
  return "";
}

class TorchWriter {
 public:
  explicit TorchWriter(const ExportSubject& subject) : subject_(subject) {
    for (const Axis* axis : subject.axes) sources_[axis->name] = source_of(axis->name);
    for (const ExportedTensor& tensor : subject.tensors)
      (tensor.input ? inputs_ : outputs_).push_back(&tensor);
  }

  [[nodiscard]] std::string source() const {
    return fmt::format(
        R"TEXT(// PyTorch operators of {0}: README.md says how they are built and called.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <Python.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include "../{0}.h"

namespace {{

{1}
{2}
{3}
{4}
{5}
}}  // namespace

TORCH_LIBRARY_FRAGMENT(alphakernel, m) {{
  m.def("{0}({6}) -> {7}");
  m.def("{0}_out({8}) -> ()");
}}
TORCH_LIBRARY_IMPL(alphakernel, CUDA, m) {{
  m.impl("{0}", &compute);
  m.impl("{0}_out", &compute_out);
}}
TORCH_LIBRARY_IMPL(alphakernel, Meta, m) {{ m.impl("{0}", &compute_shapes); }}

// Importing the module registers the operators; it holds nothing else.
PyMODINIT_FUNC PyInit__C() {{
  static PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr}};
  return PyModule_Create(&definition);
}}
)TEXT",
        subject_.name, shape_function(), allocation_function(), launch_function(), compute_function(),
        meta_function(), schema(false), schema_result(), schema(true));
  }

 private:
  [[nodiscard]] AxisSource source_of(const std::string& axis) const {
    for (const ExportedTensor& tensor : subject_.tensors) {
      if (!tensor.input) continue;
      const auto& shape = *tensor.spec->shape;
      const auto found = std::ranges::find(shape, axis);
      if (found != shape.end()) return {tensor.name, static_cast<std::size_t>(found - shape.begin())};
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> given_axes() const {
    std::vector<std::string> names;
    for (const Axis* axis : subject_.axes)
      if (sources_.at(axis->name).tensor.empty()) names.push_back(axis->name);
    return names;
  }

  [[nodiscard]] bool written(const ExportedTensor& input) const {
    return std::ranges::any_of(outputs_, [&](const ExportedTensor* out) { return out->alias == input.name; });
  }

  [[nodiscard]] std::string schema(bool out) const {
    std::vector<std::string> list;
    char mark = 'a';
    for (const ExportedTensor* tensor : inputs_)
      list.push_back(out && written(*tensor) ? fmt::format("Tensor({}!) {}", mark++, tensor->name)
                                             : fmt::format("Tensor {}", tensor->name));
    for (const ExportedTensor* tensor : outputs_)
      if (out && tensor->alias.empty()) list.push_back(fmt::format("Tensor({}!) {}", mark++, tensor->name));
    for (const std::string& axis : given_axes()) list.push_back("int " + axis);
    return fmt::format("{}", fmt::join(list, ", "));
  }

  [[nodiscard]] std::string schema_result() const {
    if (outputs_.size() == 1) return "Tensor";
    return fmt::format("({})", fmt::join(std::vector<std::string>(outputs_.size(), "Tensor"), ", "));
  }

  [[nodiscard]] std::string result_type() const {
    if (outputs_.size() == 1) return "at::Tensor";
    return fmt::format("std::tuple<{}>",
                       fmt::join(std::vector<std::string>(outputs_.size(), "at::Tensor"), ", "));
  }

  /// "const at::Tensor& x, int64_t N"
  [[nodiscard]] std::string parameters(bool with_outputs, bool types) const {
    std::vector<std::string> list;
    for (const ExportedTensor* tensor : inputs_)
      list.push_back((types ? "const at::Tensor& " : "") + tensor->name);
    for (const ExportedTensor* tensor : outputs_)
      if (with_outputs && tensor->alias.empty())
        list.push_back((types ? "const at::Tensor& " : "") + tensor->name);
    for (const std::string& axis : given_axes()) list.push_back((types ? "int64_t " : "") + axis);
    return fmt::format("{}", fmt::join(list, ", "));
  }

  /// "{shape.M, 64}"
  [[nodiscard]] std::string sizes(const TensorSpec& tensor) const {
    std::vector<std::string> list;
    for (const std::string& axis : *tensor.shape) {
      const auto& axes = subject_.problem.definition.axes;
      const auto found = std::ranges::find(axes, axis, &Axis::name);
      list.push_back(found->value ? fmt::format("int64_t{{{}}}", *found->value) : "shape." + axis);
    }
    return fmt::format("{{{}}}", fmt::join(list, ", "));
  }

  [[nodiscard]] std::string tensor_check(const ExportedTensor& tensor) const {
    return fmt::format(
        "  TORCH_CHECK({0}.scalar_type() == {1}, \"{0} has to be of type {2}, is \", {0}.scalar_type());\n"
        "  TORCH_CHECK({0}.sizes() == at::IntArrayRef({3}), \"{0} has to be [{4}], is \", {0}.sizes());\n",
        tensor.name, scalar_type(tensor.spec->dtype), info(tensor.spec->dtype).name,
        fmt::format("std::vector<int64_t>{}", sizes(*tensor.spec)), fmt::join(*tensor.spec->shape, ", "));
  }

  /// Sizes from the first tensor that has them; every tensor is compared with them.
  [[nodiscard]] std::string shape_function() const {
    std::string text = fmt::format("{0}_shape shape_of({1}) {{\n  {0}_shape shape;\n", subject_.name,
                                   parameters(false, true));
    for (const ExportedTensor* tensor : inputs_)
      text += fmt::format(
          "  TORCH_CHECK({0}.dim() == {1}, \"{0} has to have {1} dimensions, has \", {0}.dim());\n",
          tensor->name, tensor->spec->shape->size());
    for (const Axis* axis : subject_.axes) {
      const AxisSource& source = sources_.at(axis->name);
      text += source.tensor.empty()
                  ? fmt::format("  shape.{0} = {0};\n", axis->name)
                  : fmt::format("  shape.{} = {}.size({});\n", axis->name, source.tensor, source.dimension);
    }
    for (const ExportedTensor* tensor : inputs_) text += tensor_check(*tensor);
    return text + "  return shape;\n}\n";
  }

  /// One function per output, which makes it.
  [[nodiscard]] std::string allocation_function() const {
    std::string text;
    for (const ExportedTensor* tensor : outputs_)
      text += fmt::format(
          "at::Tensor new_{0}([[maybe_unused]] const {1}_shape& shape, const at::Tensor& like) {{\n"
          "  return at::empty(std::vector<int64_t>{2}, like.options().dtype({3}));\n}}\n",
          tensor->name, subject_.name, sizes(*tensor->spec), scalar_type(tensor->spec->dtype));
    return text;
  }

  [[nodiscard]] std::string launch_function() const {
    std::vector<std::string> pointers;
    std::string checks, outputs;
    for (const ExportedTensor* tensor : subject_.parameters()) {
      pointers.push_back(tensor->name + ".data_ptr()");
      checks += fmt::format(
          "  TORCH_CHECK({0}.is_cuda() && {0}.device() == {1}.device(), \"{0} has to be on the device of "
          "{1}\");\n"
          "  TORCH_CHECK({0}.is_contiguous(), \"{0} has to be contiguous\");\n",
          tensor->name, inputs_.front()->name);
      if (!tensor->input) outputs += tensor_check(*tensor);
    }
    return fmt::format(R"(void compute_out({0}) {{
  const {1}_shape shape = shape_of({2});
{3}{4}  const c10::cuda::CUDAGuard guard({5}.device());
  const char* why = {1}_refusal(shape);
  TORCH_CHECK(why == nullptr, "{1} does not take this shape: ", why != nullptr ? why : "");
  const auto bytes = static_cast<int64_t>({1}_workspace_bytes(shape));
  const at::Tensor workspace = at::empty(std::vector<int64_t>{{bytes}}, {5}.options().dtype(at::kByte));
  const cudaError_t status = {1}_launch(shape, {6}, bytes > 0 ? workspace.data_ptr() : nullptr,
                                        static_cast<std::size_t>(bytes), at::cuda::getCurrentCUDAStream());
  TORCH_CHECK(status == cudaSuccess, "{1}: ", cudaGetErrorString(status));
}}
)",
                       parameters(true, true), subject_.name, parameters(false, false), checks, outputs,
                       inputs_.front()->name, fmt::join(pointers, ", "));
  }

  /// Inputs that the kernel overwrites are copied first; views are made contiguous.
  [[nodiscard]] std::string compute_function() const {
    std::string text =
        fmt::format("{} compute({}) {{\n  const {}_shape shape = shape_of({});\n", result_type(),
                    parameters(false, true), subject_.name, parameters(false, false));
    text += fmt::format("  const c10::cuda::CUDAGuard guard({}.device());\n", inputs_.front()->name);
    std::vector<std::string> arguments, results;
    for (const ExportedTensor* tensor : inputs_) {
      text += fmt::format("  const at::Tensor own_{0} = {1}({0});\n", tensor->name,
                          written(*tensor) ? "copied" : "readable");
      arguments.push_back("own_" + tensor->name);
    }
    for (const ExportedTensor* tensor : outputs_) {
      if (!tensor->alias.empty()) {
        results.push_back("own_" + tensor->alias);
        continue;
      }
      text +=
          fmt::format("  at::Tensor out_{0} = new_{0}(shape, {1});\n", tensor->name, inputs_.front()->name);
      arguments.push_back("out_" + tensor->name);
      results.push_back("out_" + tensor->name);
    }
    for (const std::string& axis : given_axes()) arguments.push_back(axis);
    return std::string(kReadable) + std::string(any_written() ? kCopied : "") + text +
           fmt::format(
               "  compute_out({});\n  return {};\n}}\n", fmt::join(arguments, ", "),
               results.size() == 1 ? results.front() : fmt::format("{{{}}}", fmt::join(results, ", ")));
  }

  [[nodiscard]] bool any_written() const {
    return std::ranges::any_of(inputs_, [&](const ExportedTensor* tensor) { return written(*tensor); });
  }

  [[nodiscard]] std::string meta_function() const {
    std::vector<std::string> results;
    for (const ExportedTensor* tensor : outputs_)
      results.push_back(fmt::format("new_{}(shape, {})", tensor->name, inputs_.front()->name));
    return fmt::format(
        "// For torch.compile and export: shapes and types alone.\n"
        "{} compute_shapes({}) {{\n  const {}_shape shape = shape_of({});\n  return {};\n}}\n",
        result_type(), parameters(false, true), subject_.name, parameters(false, false),
        results.size() == 1 ? results.front() : fmt::format("{{{}}}", fmt::join(results, ", ")));
  }

  static constexpr std::string_view kReadable =
      "// Views may be strided, or begin anywhere.\n"
      "at::Tensor readable(const at::Tensor& tensor) {\n"
      "  const at::Tensor dense = tensor.contiguous();\n"
      "  const bool aligned = reinterpret_cast<std::uintptr_t>(dense.data_ptr()) % 32 == 0;\n"
      "  return aligned ? dense : dense.clone();\n}\n";
  static constexpr std::string_view kCopied =
      "at::Tensor copied(const at::Tensor& tensor) { return tensor.clone(at::MemoryFormat::Contiguous); }\n";

  const ExportSubject& subject_;
  std::map<std::string, AxisSource> sources_;
  std::vector<const ExportedTensor*> inputs_, outputs_;
};

std::string target_flags(const ExportSubject& subject) {
  const std::string sm = subject.arch.sm().substr(3);
  std::vector<std::string> flags{"\"-O3\"", "\"-std=c++20\"",
                                 fmt::format("\"-gencode=arch=compute_{0},code=sm_{0}\"", sm)};
  // torch.utils.cpp_extension takes the arithmetic of small types away, which kernels use.
  for (const char* taken : {"HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS", "BFLOAT16_OPERATORS",
                            "BFLOAT16_CONVERSIONS", "BFLOAT162_OPERATORS"})
    flags.push_back(fmt::format("\"-U__CUDA_NO_{}__\"", taken));
  for (const std::string& option : subject.candidate.plan.options)
    flags.push_back(fmt::format("\"{}\"", nvcc_flag(option)));
  return fmt::format("[{}]", fmt::join(flags, ", "));
}

std::string setup_file(const ExportSubject& subject) {
  return fmt::format(R"(# Builds the operators torch.ops.alphakernel.{0} and {0}_out.
import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "{1}.{2}{3}")

setup(
    name="{0}",
    version="1.0",
    packages=["{0}"],
    ext_modules=[
        CUDAExtension(
            "{0}._C",
            ["{0}_torch.cpp", "{0}_cuda.cu"],
            extra_compile_args={{"cxx": ["-O2", "-std=c++20"], "nvcc": {4}}},
        )
    ],
    cmdclass={{"build_ext": BuildExtension}},
)
)",
                     subject.name, subject.arch.major, subject.arch.minor,
                     subject.arch.feature == 0 ? "" : std::string(1, subject.arch.feature),
                     target_flags(subject));
}

std::string package_file(const ExportSubject& subject) {
  return fmt::format(R"(import torch

from . import _C  # registers the operators

{0} = torch.ops.alphakernel.{0}
{0}_out = torch.ops.alphakernel.{0}_out
)",
                     subject.name);
}

constexpr const char* kProject =
    "[build-system]\nrequires = [\"setuptools\", \"torch\"]\nbuild-backend = \"setuptools.build_meta\"\n";

/// A text as a Python literal.
std::string python_text(const std::string& text) { return Json(text).dump(-1, ' ', true); }

std::string python_params(const Params& params) {
  std::vector<std::string> list;
  for (const auto& [name, value] : params)
    list.push_back(fmt::format("{}: {}", python_text(name),
                               std::holds_alternative<std::string>(value)
                                   ? python_text(std::get<std::string>(value))
                                   : to_string(value)));
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}

std::string check_file(const ExportSubject& subject) {
  std::string inputs, outputs, workloads, axes;
  for (const ExportedTensor& tensor : subject.tensors) {
    std::vector<std::string> shape;
    for (const std::string& axis : *tensor.spec->shape) shape.push_back(python_text(axis));
    (tensor.input ? inputs : outputs) += fmt::format(
        "    ({}, [{}], \"{}\"),\n", python_text(tensor.spec->name), fmt::join(shape, ", "),
        info(tensor.spec->dtype).name == std::string_view("boolean") ? "bool"
                                                                     : info(tensor.spec->dtype).name);
  }
  for (const Axis& axis : subject.problem.definition.axes)
    if (axis.value)
      axes += fmt::format("{}{}: {}", axes.empty() ? "" : ", ", python_text(axis.name), *axis.value);
  for (const Workload& workload : subject.problem.workloads)
    if (workload.tier != WorkloadTier::deep)
      workloads += fmt::format("    ({}, {}),\n", python_text(workload.name), Json(workload.axes).dump());
  // Twice the harness's bound: PyTorch's reference may sum in the element type itself.
  const double bound =
      2 * subject.problem.tolerance.factor * std::max(subject.problem.tolerance.floor_ulps, 2.0);
  return fmt::format(
      R"TEXT("""Builds the operators and compares them with the definition's reference on the problem's shapes.

    python3 check.py            # prints a line a shape; exit code 0: all agree

Nothing is downloaded. What is built lies in ./build.
"""
import inspect
import os
import sys

import torch
from torch.utils import cpp_extension

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "{0}"
PARAMS = {1}
CONSTANTS = {{{2}}}
INPUTS = [
{3}]
OUTPUTS = [
{4}]
WORKLOADS = [
{5}]
GIVEN_AXES = {6}
BOUND = {7:.9g}  # roundoffs of the output's type, relative to |expected| + rms(expected)
MOST_BYTES = 1 << 30  # larger shapes take minutes with the reference


def build():
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "{8}.{9}{10}")
    folder = os.path.join(HERE, "build")
    os.makedirs(folder, exist_ok=True)
    cpp_extension.load(
        name="_C", sources=[os.path.join(HERE, NAME + "_torch.cpp"), os.path.join(HERE, NAME + "_cuda.cu")],
        build_directory=folder, extra_cflags=["-O2", "-std=c++20"], extra_cuda_cflags={11}, is_python_module=False)


def draw(shape, dtype, generator):
    kind = getattr(torch, dtype)
    if kind.is_floating_point and any(not s for _, s, _ in OUTPUTS):  # a sum of signs cancels, and errors do not
        return torch.rand(shape, device="cuda", generator=generator).to(kind)
    if kind.is_floating_point:
        return torch.randn(shape, device="cuda", generator=generator).to(kind)
    if dtype == "bool":
        return torch.randint(0, 2, shape, device="cuda", generator=generator).to(kind)
    return torch.randint(-8, 9, shape, device="cuda", generator=generator).to(kind)


def reference():
    space = {{}}
    with open(os.path.join(HERE, "reference.py"), encoding="utf-8") as file:
        exec(compile(file.read(), "reference.py", "exec"), space)
    return space["run"]


def expected_of(run, inputs):
    accepted = inspect.signature(run).parameters
    # Where the default is None the name is that of a tensor, which is there or not.
    params = {{k: v for k, v in PARAMS.items() if k in accepted and k not in inputs and accepted[k].default is not None}}
    result = run(**inputs, **params)
    return list(result.values()) if isinstance(result, dict) else list(result) if isinstance(result, (list, tuple)) else [result]


def error_of(got, want):
    """Largest error, relative to |want| + rms(want), in roundoffs of the output's type."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    if not got.dtype.is_floating_point:
        return 0.0 if torch.equal(got, want) else float("inf")
    unit = torch.finfo(got.dtype).eps / 2
    got, want = got.double(), want.double()
    finite = torch.isfinite(want)
    if not torch.equal(torch.isfinite(got), finite):
        return float("inf")
    got, want = got[finite], want[finite]
    if want.numel() == 0:
        return 0.0
    rms = want.square().mean().sqrt()
    return ((got - want).abs() / (want.abs() + rms + 1e-300)).max().item() / unit


def sizes_of(shape, axes):
    return [CONSTANTS.get(name, axes.get(name)) for name in shape]


def bytes_of(tensors, axes):
    total = 0
    for _, shape, dtype in tensors:
        count = 1
        for size in sizes_of(shape, axes):
            count *= size
        total += 8 * count
    return total


def check(name, axes, run, operator):
    generator = torch.Generator(device="cuda").manual_seed(1)
    inputs = {{n: draw(sizes_of(s, axes), d, generator) for n, s, d in INPUTS}}
    kept = {{n: t.clone() for n, t in inputs.items()}}
    got = operator(*inputs.values(), *[axes[a] for a in GIVEN_AXES])
    got = list(got) if isinstance(got, (list, tuple)) else [got]
    unchanged = all(torch.equal(inputs[n].view(torch.uint8), kept[n].view(torch.uint8)) for n in inputs)
    want = expected_of(run, kept)
    worst = max(error_of(g, w.to(g.dtype)) for g, w in zip(got, want))
    good = unchanged and len(got) == len(want) and worst <= BOUND
    print(f"{{name:<28}} {{'ok' if good else 'MISMATCH'}} error={{worst:.2f}} roundoffs, bound {{BOUND:g}}"
          + ("" if unchanged else "; an input was changed"))
    return good


def main():
    build()
    operator = getattr(torch.ops.alphakernel, NAME)
    run = reference()
    good = True
    for name, axes in WORKLOADS:
        if bytes_of(INPUTS + OUTPUTS, axes) > MOST_BYTES:
            print(f"{{name:<28}} skipped: large")
            continue
        good = check(name, axes, run, operator) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
)TEXT",
      subject.name, python_params(subject.problem.params), axes, inputs, outputs, workloads,
      [&] {
        std::vector<std::string> given;
        for (const Axis* axis : subject.axes) {
          const bool found = std::ranges::any_of(subject.tensors, [&](const ExportedTensor& tensor) {
            return tensor.input &&
                   std::ranges::find(*tensor.spec->shape, axis->name) != tensor.spec->shape->end();
          });
          if (!found) given.push_back(python_text(axis->name));
        }
        return fmt::format("[{}]", fmt::join(given, ", "));
      }(),
      bound, subject.arch.major, subject.arch.minor,
      subject.arch.feature == 0 ? "" : std::string(1, subject.arch.feature), target_flags(subject));
}

}  // namespace

std::vector<ExportedFile> export_torch(const ExportSubject& subject) {
  return {{fmt::format("torch/{}_torch.cpp", subject.name), TorchWriter(subject).source()},
          {fmt::format("torch/{}_cuda.cu", subject.name),
           fmt::format("// The launch function, compiled with the operators.\n#include \"../{}_launch.cu\"\n",
                       subject.name)},
          {"torch/setup.py", setup_file(subject)},
          {"torch/pyproject.toml", kProject},
          {fmt::format("torch/{}/__init__.py", subject.name), package_file(subject)},
          {"torch/reference.py", subject.problem.definition.reference},
          {"torch/check.py", check_file(subject)}};
}

std::string plain_binding(const std::string& operators, const std::string& name) {
  std::string text = operators.substr(0, operators.find("TORCH_LIBRARY_FRAGMENT"));
  const std::string include = fmt::format("\"../{}.h\"", name);
  if (const std::size_t at = text.find(include); at != std::string::npos)
    text.replace(at, include.size(), fmt::format("\"{}.h\"", name));
  return "#include <torch/extension.h>\n\n" + text +
         fmt::format("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def(\"{}\", &compute_out); }}\n", name);
}

}  // namespace ak::codegen
