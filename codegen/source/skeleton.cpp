// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/skeleton.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codegen/source/frozen_constants.h"
#include "codegen/source/signature.h"
#include "core/error.h"
#include "core/plan/candidate.h"
#include "core/text/file.h"

namespace ak::codegen {
namespace {

struct TypeName {
  std::string_view cuda;
  DType dtype;
};
// Spellings people use for element types; the dtype's own CUDA name is known, too.
constexpr std::array kTypeNames{TypeName{"half", DType::float16},
                                TypeName{"half2", DType::float16},
                                TypeName{"__half2", DType::float16},
                                TypeName{"nv_bfloat16", DType::bfloat16},
                                TypeName{"__nv_bfloat162", DType::bfloat16},
                                TypeName{"float2", DType::float32},
                                TypeName{"float4", DType::float32},
                                TypeName{"unsigned int", DType::uint32},
                                TypeName{"unsigned", DType::uint32},
                                TypeName{"int32_t", DType::int32},
                                TypeName{"uint32_t", DType::uint32},
                                TypeName{"int64_t", DType::int64},
                                TypeName{"long", DType::int64},
                                TypeName{"short", DType::int16},
                                TypeName{"int16_t", DType::int16},
                                TypeName{"char", DType::int8},
                                TypeName{"int8_t", DType::int8},
                                TypeName{"uint8_t", DType::uint8},
                                TypeName{"unsigned char", DType::uint8}};

constexpr std::array<std::string_view, 10> kIntegers32{"int",      "unsigned",  "unsigned int", "int32_t",
                                                       "uint32_t", "short",     "bool",         "char",
                                                       "long int", "signed int"};
constexpr std::array<std::string_view, 10> kIntegers64{
    "long long", "long long int",      "int64_t", "uint64_t",      "size_t",
    "ptrdiff_t", "unsigned long long", "long",    "unsigned long", "std::size_t"};

bool contains(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::optional<DType> dtype_of(std::string_view type) {
  for (const DTypeInfo& known : dtypes()) {
    if (known.cuda_type == type) return known.dtype;
  }
  const auto* found = std::ranges::find(kTypeNames, type, &TypeName::cuda);
  if (found == kTypeNames.end()) return std::nullopt;
  return found->dtype;
}

std::string lower_identifier(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) c = '_';
  }
  if (text.empty() || text[0] < 'a' || text[0] > 'z') text.insert(0, "p_");
  return text;
}

/// "n" -> "N": sizes are written in capitals where they are one letter.
std::string axis_name(const std::string& parameter) {
  if (parameter.size() != 1) return parameter;
  return std::string(1,
                     static_cast<char>(parameter[0] >= 'a' && parameter[0] <= 'z' ? parameter[0] - 'a' + 'A'
                                                                                  : parameter[0]));
}

struct Tensor {
  std::string name;
  DType dtype;
  bool output;
  std::vector<std::string> shape;
};

/// Everything guessed from the signature, and what could not be.
class Skeleton {
 public:
  Skeleton(std::string problem, KernelSignature signature, std::string source)
      : problem_(std::move(problem)), signature_(std::move(signature)), source_(std::move(source)) {
    read_axes();
    read_tensors();
    kernel_ = signature_.name + template_arguments();
    note("problem.json: summary and definition.description: say what is computed");
    note("problem.json: shapes, flops, bytes_read and bytes_written: guessed from the names of the sizes");
    note("problem.json: reference: the same computation in PyTorch");
    note(
        "problem.json: lesions: mutations of reference.cu that the checks must notice, each behind its "
        "macro");
    note("workloads.jsonl: the shapes you care about, and odd ones");
    note("reference.cu: the computation, plainly: one element of the output a thread");
  }

