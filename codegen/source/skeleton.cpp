// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/skeleton.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "codegen/source/frozen_constants.h"
#include "codegen/source/host_code.h"
#include "codegen/source/kernel_reference.h"
#include "codegen/source/signature.h"
#include "core/error.h"
#include "core/plan/candidate.h"
#include "core/plan/include_scan.h"
#include "core/text/characters.h"
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

constexpr std::array<std::string_view, 9> kIntegers32{
    "int", "unsigned", "unsigned int", "int32_t", "uint32_t", "short", "char", "long int", "signed int"};
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

/// Words of Python that C++ lets be names: a reference in Python could not take such an argument.
constexpr std::array<std::string_view, 22> kPythonWords{
    "as",     "assert", "async", "await",  "def",      "del",  "elif",  "except", "finally", "from", "global",
    "import", "in",     "is",    "lambda", "nonlocal", "pass", "raise", "with",   "yield",   "None", "True"};

/// A parameter's name as problems have it.
std::string problem_name_of(const std::string& parameter) {
  return contains(kPythonWords, parameter) ? parameter + "_" : parameter;
}

/// "n" -> "N": sizes are written in capitals where they are one letter.
std::string axis_name(const std::string& parameter) {
  if (parameter.size() != 1) return problem_name_of(parameter);
  return std::string(1,
                     static_cast<char>(parameter[0] >= 'a' && parameter[0] <= 'z' ? parameter[0] - 'a' + 'A'
                                                                                  : parameter[0]));
}

struct Tensor {
  std::string name;  ///< as problem_name_of gives it
  DType dtype;
  bool output;
  std::vector<std::string> shape;
  bool read = false;  ///< of an output: the kernel reads it, too
};

/// A number that is no size, kept as an input by value.
struct Scalar {
  std::string parameter, name;
  DType dtype;
  std::vector<double> values;
};

/// What a parameter by value that is no size may be.
constexpr std::array kScalarTypes{TypeName{"float", DType::float32}, TypeName{"double", DType::float64},
                                  TypeName{"bool", DType::boolean}};

/// Whether `name[...]`, `*name` or an atomic of it is read in `code` (comments blanked).
bool is_read(std::string_view code, const std::string& name) {
  for (std::size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at > 0 && is_word(code[at - 1])) || end >= code.size() || code[end] != '[') continue;
    int depth = 0;
    std::size_t close = end;
    for (; close < code.size(); ++close) {
      depth += code[close] == '[' ? 1 : code[close] == ']' ? -1 : 0;
      if (depth == 0) break;
    }
    const std::size_t next = code.find_first_not_of(" \t\r\n])", std::min(close, code.size() - 1));
    const bool stored = next != std::string_view::npos && code[next] == '=' && code.substr(next, 2) != "==";
    if (!stored) return true;
  }
  return false;
}

/// The body of the kernel and what follows it up to the next one.
std::string_view body_of(std::string_view code, const KernelSignature& signature) {
  const std::size_t at = code.find(signature.name, code.find("__global__"));
  const std::size_t open = at == std::string_view::npos ? at : code.find('{', at);
  if (open == std::string_view::npos) return {};
  return code.substr(open, code.find("__global__", open) - open);
}

/// Everything guessed from the signature, and what could not be.
class Skeleton {
 public:
  Skeleton(std::string problem, KernelSignature signature, std::string source, NewProblem request)
      : problem_(std::move(problem)),
        signature_(std::move(signature)),
        source_(std::move(source)),
        request_(std::move(request)),
        launch_(find_launch(source_, signature_.name)),
        definitions_(host_definitions(source_)) {
    read_axes();
    kernel_ = signature_.name + template_arguments();
    read_tensors();
    read_scalars();
    note("problem.json: summary and definition.description: say what is computed");
    note("problem.json: shapes, flops, bytes_read and bytes_written: guessed from the names of the sizes");
    note("problem.json: reference: the same computation in PyTorch");
    note(
        "problem.json: mutations: mistakes in reference.cu that the checks must notice, each behind its "
        "macro");
    note("workloads.jsonl: the shapes you care about, and odd ones");
    if (!request_.reference_is_right)
      note("reference.cu: the computation, plainly: one element of the output a thread");
  }

