// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/emit/emit.h"
#include "codegen/emit/launch_text.h"
#include "codegen/emit/stand_alone_commands.h"
#include "codegen/export/export_parts.h"
#include "codegen/export/export_text.h"
#include "codegen/export/run_function.h"
#include "core/text/hash.h"
#include "core/text/json.h"

namespace ak::codegen {
namespace {

// What check.py compares in seconds; references that come with problems keep some copies of what they compute (chosen).
constexpr const char* kCheckBytes = "1 << 30";
constexpr const char* kPythonCheckBytes = "1 << 36";

// Of a hash, 32 bits: the exports that one process loads are few.
constexpr std::size_t kSpaceDigits = 8;

/// Where the operator finds the size of an axis.
struct AxisSource {
  std::string tensor;  ///< an input; empty: the caller gives it as a number
  std::size_t dimension = 0;
};

std::string_view torch_type(DType dtype) {
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
    case DType::uint32:
      return "at::kUInt32";
    case DType::uint8:
    case DType::int4x2:
    case DType::uint4x2:
      return "at::kByte";
    case DType::boolean:
      return "at::kBool";
  }
  return "";
}

/// Of a scalar by value, in an operator's schema and in C++.
std::string schema_type(DType dtype) {
  return dtype == DType::boolean ? "bool " : info(dtype).floating ? "float " : "int ";
}
std::string cpp_parameter(DType dtype) {
  return dtype == DType::boolean ? "bool " : info(dtype).floating ? "double " : "int64_t ";
}

class TorchWriter {
 public:
  explicit TorchWriter(const ExportSubject& subject) : subject_(subject) {
    for (const Axis* axis : subject.axes) sources_[axis->name] = source_of(axis->name);
    for (const ExportedTensor& tensor : subject.tensors)
      (tensor.input ? inputs_ : outputs_).push_back(&tensor);
    std::ranges::copy_if(inputs_, std::back_inserter(tensors_),
                         [](const ExportedTensor* input) { return !input->scalar(); });
  }

  [[nodiscard]] std::string source() const {
    return export_text("operators.cpp", {{"name", subject_.name},
                                         {"space", operator_space(subject_)},
                                         {"shape_function", shape_function()},
                                         {"allocation_function", allocation_function()},
                                         {"launch_function", prepare_function() + launch_function()},
                                         {"compute_function", compute_function()},
                                         {"meta_function", meta_function()},
                                         {"schema", schema(false)},
                                         {"schema_result", schema_result()},
                                         {"schema_out", schema(true)},
                                         {"prepared_schemas", prepared_schemas()},
                                         {"prepared_operators", prepared_operators()}});
  }