  [[nodiscard]] Json problem_json() const {
    Json axes = Json::object(), inputs = Json::object(), outputs = Json::object();
    for (const std::string& axis : axes_)
      axes[axis] = {{"type", "var"}, {"description", "FILL-IN: what it counts"}};
    for (const Tensor& tensor : tensors_)
      (tensor.output ? outputs : inputs)[tensor.name] = {{"shape", tensor.shape},
                                                         {"dtype", info(tensor.dtype).name}};
    return {{"name", problem_},
            {"summary", "FILL-IN: one line for lists"},
            {"op_type", problem_},
            {"params", Json::object()},
            {"definition",
             {{"name", problem_},
              {"axes", axes},
              {"inputs", inputs},
              {"outputs", outputs},
              {"description", "FILL-IN: each output as a formula of the inputs"}}},
            {"flops", output_elements()},
            {"bytes_read", bytes(false)},
            {"bytes_written", bytes(true)},
            {"tolerance",
             {{"factor", 4},
              {"floor_ulps", 2},
              {"reason", "FILL-IN: where a correct kernel rounds (docs/problem.md)"}}},
            {"distributions",
             {{{"name", "normal"}, {"kind", "normal"}},
              {{"name", "shifted"}, {"kind", "normal"}, {"shift", 4}},
              {{"name", "large"}, {"kind", "normal"}, {"scale", 64}},
              {{"name", "integers"}, {"kind", "small_integer"}}}},
            {"lesions",
             {{{"name", "last_tile"},
               {"what", "leaves the end of the output out"},
               {"macro", "AK_LESION_LAST_TILE"}}}},
            {"reference", python_reference()}};
  }

  [[nodiscard]] std::string workloads() const {
    // One element, odd sizes, alongside powers of two; then a size to time.
    constexpr std::array<std::array<std::int64_t, 3>, 5> kChecks{
        {{1, 1, 1}, {3, 33, 17}, {64, 128, 64}, {127, 255, 129}, {1000, 1024, 513}}};
    std::string text;
    for (const auto& sizes : kChecks) text += workload(sizes, R"("check", "tier": "emulator")");
    const std::int64_t large = axes_.size() == 1 ? 1 << 24 : axes_.size() == 2 ? 4096 : 1024;
    text += workload({large, large, large}, R"(["check", "time"], "tier": "gpu", "weight": 1)");
    return text + held_out("any_small", 1, 200, "emulator") + held_out("any_large", 100, 2000, "gpu");
  }

  [[nodiscard]] std::string reference_cu() const {
    Json arguments = Json::array();
    std::string parameters;
    for (const Tensor& tensor : tensors_) {
      arguments.push_back(tensor.name);
      const std::string type =
          tensor.output ? "out_t" : fmt::format("const {}", info(tensor.dtype).cuda_type);
      parameters += fmt::format("{}* {}, ", type, tensor.name);
    }
    for (const std::string& axis : axes_) {
      arguments.push_back({{"i64", axis}});
      parameters += fmt::format("long long {}, ", size_name(axis));
    }
    arguments.push_back({{"i64", output_elements()}});
    parameters += "long long count";
    const Json plan = {{"let", {{"BLOCKS", fmt::format("ceil_div({}, 256)", output_elements())}}},
                       {"launches",
                        {{{"kernel", problem_ + "_reference"},
                          {"grid", {"BLOCKS"}},
                          {"block", {256}},
                          {"args", arguments}}}}};
    return fmt::format("/* alphakernel\n{}\n*/\n{}{}", plan.dump(2), headers(), reference_body(parameters));
  }

  /// The user's file, with a launch plan in front unless it has one.
  [[nodiscard]] std::string candidate() {
    if (parse_candidate(signature_.name, source_)) return source_;
    Json arguments = Json::array();
    for (const KernelParameter& parameter : signature_.parameters) arguments.push_back(argument(parameter));
    const std::string elements = output_elements();
    const Json plan = {{"launches",
                        {{{"kernel", kernel_},
                          {"grid", {fmt::format("ceil_div({}, 256)", elements)}},
                          {"block", {256}},
                          {"args", arguments}}}}};
    note("the kernel's launch plan: grid, block and shared memory as your host code chooses them");
    if (source_.find("<<<") != std::string::npos || mentions(source_, "main"))
      note("the kernel's file: remove the host code; the harness allocates and launches");
    return fmt::format(
        "/* alphakernel\n{}\n*/\n// FILL-IN: grid and block above are guesses (one thread per element of the "
        "first output).\n{}",
        plan.dump(2), source_);
  }

  [[nodiscard]] const std::vector<std::string>& open_points() const { return open_points_; }

