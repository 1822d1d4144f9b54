// SPDX-License-Identifier: Apache-2.0
#include "app/problem/draft_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>

#include "app/setup/assembler.h"
#include "core/error.h"
#include "core/plan/random_input.h"
#include "core/text/file.h"
#include "core/text/json_line.h"
#include "core/text/json_reader.h"
#include "runtime/check/dump_files.h"
#include "runtime/evaluator/reference_dump.h"
#include "runtime/process/scratch_folder.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

// Chosen: what a person can follow on a screen, and a model can work out.
constexpr std::size_t kMaxExamples = 4;
constexpr std::int64_t kMaxExampleElements = 64;  // of a tensor
// How far a result that was worked out by hand may be off: digits that were left out, not another formula. Chosen.
constexpr double kByHand = 0.01;        // of the element
constexpr double kByHandOfAll = 0.002;  // of the largest element

/// The numbers of nested lists, in order. Nesting is bounded by parse_json_line().
void flatten(const JsonReader& at, std::vector<double>& numbers) {
  if (at.json().is_array()) {
    for (const JsonReader& item : at.items()) flatten(item, numbers);
  } else if (at.json().is_boolean()) {
    numbers.push_back(at.boolean() ? 1 : 0);
  } else {
    numbers.push_back(at.number());
  }
}

std::vector<double> numbers_of(const JsonReader& at, std::int64_t elements) {
  std::vector<double> numbers;
  flatten(at, numbers);
  if (std::ssize(numbers) != elements)
    at.reject(fmt::format("expected {} numbers for this workload, got {}", elements, numbers.size()));
  return numbers;
}

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A whole number that the type holds.
template <class T>
void append_integer(std::string& bytes, const JsonReader& at, double value) {
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  if (std::trunc(value) != value || value < low || value > high || std::fabs(value) > 0x1p53)
    at.reject(fmt::format("{} is no number of this tensor's type", value));
  append(bytes, static_cast<T>(value));
}

void append_element(std::string& bytes, const JsonReader& at, DType dtype, double value) {
  switch (dtype) {
    case DType::float64:
      return append(bytes, value);
    case DType::float32:
      return append(bytes, static_cast<float>(value));
    case DType::float16:
      return append(bytes, float_to_half(static_cast<float>(value)));
    case DType::bfloat16:
      return append(bytes, float_to_bfloat16(static_cast<float>(value)));
    case DType::float8_e4m3fn:
      return append(bytes, float_to_e4m3(static_cast<float>(value)));
    case DType::float8_e5m2:
      return append(bytes, float_to_e5m2(static_cast<float>(value)));
    case DType::int64:
      return append_integer<std::int64_t>(bytes, at, value);
    case DType::int32:
      return append_integer<std::int32_t>(bytes, at, value);
    case DType::int16:
      return append_integer<std::int16_t>(bytes, at, value);
    case DType::int8:
      return append_integer<std::int8_t>(bytes, at, value);
    case DType::uint32:
      return append_integer<std::uint32_t>(bytes, at, value);
    case DType::uint8:
    case DType::int4x2:
    case DType::uint4x2:
      return append_integer<std::uint8_t>(bytes, at, value);
    case DType::boolean:
      return append_integer<bool>(bytes, at, value);
  }
}

/// Of lists that nest as these extents say.
Json nested(std::span<const double> numbers, std::span<const std::int64_t> extents) {
  if (extents.empty())
    return std::isfinite(numbers[0]) ? Json(numbers[0]) : Json(fmt::format("{}", numbers[0]));
  Json list = Json::array();
  const std::size_t part = numbers.size() / static_cast<std::size_t>(extents[0]);
  for (std::int64_t i = 0; i < extents[0]; ++i)
    list.push_back(nested(numbers.subspan(static_cast<std::size_t>(i) * part, part), extents.subspan(1)));
  return list;
}

/// A result as the dump has it: of floating types float64, of others int64.
std::vector<double> read_result(const fs::path& file, bool floating) {
  const std::string bytes = read_file(file);
  std::vector<double> numbers(bytes.size() / sizeof(double));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::int64_t integer = 0;
    std::memcpy(floating ? static_cast<void*>(&numbers[i]) : static_cast<void*>(&integer),
                bytes.data() + 8 * i, 8);
    if (!floating) numbers[i] = static_cast<double>(integer);
  }
  return numbers;
}

/// The first element that is not as expected, in words; empty: all are.
std::string disagreement(const std::string& output, std::span<const double> computed,
                         std::span<const double> expected, bool floating) {
  double largest = 0;
  for (const double one : expected) largest = std::max(largest, std::fabs(one));
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const double allowed =
        floating ? kByHand * std::fabs(expected[i]) + kByHandOfAll * std::max(largest, 1e-30) : 0;
    const bool same = computed[i] == expected[i] || std::fabs(computed[i] - expected[i]) <= allowed;
    if (!same)
      return fmt::format("element {} of '{}' is {:.6g} by reference.cu, and {:.6g} by the example", i, output,
                         computed[i], expected[i]);
  }
  return "";
}

const Workload& workload_named(const ProblemInstance& problem, const std::string& name) {
  const auto found = std::ranges::find(problem.workloads, name, &Workload::name);
  if (found == problem.workloads.end())
    fail(ExitCode::bad_input, "{}: there is no workload '{}' under these params", kExamplesFile, name);
  return *found;
}

/// Elements of a tensor of an example; refused where nobody could follow them.
std::int64_t small_count(const ProblemInstance& problem, const TensorSpec& tensor, const Workload& workload) {
  const std::int64_t elements = element_count(problem.definition, tensor, workload.axes);
  if (elements > kMaxExampleElements)
    fail(ExitCode::bad_input,
         "{}: '{}' has {} elements on workload {}, and an example at most {}: name a smaller one",
         kExamplesFile, tensor.name, elements, workload.name, kMaxExampleElements);
  return elements;
}

