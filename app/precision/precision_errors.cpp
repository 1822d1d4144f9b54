// SPDX-License-Identifier: Apache-2.0
#include "app/precision/precision_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "app/setup/assembler.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/check/element_value.h"
#include "runtime/evaluator/reference_dump.h"

namespace ak::app {
namespace {

using Numbers = std::vector<double>;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

DType dtype_named(const std::string& name) { return parse_dtype(name).value(); }

/// A tensor of a dump. A scalar is one number.
Numbers numbers_of(const std::filesystem::path& folder, const Json& tensor) {
  if (tensor.contains("value")) return {tensor["value"].get<double>()};
  const DType dtype = dtype_named(tensor["dtype"]);
  const std::string bytes = read_file(folder / tensor["file"].get<std::string>());
  const auto size = static_cast<std::size_t>(info(dtype).bytes);
  Numbers numbers;
  for (std::size_t at = 0; at + size <= bytes.size(); at += size)
    numbers.push_back(runtime::element_value(reinterpret_cast<const std::byte*>(bytes.data()) + at, dtype));
  return numbers;
}

double rounded_to(DType dtype, double value) {
  std::array<std::byte, 8> bytes{};
  runtime::set_element(bytes.data(), dtype, value);
  return runtime::element_value(bytes.data(), dtype);
}

/// Every value is one of the other, rounded once.
bool is_rounding_of(const std::filesystem::path& folder, const Json& tensor,
                    const std::filesystem::path& precise, const Json& wide) {
  const DType dtype = dtype_named(tensor["dtype"]), wide_dtype = dtype_named(wide["dtype"]);
  if (info(dtype).floating != info(wide_dtype).floating) return false;
  const Numbers values = numbers_of(folder, tensor), exact = numbers_of(precise, wide);
  return std::ranges::equal(values, exact, [&](double value, double one) {
    const double expected = info(dtype).floating ? rounded_to(dtype, one) : one;
    return value == expected || (std::isnan(value) && std::isnan(expected));
  });
}

bool has_rounded_inputs(const std::filesystem::path& folder, const Json& set,
                        const std::filesystem::path& precise, const Json& wide) {
  return std::ranges::equal(set["inputs"], wide["inputs"], [&](const Json& one, const Json& other) {
    return one["name"] == other["name"] && is_rounding_of(folder, one, precise, other);
  });
}

/// Of elements [begin, end).
double rms_between(const Numbers& values, std::size_t begin, std::size_t end) {
  double squares = 0;
  for (std::size_t i = begin; i < end; ++i)
    if (std::isfinite(values[i])) squares += values[i] * values[i];
  return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, end - begin)));
}

/// As the harness's comparison (runtime/check/comparison.h); what is not the same when it is not finite is infinitely off.
double error_of(double got, double exact, double rms) {
  if (got == exact || (std::isnan(got) && std::isnan(exact))) return 0;
  if (!std::isfinite(got) || !std::isfinite(exact)) return kInfinite;
  return std::abs(got - exact) / (std::abs(exact) + rms);
}

void compare_output(const std::filesystem::path& folder, const Json& output,
                    const std::filesystem::path& precise, const Json& wide, bool per_row,
                    const std::string& distribution, PrecisionErrors& errors) {
  const DType dtype = dtype_named(output["declared_dtype"]);
  const Numbers got = numbers_of(folder, output), exact = numbers_of(precise, wide);
  if (got.size() != exact.size()) fail(ExitCode::bad_input, "outputs of two precisions have other shapes");
  const auto shape = output["shape"].get<std::vector<std::size_t>>();
  const std::size_t row = std::max<std::size_t>(1, per_row && !shape.empty() ? shape.back() : exact.size());
  for (std::size_t begin = 0; begin < exact.size(); begin += row) {
    const std::size_t end = std::min(exact.size(), begin + row);
    const double rms = rms_between(exact, begin, end);
    for (std::size_t i = begin; i < end; ++i) {
      errors.inputs = std::max(errors.inputs, error_of(got[i], exact[i], rms));
      const double rounded = error_of(rounded_to(dtype, got[i]), exact[i], rms);
      if (rounded > errors.rounded) errors.rounded = rounded, errors.worst = distribution;
    }
  }
}

Json index_of(const std::filesystem::path& folder) { return parse_json(read_file(folder / "index.json")); }

}  // namespace

std::string why_no_errors(const ProblemInstance& problem) {
  for (const TensorSpec& output : problem.definition.outputs) {
    const OutputRule rule = problem.tolerance.rule(output.name);
    if (!info(output.dtype).floating || info(output.dtype).values > 1)
      return fmt::format("its output '{}' is of type {}", output.name, info(output.dtype).name);
    if (rule.has_view())
      return fmt::format("its output '{}' is not compared element by element", output.name);
  }
  return "";
}

PrecisionErrors precision_errors(const std::filesystem::path& folder, const std::filesystem::path& precise,
                                 const Tolerance& tolerance, const std::vector<std::string>& inputs_like) {
  if (std::ranges::find(inputs_like, kNoDistribution) != inputs_like.end())
    return precision_errors(folder, folder, tolerance, {});
  PrecisionErrors errors;
  const Json index = index_of(folder), of_precise = index_of(precise);
  for (const Json& set : index["data_sets"]) {
    const std::string distribution = set["distribution"];
    if (!inputs_like.empty() && std::ranges::find(inputs_like, distribution) == inputs_like.end()) continue;
    ++errors.data_sets;
    const auto wide = std::ranges::find_if(of_precise["data_sets"], [&](const Json& other) {
      return other["workload"] == set["workload"] && other["distribution"] == set["distribution"];
    });
    if (wide == of_precise["data_sets"].end() || !has_rounded_inputs(folder, set, precise, *wide)) continue;
    ++errors.compared;
    for (std::size_t i = 0; i < set["outputs"].size(); ++i) {
      const Json& output = set["outputs"][i];
      compare_output(folder, output, precise, (*wide)["outputs"].at(i),
                     tolerance.rule(output["name"].get<std::string>()).per_row, distribution, errors);
    }
  }
  return errors;
}

void dump_exact_results(const std::shared_ptr<const ProblemInstance>& problem, const Target& target,
                        const Config& config, std::uint64_t seed, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  runtime::DumpRequest request{
      .problem = problem, .workloads = {}, .seed = seed, .folder = std::filesystem::absolute(folder)};
  for (const Workload* one : runtime::select_workloads(*problem, {}, DeviceKind::emulator))
    request.workloads.push_back(one->name);
  const Outcome outcome = runtime::dump_references(evaluator_options(target, config), source_assembler(),
                                                   *target.device, request);
  if (outcome.status != Status::ok)
    fail(ExitCode::bad_input, "{}: {}", problem->definition.name, explain(outcome));
}

double left_for_kernels(double max_error, const PrecisionErrors& errors) {
  // Errors add up. A kernel's is relative to the exact results on rounded inputs, which are further from zero than those
  // on the widest by 3 times their own error at most: |d| + rms(d) <= (|w| + rms(w)) (1 + 3 error).
  return (max_error - errors.inputs) / (1 + 3 * errors.inputs);
}

}  // namespace ak::app