 private:
  void note(std::string point) { open_points_.push_back(std::move(point)); }

  void read_axes() {
    for (const KernelParameter& parameter : signature_.parameters) {
      const bool integer = contains(kIntegers32, parameter.type) || contains(kIntegers64, parameter.type);
      if (!parameter.pointer && integer) axes_.push_back(axis_name(parameter.name));
    }
    if (!axes_.empty()) return;
    axes_.emplace_back("N");
    note("problem.json: definition.axes: the kernel takes no size, so N stands for it");
  }

  void read_tensors() {
    bool has_output = false;
    for (const KernelParameter& parameter : signature_.parameters) {
      if (!parameter.pointer) continue;
      const std::optional<DType> dtype = dtype_of(parameter.type);
      if (!dtype)
        note(fmt::format("problem.json: the dtype of {}: {} is not known", parameter.name, parameter.type));
      has_output = has_output || !parameter.const_data;
      tensors_.push_back({parameter.name, dtype.value_or(DType::float32), !parameter.const_data, axes_});
    }
    if (tensors_.empty()) {
      fail(ExitCode::bad_input,
           "{} (line {}) takes no pointer, so it has no tensors; expected inputs and outputs",
           signature_.name, signature_.line);
    }
    if (!has_output) {
      tensors_.back().output = true;
      note(fmt::format("problem.json: outputs: every pointer is const; {} is taken as the output",
                       tensors_.back().name));
    }
    std::ranges::stable_sort(tensors_, {}, &Tensor::output);  // inputs first, as in the definition
    guess_matrix_product();
  }

  /// Sizes M, N, K with two inputs and one output are taken for a matrix product.
  void guess_matrix_product() {
    const bool sizes =
        axes_.size() == 3 && contains(axes_, "M") && contains(axes_, "N") && contains(axes_, "K");
    if (!sizes || tensors_.size() != 3 || tensors_[1].output) return;
    tensors_[0].shape = {"M", "K"};
    tensors_[1].shape = {"K", "N"};
    tensors_[2].shape = {"M", "N"};
  }

  /// Template arguments for the name expression: float for types, 256 for values.
  std::string template_arguments() {
    if (signature_.template_parameters.empty()) return "";
    std::vector<std::string> arguments;
    for (const std::string& parameter : signature_.template_parameters) {
      const bool type = parameter.starts_with("typename") || parameter.starts_with("class");
      arguments.emplace_back(type ? "float" : "256");
    }
    note(fmt::format("the kernel's template arguments: {}<{}> is in the launch plan", signature_.name,
                     fmt::join(arguments, ", ")));
    return fmt::format("<{}>", fmt::join(arguments, ", "));
  }

  Json argument(const KernelParameter& parameter) {
    if (parameter.pointer) return parameter.name;
    if (contains(kIntegers64, parameter.type)) return {{"i64", axis_name(parameter.name)}};
    if (contains(kIntegers32, parameter.type)) return {{"i32", axis_name(parameter.name)}};
    note(fmt::format("the kernel's argument {} ({}): 1 is in the launch plan", parameter.name,
                     parameter.type));
    return {{parameter.type == "double" ? "f64" : "f32", 1}};
  }

  [[nodiscard]] const Tensor& first_output() const {
    return *std::ranges::find(tensors_, true, &Tensor::output);
  }

  [[nodiscard]] std::string output_elements() const {
    return fmt::format("{}", fmt::join(first_output().shape, " * "));
  }

  [[nodiscard]] std::string bytes(bool output) const {
    std::string text;
    for (const Tensor& tensor : tensors_) {
      if (tensor.output != output) continue;
      text += fmt::format("{}{} * sizeof_{}", text.empty() ? "" : " + ", fmt::join(tensor.shape, " * "),
                          tensor.name);
    }
    return text.empty() ? "0" : text;
  }

  [[nodiscard]] std::string python_reference() const {
    std::vector<std::string> inputs;
    for (const Tensor& tensor : tensors_) {
      if (!tensor.output) inputs.push_back(tensor.name);
    }
    return fmt::format(
        "import torch\n\n\ndef run({}):\n    raise NotImplementedError(\"FILL-IN: return the outputs\")\n",
        fmt::join(inputs, ", "));
  }