/// Scalars by value have a file as well, whose content is not read.
void write_inputs(const ProblemInstance& problem, const Workload& workload, const JsonReader& inputs,
                  const fs::path& folder) {
  for (const TensorSpec& tensor : problem.definition.inputs) {
    std::string bytes;
    if (!tensor.is_scalar()) {
      const JsonReader at = inputs.member(tensor.name);
      for (const double value : numbers_of(at, small_count(problem, tensor, workload)))
        append_element(bytes, at, tensor.dtype, value);
    }
    write_file_atomically(folder / runtime::given_input_file(workload.name, tensor.name), bytes);
  }
}

DraftExample read_example(const JsonReader& at) {
  at.only({"workload", "params", "inputs", "outputs", "note"});
  DraftExample example{.workload = at.member("workload").text()};
  if (const auto params = at.find("params"))
    for (const auto& [name, value] : params->members())
      example.params[name] = value.json().is_string()    ? value.text()
                             : value.json().is_boolean() ? (value.boolean() ? "true" : "false")
                                                         : fmt::format("{}", value.integer());
  static_cast<void>(at.member("inputs").members());
  static_cast<void>(at.member("outputs").members());
  example.inputs = at.member("inputs").json();
  example.outputs = at.member("outputs").json();
  return example;
}

/// The reference that makes the mistake.
std::shared_ptr<const ProblemInstance> with_mutation(const ProblemInstance& problem,
                                                     const Mutation& mutation) {
  auto mutated = std::make_shared<ProblemInstance>(problem);
  const std::size_t plan_end = mutated->reference_cu.find("*/");
  AK_ASSERT(plan_end != std::string::npos, "a reference that ran has a plan");
  mutated->reference_cu.insert(plan_end + 2, fmt::format("\n#define {} 1\n", mutation.macro));
  return mutated;
}

bool shows(const ExampleRun& run, const std::string& mutation) {
  const auto found = run.mutations.find(mutation);
  return found != run.mutations.end() && found->second;
}

ExampleRun run_on(const std::shared_ptr<const ProblemInstance>& instance, const DraftExample& example,
                  const Target& target, const Config& config) {
  const Workload& workload = workload_named(*instance, example.workload);
  const runtime::ScratchFolder scratch;
  write_inputs(*instance, workload, JsonReader(example.inputs, "examples.json: inputs"), scratch.path());
  const Outcome outcome =
      runtime::dump_references(evaluator_options(target, config), source_assembler(), target.device.value(),
                               {.problem = instance,
                                .workloads = {workload.name},
                                .seed = 1,
                                .folder = scratch.path(),
                                .given_only = true});
  ExampleRun run{.example = example};
  if (outcome.status != Status::ok) {
    run.faults.push_back(explain(outcome));
    return run;
  }
  const JsonReader expected(example.outputs, "examples.json: outputs");
  for (const TensorSpec& output : instance->definition.outputs) {
    const std::int64_t elements = small_count(*instance, output, workload);
    const bool floating = info(output.dtype).floating;
    const std::vector<double> computed = read_result(
        scratch.path() / runtime::dump_file(workload.name, runtime::kGivenInputs, output.name), floating);
    if (std::ssize(computed) != elements)
      fail(ExitCode::internal_error, "the dump of '{}' has {} elements", output.name, computed.size());
    run.computed[output.name] = nested(computed, tensor_extents(instance->definition, output, workload.axes));
    const std::vector<double> wanted = numbers_of(expected.member(output.name), elements);
    if (std::string fault = disagreement(output.name, computed, wanted, floating); !fault.empty())
      run.faults.push_back(std::move(fault));
  }
  return run;
}

}  // namespace

std::vector<DraftExample> read_examples(std::string_view text) {
  const Result<Json> json = parse_json_line(text);
  if (!json) throw JsonInputError(fmt::format("{}: {}", kExamplesFile, json.error().message));
  const JsonReader at(*json, kExamplesFile);
  const auto items = at.items();
  if (items.empty() || items.size() > kMaxExamples) at.fail(fmt::format("1 to {} examples", kMaxExamples));
  std::vector<DraftExample> examples;
  for (const JsonReader& item : items) examples.push_back(read_example(item));
  return examples;
}

ExampleRun run_example(const codegen::Problem& problem, const DraftExample& example,
                       const std::vector<ExampleRun>& before, const Target& target, const Config& config) {
  const auto instance = codegen::instantiate(problem, codegen::choose_params(problem, example.params));
  ExampleRun run = run_on(instance, example, target, config);
  for (const Mutation& mutation : instance->mutations)
    if (std::ranges::none_of(before, [&](const ExampleRun& one) { return shows(one, mutation.name); }))
      run.mutations[mutation.name] =
          run.faults.empty() &&
          !run_on(with_mutation(*instance, mutation), example, target, config).faults.empty();
  return run;
}

std::vector<std::string> shown_mutations(const ExampleRun& run) {
  std::vector<std::string> names;
  for (const auto& [name, shown] : run.mutations)
    if (shown) names.push_back(name);
  return names;
}

std::vector<std::string> unshown_mutations(const std::vector<ExampleRun>& runs) {
  std::map<std::string, bool> shown;
  for (const ExampleRun& run : runs)
    for (const auto& [name, shows] : run.mutations) shown[name] = shown[name] || shows;
  std::vector<std::string> names;
  for (const auto& [name, shows] : shown)
    if (!shows) names.push_back(name);
  return names;
}

}  // namespace ak::app