  [[nodiscard]] Json problem_json() const {
    Json axes = Json::object(), inputs = Json::object(), outputs = Json::object();
    for (const std::string& axis : axes_)
      axes[axis] = {{"type", "var"}, {"description", "FILL-IN: what it counts"}};
    for (const Tensor& tensor : tensors_)
      (tensor.output ? outputs : inputs)[tensor.name] = {{"shape", tensor.shape},
                                                         {"dtype", info(tensor.dtype).name}};
    for (const Scalar& scalar : scalars_)
      inputs[scalar.name] = {
          {"shape", nullptr}, {"dtype", info(scalar.dtype).name}, {"values", scalar.values}};
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
            {"mutations",
             {{{"name", "last_tile"},
               {"what", "leaves the end of the output out"},
               {"macro", "AK_MUTATION_LAST_TILE"}}}},
            {"reference", python_reference()}};
  }

  [[nodiscard]] std::string workloads() const {
    // One element, odd sizes, alongside powers of two; then a size to time.
    constexpr std::array<std::array<std::int64_t, 3>, 5> kChecks{
        {{1, 1, 1}, {3, 33, 17}, {64, 128, 64}, {127, 255, 129}, {1000, 1024, 513}}};
    constexpr std::array<std::int64_t, 3> kLargestCube{200, 264, 136};  // of three axes: seconds on a CPU
    std::string text;
    for (const auto& sizes : kChecks)
      text += workload(axes_.size() > 2 && &sizes == &kChecks.back() ? kLargestCube : sizes,
                       R"("check", "tier": "emulator")");
    const std::int64_t large = axes_.size() == 1 ? 1 << 24 : axes_.size() == 2 ? 4096 : 1024;
    text += workload({large, large, large}, R"(["check", "time"], "tier": "gpu", "weight": 1)");
    return text + held_out("any_small", 1, 200, "emulator") + held_out("any_large", large / 2, large, "gpu");
  }

  [[nodiscard]] std::string reference_cu() const {
    return request_.reference_is_right ? trusted_reference() : plain_reference();
  }

  [[nodiscard]] std::string plain_reference() const {
    Json arguments = Json::array();
    std::string parameters;
    for (const Tensor& tensor : tensors_) {
      arguments.push_back(tensor.name);
      const std::string type =
          tensor.output ? "out_t_" + tensor.name : fmt::format("const {}", info(tensor.dtype).cuda_type);
      parameters += fmt::format("{}* {}, ", type, tensor.name);
    }
    for (const Scalar& scalar : scalars_) {
      arguments.push_back(scalar.name);
      parameters += fmt::format("{} {}, ", info(scalar.dtype).cuda_type, scalar.name);
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
    const std::string device = device_code(source_);
    if (device.size() < source_.size())
      note("the kernel's file: its host code is left out; see that nothing else is missing");
    if (const auto unknown = unknown_includes(source_); !unknown.empty())
      note(fmt::format("the kernel's file: what it uses of {}, which is left out: a candidate is one file",
                       fmt::join(unknown, ", ")));
    const std::string head =
        fmt::format("/* alphakernel\n{}\n*/\n", Json{{"launches", {launch_entry()}}}.dump(2));
    if (known_configuration()) {
      note(fmt::format("the kernel's launch plan: grid, block and shared memory are those of line {}",
                       launch_->line));
      return head + device;
    }
    note("the kernel's launch plan: grid, block and shared memory as your host code chooses them");
    return head +
           "// FILL-IN: grid and block above are guesses (one thread per element of the first output).\n" +
           device;
  }

  [[nodiscard]] const std::vector<std::string>& open_points() const { return open_points_; }

 private:
  void note(std::string point) { open_points_.push_back(std::move(point)); }

  static bool is_integer(const KernelParameter& parameter) {
    return !parameter.pointer &&
           (contains(kIntegers32, parameter.type) || contains(kIntegers64, parameter.type));
  }

  /// What the host passes for parameter `index`; empty where that is not known.
  [[nodiscard]] std::string passed(std::size_t index) const {
    const bool known = launch_ && launch_->arguments.size() == signature_.parameters.size();
    return known ? launch_->arguments[index] : "";
  }

  /// Sizes that the host passes as a variable are axes; one variable is one axis.
  void read_axes() {
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) {
      const KernelParameter& parameter = signature_.parameters[i];
      const std::string value = passed(i);
      const bool variable =
          value.empty() || (!is_digit(value.front()) && std::ranges::all_of(value, is_word));
      if (!is_integer(parameter) || !variable) continue;
      const std::string axis = axis_name(parameter.name);
      const auto [known, fresh] = host_axes_.emplace(value.empty() ? parameter.name : value, axis);
      if (fresh) axes_.push_back(axis);
      parameter_axes_[parameter.name] = known->second;
    }
    // What is left follows from these, or is a size of its own.
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) {
      const KernelParameter& parameter = signature_.parameters[i];
      if (!is_integer(parameter) || parameter_axes_.contains(parameter.name)) continue;
      if (const auto value = plan_expression(passed(i), host_axes_, definitions_)) {
        parameter_axes_[parameter.name] = *value;
      } else {
        axes_.push_back(axis_name(parameter.name));
        parameter_axes_[parameter.name] = axes_.back();
      }
    }
    if (!axes_.empty()) return;
    axes_.emplace_back("N");
    note("problem.json: definition.axes: the kernel takes no size, so N stands for it");
  }

  /// Where every pointer is non-const, only the user knows which are outputs.
  void check_outputs() const {
    std::vector<std::string> pointers;
    bool any_const = false;
    for (const KernelParameter& parameter : signature_.parameters) {
      if (!parameter.pointer) continue;
      pointers.push_back(parameter.name);
      any_const = any_const || parameter.const_data;
    }
    for (const std::string& name : request_.outputs) {
      if (!contains(pointers, name))
        fail(ExitCode::usage, "--outputs: {} takes no pointer '{}'; it takes {}", signature_.name, name,
             fmt::join(pointers, ", "));
    }
    if (request_.outputs.empty() && !any_const && pointers.size() > 1)
      fail(ExitCode::usage,
           "every pointer of {} is non-const ({}): say which are outputs, such as --outputs {}",
           signature_.name, fmt::join(pointers, ", "), pointers.back());
  }

  [[nodiscard]] bool is_output(const KernelParameter& parameter) const {
    return request_.outputs.empty() ? !parameter.const_data : contains(request_.outputs, parameter.name);
  }

  void read_tensors() {
    check_outputs();
    const std::string code = blank_comments_and_strings(source_);
    bool has_output = false;
    for (const KernelParameter& parameter : signature_.parameters) {
      if (!parameter.pointer) continue;
      const auto chosen = template_types_.find(parameter.type);
      const std::optional<DType> dtype =
          dtype_of(chosen == template_types_.end() ? parameter.type : chosen->second);
      if (!dtype)
        note(fmt::format("problem.json: the dtype of {}: {} is not known", parameter.name, parameter.type));
      const bool output = is_output(parameter);
      has_output = has_output || output;
      tensors_.push_back({problem_name_of(parameter.name), dtype.value_or(DType::float32), output, axes_,
                          output && is_read(body_of(code, signature_), parameter.name)});
      if (tensors_.back().read)
        note(
            fmt::format("problem.json: outputs: {0} is read as well: where the kernel works in place give "
                        "what it held as an input "
                        "and name both in \"aliases\", where it adds up say \"initial\": \"zero\" of {0} "
                        "(docs/problem.md)",
                        parameter.name));
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

  /// As the host launches it, where that is known; nothing else.
  [[nodiscard]] std::optional<std::string> launched_argument(std::size_t index, bool type) const {
    if (!launch_ || index >= launch_->template_arguments.size()) return std::nullopt;
    const std::string& text = launch_->template_arguments[index];
    if (type) return dtype_of(text) ? std::optional(text) : std::nullopt;
    const auto value = plan_expression(text, {}, definitions_);
    const auto parsed = value ? Expression::parse(*value) : Result<Expression>(InputError{""});
    const auto number = parsed ? parsed->evaluate_integer({}) : Result<std::int64_t>(InputError{""});
    return number ? std::optional(std::to_string(*number)) : std::nullopt;
  }

  /// Template arguments for the name expression: where the host does not say, float for types, 256 for values.
  std::string template_arguments() {
    if (signature_.template_parameters.empty()) return "";
    std::vector<std::string> arguments;
    bool guessed = false;
    for (const std::string& parameter : signature_.template_parameters) {
      const bool type = parameter.starts_with("typename") || parameter.starts_with("class");
      const auto launched = launched_argument(arguments.size(), type);
      guessed = guessed || !launched;
      arguments.emplace_back(launched.value_or(type ? "float" : "256"));
      if (type) template_types_[parameter.substr(parameter.find(' ') + 1)] = arguments.back();
    }
    if (!guessed) return fmt::format("<{}>", fmt::join(arguments, ", "));
    note(fmt::format("the kernel's template arguments: {}<{}> is in the launch plan", signature_.name,
                     fmt::join(arguments, ", ")));
    return fmt::format("<{}>", fmt::join(arguments, ", "));
  }

  [[nodiscard]] Json argument(const KernelParameter& parameter) const {
    if (parameter.pointer) return problem_name_of(parameter.name);
    if (is_integer(parameter))
      return {{contains(kIntegers64, parameter.type) ? "i64" : "i32", parameter_axes_.at(parameter.name)}};
    const auto scalar = std::ranges::find(scalars_, parameter.name, &Scalar::parameter);
    if (scalar != scalars_.end()) return scalar->name;
    return {{"f32", 1}};
  }

  /// Numbers that are no sizes: inputs by value.
  void read_scalars() {
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) {
      const KernelParameter& parameter = signature_.parameters[i];
      if (parameter.pointer || is_integer(parameter)) continue;
      const auto chosen = template_types_.find(parameter.type);
      const std::string type = chosen == template_types_.end() ? parameter.type : chosen->second;
      const auto* known = std::ranges::find(kScalarTypes, type, &TypeName::cuda);
      if (known == kScalarTypes.end()) {
        note(fmt::format("the kernel's argument {} ({}): 1 is in the launch plan", parameter.name,
                         parameter.type));
        continue;
      }
      const double value = number_of(passed(i)).value_or(1);
      const double other = value != 1 ? 1 : known->dtype == DType::boolean ? 0 : 0.5;
      scalars_.push_back({parameter.name, problem_name_of(parameter.name), known->dtype, {value, other}});
      note(fmt::format("problem.json: inputs: the values that {} may have; {:g} and {:g} are there",
                       scalars_.back().name, value, other));
    }
  }

  /// "2.5f", "true", or a name that the file gives such a value.
  [[nodiscard]] std::optional<double> number_of(const std::string& text) const {
    const auto named = definitions_.find(text);
    const std::string& digits = named == definitions_.end() ? text : named->second;
    if (digits == "true" || digits == "false") return digits == "true" ? 1 : 0;
    double value = 0;
    const auto [rest, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const std::string_view suffix(rest, static_cast<std::size_t>(digits.data() + digits.size() - rest));
    const bool whole = status == std::errc() && (suffix.empty() || suffix == "f" || suffix == "F");
    return whole ? std::optional(value) : std::nullopt;
  }

  [[nodiscard]] std::optional<Json> dimensions(const std::vector<std::string>& texts) const {
    Json list = Json::array();
    for (const std::string& text : texts) {
      const auto value = plan_expression(text, host_axes_, definitions_);
      if (!value || !Expression::parse(*value)) return std::nullopt;
      list.push_back(*value);
    }
    return list.empty() || list.size() > 3 ? std::nullopt : std::optional(std::move(list));
  }
  [[nodiscard]] std::optional<std::string> shared_bytes() const {
    return launch_->shared_bytes.empty() ? std::optional<std::string>("0")
                                         : plan_expression(launch_->shared_bytes, host_axes_, definitions_);
  }
  [[nodiscard]] bool known_configuration() const {
    return launch_ && dimensions(launch_->grid) && dimensions(launch_->block) && shared_bytes();
  }

  [[nodiscard]] Json launch_entry() const {
    Json arguments = Json::array();
    for (const KernelParameter& parameter : signature_.parameters) arguments.push_back(argument(parameter));
    Json entry{{"kernel", kernel_},
               {"grid", {fmt::format("ceil_div({}, 256)", output_elements())}},
               {"block", {256}},
               {"args", arguments}};
    if (!known_configuration()) return entry;
    entry["grid"] = *dimensions(launch_->grid);
    entry["block"] = *dimensions(launch_->block);
    if (*shared_bytes() != "0") entry["shared_bytes"] = *shared_bytes();
    return entry;
  }

  [[nodiscard]] std::string trusted_reference() const {
    TrustedKernel trusted{.signature = signature_,
                          .code = device_code(without_plan(source_)),
                          .name = kernel_,
                          .launch = launch_entry(),
                          .let = nullptr,
                          .tensors = {},
                          .scalars = scalar_types(),
                          .guessed_launch = !known_configuration()};
    if (const auto candidate = parse_candidate(signature_.name, source_)) {
      if (candidate->plan.launches.size() != 1 || !candidate->plan.tunables.empty() ||
          !candidate->plan.workspace.empty())
        fail(ExitCode::bad_input,
             "--reference-is-right takes a kernel of one launch without tunables and workspace; {} has more",
             signature_.name);
      const Json plan = to_json(candidate->plan);
      trusted.launch = plan["launches"][0];
      if (plan.contains("let")) trusted.let = plan["let"];
      trusted.guessed_launch = false;
    }
    for (const Tensor& tensor : tensors_)
      trusted.tensors.push_back({.name = tensor.name,
                                 .dtype = tensor.dtype,
                                 .output = tensor.output,
                                 .zeroed = tensor.read,
                                 .elements = fmt::format("{}", fmt::join(tensor.shape, " * "))});
    return reference_of_kernel(trusted);
  }

  /// Floating parameters by value, as the launch plan passes them.
  [[nodiscard]] std::map<std::string, std::string> scalar_types() const {
    std::map<std::string, std::string> types;
    for (const KernelParameter& parameter : signature_.parameters) {
      const auto chosen = template_types_.find(parameter.type);
      const auto dtype = dtype_of(chosen == template_types_.end() ? parameter.type : chosen->second);
      if (parameter.pointer || !dtype || !info(*dtype).floating) continue;
      types[parameter.name] = dtype == DType::float64 ? "double" : "float";
    }
    return types;
  }

  /// A file that has its launch plan already, without it.
  static std::string without_plan(const std::string& source) {
    return parse_candidate("kernel", source) ? source.substr(source.find("*/") + 2) : source;
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
    for (const Scalar& scalar : scalars_) inputs.push_back(scalar.name);
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

  [[nodiscard]] std::string held_out(std::string_view name, std::int64_t low, std::int64_t high,
                                     std::string_view tier) const {
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

  [[nodiscard]] std::string default_types() const {
    std::string lines;
    for (const Tensor& tensor : tensors_)
      if (tensor.output) lines += fmt::format("using out_t_{} = double;\n", tensor.name);
    return lines;
  }

  [[nodiscard]] std::string reference_body(const std::string& parameters) const {
    const std::string& out = first_output().name;
    return fmt::format(
        "\n#ifndef ALPHAKERNEL\nusing accum_t = double;\n{}#endif\n\n"
        "// FILL-IN: the computation, plainly, in accum_t: it is compiled with double (the exact result) and "
        "with float\n"
        "// (what a correct kernel would give). Convert inputs with "
        "static_cast<accum_t>(static_cast<float>(x)).\n"
        "__global__ void {}_reference({}) {{\n"
        "  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
        "  if (i >= count) return;\n"
        "  accum_t result = 0;  // FILL-IN: element i of {}\n"
        "#ifdef AK_MUTATION_LAST_TILE\n"
        "  if (i >= count - 32) result = 0;\n"
        "#endif\n"
        "  {}[i] = static_cast<out_t_{}>(result);\n"
        "}}\n",
        default_types(), problem_, parameters, out, out, out);
  }

  std::string problem_;
  KernelSignature signature_;
  std::string source_;
  NewProblem request_;
  std::optional<HostLaunch> launch_;
  std::map<std::string, std::string, std::less<>> definitions_;     ///< of host code
  std::map<std::string, std::string, std::less<>> host_axes_;       ///< variable of host code -> axis
  std::map<std::string, std::string, std::less<>> parameter_axes_;  ///< integer parameter -> expression
  std::map<std::string, std::string, std::less<>> template_types_;  ///< template parameter -> type
  std::vector<Scalar> scalars_;
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

std::vector<std::string> new_problem(const std::filesystem::path& folder, const std::filesystem::path& kernel,
                                     const NewProblem& request) {
  const std::string source = read_file(kernel, kMaxCandidateBytes);
  std::optional<KernelSignature> signature = first_kernel(source);
  if (!signature)
    fail(ExitCode::bad_input, "{}: no __global__ function; expected the file with your kernel",
         kernel.string());
  std::error_code status;
  if (std::filesystem::exists(folder, status) && !std::filesystem::is_empty(folder, status))
    fail(ExitCode::output, "{} exists and is not empty; name a new folder", folder.string());
  Skeleton skeleton(problem_name(folder), std::move(*signature), source, request);
  const std::string candidate = skeleton.candidate(), reference = skeleton.reference_cu();
  std::filesystem::create_directories(folder, status);
  if (status) fail(ExitCode::output, "cannot make the folder {}: {}", folder.string(), status.message());
  write_file_atomically(folder / "problem.json", skeleton.problem_json().dump(2) + "\n");
  write_file_atomically(folder / "workloads.jsonl", skeleton.workloads());
  write_file_atomically(folder / "reference.cu", reference);
  const std::string name = kernel.stem() == "reference" ? "kernel.cu" : kernel.stem().string() + ".cu";
  write_file_atomically(folder / name, candidate);
  return skeleton.open_points();
}

}  // namespace ak::codegen