  [[nodiscard]] std::string workload(const std::array<std::int64_t, 3>& sizes, std::string_view role) const {
    std::string name, axes;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const std::int64_t size = sizes[i % sizes.size()];
      name += fmt::format("{}{}{}", name.empty() ? "" : "_", lower_identifier(axes_[i]), size);
      axes += fmt::format("{}\"{}\": {}", axes.empty() ? "" : ", ", axes_[i], size);
    }
    return fmt::format("{{\"name\": \"{}\", \"axes\": {{{}}}, \"role\": {}}}\n", name, axes, role);
  }

  [[nodiscard]] std::string held_out(std::string_view name, int low, int high, std::string_view tier) const {
    Json axes = Json::object();
    for (const std::string& axis : axes_) axes[axis] = {low, high};
    return fmt::format("{{\"name\": \"{}\", \"axes\": {}, \"role\": \"held_out\", \"tier\": \"{}\"}}\n", name,
                       axes.dump(), tier);
  }

  /// A size as the reference's parameter, which must not clash with a tensor.
  [[nodiscard]] static std::string size_name(const std::string& axis) {
    return "size_" + lower_identifier(axis);
  }

  [[nodiscard]] std::string headers() const {
    std::string text;
    for (const Tensor& tensor : tensors_) {
      const std::string line = fmt::format("#include <{}>\n", info(tensor.dtype).cuda_header);
      if (!info(tensor.dtype).cuda_header.empty() && text.find(line) == std::string::npos) text += line;
    }
    return text;
  }

  [[nodiscard]] std::string reference_body(const std::string& parameters) const {
    const std::string& out = first_output().name;
    return fmt::format(
        "\n#ifndef ALPHAKERNEL\nusing accum_t = double;\nusing out_t = double;\n#endif\n\n"
        "// FILL-IN: the computation, plainly, in accum_t: it is compiled with double (the exact result) and "
        "with float\n"
        "// (what a correct kernel would give). Convert inputs with "
        "static_cast<accum_t>(static_cast<float>(x)).\n"
        "__global__ void {}_reference({}) {{\n"
        "  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
        "  if (i >= count) return;\n"
        "  accum_t result = 0;  // FILL-IN: element i of {}\n"
        "#ifdef AK_LESION_LAST_TILE\n"
        "  if (i >= count - 32) result = 0;\n"
        "#endif\n"
        "  {}[i] = static_cast<out_t>(result);\n"
        "}}\n",
        problem_, parameters, out, out);
  }

  std::string problem_;
  KernelSignature signature_;
  std::string source_;
  std::vector<std::string> axes_;
  std::vector<Tensor> tensors_;
  std::string kernel_;
  std::vector<std::string> open_points_;
};

std::string problem_name(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder.has_filename() ? folder : folder.parent_path();
  return lower_identifier(path.filename().string());
}

}  // namespace

std::vector<std::string> new_problem(const std::filesystem::path& folder,
                                     const std::filesystem::path& kernel) {
  const std::string source = read_file(kernel, kMaxCandidateBytes);
  std::optional<KernelSignature> signature = first_kernel(source);
  if (!signature)
    fail(ExitCode::bad_input, "{}: no __global__ function; expected the file with your kernel",
         kernel.string());
  std::error_code status;
  if (std::filesystem::exists(folder, status) && !std::filesystem::is_empty(folder, status))
    fail(ExitCode::output, "{} exists and is not empty; name a new folder", folder.string());
  Skeleton skeleton(problem_name(folder), std::move(*signature), source);
  const std::string candidate = skeleton.candidate();
  std::filesystem::create_directories(folder, status);
  if (status) fail(ExitCode::output, "cannot make the folder {}: {}", folder.string(), status.message());
  write_file_atomically(folder / "problem.json", skeleton.problem_json().dump(2) + "\n");
  write_file_atomically(folder / "workloads.jsonl", skeleton.workloads());
  write_file_atomically(folder / "reference.cu", skeleton.reference_cu());
  const std::string name = kernel.stem() == "reference" ? "kernel.cu" : kernel.stem().string() + ".cu";
  write_file_atomically(folder / name, candidate);
  return skeleton.open_points();
}

}  // namespace ak::codegen