 private:
  [[nodiscard]] AxisSource source_of(const std::string& axis) const {
    for (const ExportedTensor& tensor : subject_.tensors) {
      if (!tensor.input || tensor.scalar()) continue;
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
      list.push_back(tensor->scalar()          ? schema_type(tensor->spec->dtype) + tensor->name
                     : out && written(*tensor) ? fmt::format("Tensor({}!) {}", mark++, tensor->name)
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
      list.push_back((!types             ? ""
                      : tensor->scalar() ? cpp_parameter(tensor->spec->dtype)
                                         : "const at::Tensor& ") +
                     tensor->name);
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
      list.push_back(found->value     ? fmt::format("int64_t{{{}}}", *found->value)
                     : found->derived ? fmt::format("{}_axis_{}(shape)", subject_.name, axis)
                                      : "shape." + axis);
    }
    return fmt::format("{{{}}}", fmt::join(list, ", "));
  }

  [[nodiscard]] std::string tensor_check(const ExportedTensor& tensor) const {
    return fmt::format(
        "  TORCH_CHECK({0}.scalar_type() == {1}, \"{0} has to be of type {2}, is \", {0}.scalar_type());\n"
        "  TORCH_CHECK({0}.sizes() == at::IntArrayRef({3}), \"{0} has to be [{4}], is \", {0}.sizes());\n",
        tensor.name, torch_type(tensor.spec->dtype), info(tensor.spec->dtype).name,
        fmt::format("std::vector<int64_t>{}", sizes(*tensor.spec)), fmt::join(*tensor.spec->shape, ", "));
  }

  /// Sizes from the first tensor that has them; every tensor is compared with them.
  [[nodiscard]] std::string shape_function() const {
    std::string text = fmt::format("{0}_shape shape_of({1}) {{\n  {0}_shape shape;\n", subject_.name,
                                   parameters(false, true));
    for (const ExportedTensor* tensor : tensors_)
      text += fmt::format(
          "  TORCH_CHECK({0}.dim() == {1}, \"{0} has to have {1} dimensions, has \", {0}.dim());\n",
          tensor->name, tensor->spec->shape->size());
    for (const Axis* axis : subject_.axes) {
      const AxisSource& source = sources_.at(axis->name);
      text += source.tensor.empty()
                  ? fmt::format("  shape.{0} = {0};\n", axis->name)
                  : fmt::format("  shape.{} = {}.size({});\n", axis->name, source.tensor, source.dimension);
    }
    for (const ExportedTensor* tensor : tensors_) text += tensor_check(*tensor);
    return text + "  return shape;\n}\n";
  }

  /// One function per output, which makes it.
  [[nodiscard]] std::string allocation_function() const {
    std::string text;
    for (const ExportedTensor* tensor : outputs_)
      text += fmt::format(
          "at::Tensor new_{0}([[maybe_unused]] const {1}_shape& shape, const at::Tensor& like) {{\n"
          "  return at::{4}(std::vector<int64_t>{2}, like.options().dtype({3}));\n}}\n",
          tensor->name, subject_.name, sizes(*tensor->spec), torch_type(tensor->spec->dtype),
          tensor->spec->zeroed ? "zeros" : "empty");
    return text;
  }

  [[nodiscard]] bool prepares() const { return !subject_.candidate.plan.prepare.empty(); }

  [[nodiscard]] std::string prepared_schemas() const {
    if (!prepares()) return "";
    return fmt::format(
        "  m.def(\"{0}_prepare({1}) -> Tensor\");\n  m.def(\"{0}_prepared_out(Tensor prepared, {2}) -> "
        "()\");\n",
        subject_.name, schema(false), schema(true));
  }
  [[nodiscard]] std::string prepared_operators() const {
    if (!prepares()) return "";
    return fmt::format(
        "  m.impl(\"{0}_prepare\", &prepare);\n  m.impl(\"{0}_prepared_out\", &compute_prepared_out);\n",
        subject_.name);
  }

  [[nodiscard]] std::string device_checks(const ExportedTensor& tensor) const {
    return fmt::format(
        "  TORCH_CHECK({0}.is_cuda() && {0}.device() == {1}.device(), \"{0} has to be on the device of "
        "{1}\");\n"
        "  TORCH_CHECK({0}.is_contiguous(), \"{0} has to be contiguous\");\n",
        tensor.name, tensors_.front()->name);
  }

  [[nodiscard]] std::string prepare_function() const {
    if (!prepares()) return "";
    std::vector<std::string> pointers;
    std::string checks;
    for (const ExportedTensor* weight : subject_.weights()) {
      pointers.push_back(weight->name + ".data_ptr()");
      checks += device_checks(*weight);
    }
    return export_text("operator_prepare.cpp", {{"name", subject_.name},
                                                {"axes", prepared_axes_text(subject_)},
                                                {"parameters", parameters(false, true)},
                                                {"arguments", parameters(false, false)},
                                                {"checks", checks},
                                                {"first_input", tensors_.front()->name},
                                                {"pointers", fmt::format("{}", fmt::join(pointers, ", "))}});
  }

  /// Where weights are prepared: the operator that prepares them itself, in every call.
  [[nodiscard]] std::string preparing_function() const {
    if (!prepares()) return "";
    return fmt::format("\nvoid compute_out({}) {{\n  compute_prepared_out(prepare({}), {});\n}}\n",
                       parameters(true, true), parameters(false, false), parameters(true, false));
  }

  [[nodiscard]] std::string prepared_check() const {
    if (!prepares()) return "";
    return fmt::format(
        "  TORCH_CHECK(prepared.is_cuda() && prepared.device() == {0}.device() && prepared.is_contiguous(),\n"
        "              \"prepared has to be what {1}_prepare() gave, on the device of {0}\");\n",
        tensors_.front()->name, subject_.name);
  }

  [[nodiscard]] std::string launch_function() const {
    std::vector<std::string> pointers;
    std::string checks, outputs;
    for (const ExportedTensor* tensor : subject_.parameters()) {
      if (tensor->scalar()) {
        pointers.push_back(fmt::format("static_cast<{}>({})",
                                       cpp_type(scalar_type(tensor->spec->dtype).value()), tensor->name));
        continue;
      }
      pointers.push_back(tensor->name + ".data_ptr()");
      checks += device_checks(*tensor);
      if (!tensor->input) outputs += tensor_check(*tensor);
    }
    return export_text(
               "operator_launch.cpp",
               {{"function", prepares() ? "compute_prepared_out" : "compute_out"},
                {"prepared_parameter", prepares() ? "const at::Tensor& prepared, " : ""},
                {"prepared_check", prepared_check()},
                {"prepared_arguments",
                 prepares() ? "prepared.data_ptr(), static_cast<std::size_t>(prepared.nbytes()), " : ""},
                {"parameters", parameters(true, true)},
                {"name", subject_.name},
                {"arguments", parameters(false, false)},
                {"checks", checks},
                {"output_checks", outputs},
                {"first_input", tensors_.front()->name},
                {"pointers", fmt::format("{}", fmt::join(pointers, ", "))}}) +
           preparing_function();
  }

  /// Inputs that the kernel overwrites are copied first; views are made contiguous.
  [[nodiscard]] std::string compute_function() const {
    std::string text =
        fmt::format("{} compute({}) {{\n  const {}_shape shape = shape_of({});\n", result_type(),
                    parameters(false, true), subject_.name, parameters(false, false));
    text += fmt::format("  const c10::cuda::CUDAGuard guard({}.device());\n", tensors_.front()->name);
    std::vector<std::string> arguments, results;
    for (const ExportedTensor* tensor : inputs_) {
      if (tensor->scalar()) {
        arguments.push_back(tensor->name);
        continue;
      }
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
          fmt::format("  at::Tensor out_{0} = new_{0}(shape, {1});\n", tensor->name, tensors_.front()->name);
      arguments.push_back("out_" + tensor->name);
      results.push_back("out_" + tensor->name);
    }
    for (const std::string& axis : given_axes()) arguments.push_back(axis);
    return export_text("operator_readable.cpp", {}) +
           (any_written() ? export_text("operator_copied.cpp", {}) : "") + text +
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
      results.push_back(fmt::format("new_{}(shape, {})", tensor->name, tensors_.front()->name));
    return fmt::format(
        "// For torch.compile and export: shapes and types alone.\n"
        "{} compute_shapes({}) {{\n  const {}_shape shape = shape_of({});\n  return {};\n}}\n",
        result_type(), parameters(false, true), subject_.name, parameters(false, false),
        results.size() == 1 ? results.front() : fmt::format("{{{}}}", fmt::join(results, ", ")));
  }

  const ExportSubject& subject_;
  std::map<std::string, AxisSource> sources_;
  std::vector<const ExportedTensor*> inputs_, outputs_;
  std::vector<const ExportedTensor*> tensors_;  ///< inputs that are no scalars
};

std::string setup_file(const ExportSubject& subject) {
  return export_text("setup.py", {{"name", subject.name},
                                  {"space", operator_space(subject)},
                                  {"arch_list", torch_arch(subject.arch)},
                                  {"nvcc_options", target_flags(subject)}});
}

std::string package_file(const ExportSubject& subject) {
  const std::string prepared = subject.candidate.plan.prepare.empty()
                                   ? ""
                                   : fmt::format(
                                         "{0}_prepare = torch.ops.{1}.{0}_prepare\n"
                                         "{0}_prepared_out = torch.ops.{1}.{0}_prepared_out\n",
                                         subject.name, operator_space(subject));
  return export_text("package.py",
                     {{"name", subject.name}, {"space", operator_space(subject)}, {"prepared", prepared}});
}

std::string python_params(const Params& params) {
  std::vector<std::string> list;
  for (const auto& [name, value] : params)
    list.push_back(fmt::format("{}: {}", python_text(name),
                               std::holds_alternative<std::string>(value)
                                   ? python_text(std::get<std::string>(value))
                                   : to_string(value)));
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}

/// Axes that no input has, as a Python list.
std::string given_axes_list(const ExportSubject& subject) {
  std::vector<std::string> given;
  for (const std::string& name : sizes_without_input(subject)) given.push_back(python_text(name));
  return fmt::format("[{}]", fmt::join(given, ", "));
}

std::string python_scalar(const TensorSpec& scalar) {
  if (scalar.dtype == DType::boolean) return scalar.values.front() != 0 ? "True" : "False";
  return info(scalar.dtype).floating ? fmt::format("{:.17g}", scalar.values.front())
                                     : fmt::format("{:.0f}", scalar.values.front());
}

/// With derived axes.
AxisValues all_sizes(const ExportSubject& subject, const Workload& workload) {
  AxisValues sizes = workload.axes;
  const Environment known = subject.problem.environment(workload.axes);
  for (const Axis* axis : subject.derived) sizes[axis->name] = std::get<std::int64_t>(known.at(axis->name));
  return sizes;
}

/// Of a Python file those at its own sizes, at which it draws its inputs.
std::vector<Workload> checked_shapes(const ExportSubject& subject) {
  std::vector<Workload> shapes;
  std::ranges::copy_if(subject.problem.workloads, std::back_inserter(shapes), [&](const Workload& workload) {
    return workload.tier != WorkloadTier::deep &&
           (!subject.problem.python || workload.has(WorkloadRole::time));
  });
  return shapes;
}

std::string check_file(const ExportSubject& subject) {
  std::string inputs, outputs, workloads, axes;
  for (const ExportedTensor& tensor : subject.tensors) {
    if (tensor.scalar()) {
      inputs +=
          fmt::format("    ({}, None, {}),\n", python_text(tensor.spec->name), python_scalar(*tensor.spec));
      continue;
    }
    std::vector<std::string> shape;
    for (const std::string& axis : *tensor.spec->shape) shape.push_back(python_text(axis));
    (tensor.input ? inputs : outputs) +=
        fmt::format("    ({}, [{}], \"{}\"),\n", python_text(tensor.spec->name), fmt::join(shape, ", "),
                    info(tensor.spec->dtype).name);
  }
  for (const Axis& axis : subject.problem.definition.axes)
    if (axis.value)
      axes += fmt::format("{}{}: {}", axes.empty() ? "" : ", ", python_text(axis.name), *axis.value);
  for (const Workload& workload : checked_shapes(subject))
    workloads +=
        fmt::format("    ({}, {}),\n", python_text(workload.name), Json(all_sizes(subject, workload)).dump());
  // Twice the harness's bound: PyTorch's reference may sum in the element type itself.
  const double bound =
      2 * subject.problem.tolerance.factor * std::max(subject.problem.tolerance.floor_ulps, 2.0);
  return export_text("check.py", {{"name", subject.name},
                                  {"space", operator_space(subject)},
                                  {"params", python_params(subject.problem.params)},
                                  {"constants", axes},
                                  {"inputs", inputs},
                                  {"outputs", outputs},
                                  {"workloads", workloads},
                                  {"given_axes", given_axes_list(subject)},
                                  {"prepares", subject.candidate.plan.prepare.empty() ? "False" : "True"},
                                  {"bound", fmt::format("{:.9g}", bound)},
                                  {"max_bytes", subject.problem.python ? kPythonCheckBytes : kCheckBytes},
                                  {"arch_list", torch_arch(subject.arch)},
                                  {"nvcc_options", target_flags(subject)}});
}

}  // namespace

std::string operator_space(const ExportSubject& subject) {
  if (subject.named) return subject.name;
  const std::string kernel = emit_kernel(subject.problem, subject.candidate) + subject.arch.sm();
  return "alphakernel_" + sha256_hex(kernel).substr(0, kSpaceDigits);
}

std::vector<ExportedFile> export_torch(const ExportSubject& subject) {
  return {{fmt::format("torch/{}_torch.cpp", subject.name), TorchWriter(subject).source()},
          {fmt::format("torch/{}_cuda.cu", subject.name),
           export_text("launcher_unit.cu", {{"name", subject.name}})},
          {"torch/setup.py", setup_file(subject)},
          {"torch/pyproject.toml", export_text("pyproject.toml", {})},
          {fmt::format("torch/{}/__init__.py", subject.name), package_file(subject)},
          {"torch/reference.py", reference_with_run(subject.problem)},
          {"torch/check.py", check_file(subject)}};
}

/// The functions of the operators, of which the module has one.
static std::string bound(const std::string& operators, const std::string& name, std::string_view function) {
  std::string text = operators.substr(0, operators.find("TORCH_LIBRARY_FRAGMENT"));
  const std::string include = fmt::format("\"../{}.h\"", name);
  if (const std::size_t at = text.find(include); at != std::string::npos)
    text.replace(at, include.size(), fmt::format("\"{}.h\"", name));
  return "#include <torch/extension.h>\n\n" + text +
         fmt::format("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def(\"{}\", &{}); }}\n", name, function);
}

std::string module_binding(const ExportSubject& subject, bool writes_outputs) {
  return bound(TorchWriter(subject).source(), subject.name, writes_outputs ? "compute_out" : "compute");
}

std::vector<std::string> sizes_without_input(const ExportSubject& subject) {
  std::vector<std::string> names;
  for (const Axis* axis : subject.axes) {
    const bool found = std::ranges::any_of(subject.tensors, [&](const ExportedTensor& tensor) {
      return tensor.input && !tensor.scalar() &&
             std::ranges::find(*tensor.spec->shape, axis->name) != tensor.spec->shape->end();
    });
    if (!found) names.push_back(axis->name);
  }
  return names;
}

std::string target_flags(const ExportSubject& subject) {
  const std::string sm = subject.arch.sm().substr(3);
  std::vector<std::string> flags{"\"-O3\"", "\"-std=c++20\"",
                                 fmt::format("\"-gencode=arch=compute_{0},code=sm_{0}\"", sm)};
  for (const std::string_view taken : kTakenAway) flags.push_back(fmt::format("\"-U{}\"", taken));
  for (const std::string& option : subject.candidate.plan.options)
    flags.push_back(fmt::format("\"{}\"", nvcc_flag(option)));
  return fmt::format("[{}]", fmt::join(flags, ", "));
}

std::string torch_arch(const Arch& arch) {
  return fmt::format("{}.{}{}", arch.major, arch.minor,
                     arch.feature == 0 ? "" : std::string(1, arch.feature));
}

std::string python_text(const std::string& text) { return Json(text).dump(-1, ' ', true); }

}  // namespace ak::codegen
