// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/typical_results.h"

#include <algorithm>
#include <cmath>

#include "runtime/check/element_value.h"

namespace ak::runtime {
namespace {

constexpr int kDraws =
    16;  // with one element each: an honest error beyond four times their root mean square is rare
constexpr std::uint64_t kFirstSeed = 0x7E57'0000'0000'0000;  // apart from the small seeds that people give

bool few_results(const OpenProblem& problem, const WorkloadLayout& workload, std::size_t tensor) {
  const TensorLayout& layout = problem.tensors[tensor];
  const OutputRule rule = problem.tolerance.rule(layout.name);
  return layout.output && info(layout.dtype).floating && !rule.has_view() && !rule.per_row &&
         workload.elements(tensor) < kFewResults;
}

std::vector<double> read(const HiddenBuffer& buffer, DType dtype, std::int64_t count) {
  const auto mapping = buffer.map();
  const auto size = static_cast<std::size_t>(info(dtype).bytes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  check(driver().cuMemcpyDtoH(bytes.data(), mapping.address(), bytes.size()), "reading a small result");
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes.size(); at += size) values.push_back(element_value(&bytes[at], dtype));
  return values;
}

void append_pairs(const ReferenceData& reference, DType dtype, std::int64_t count,
                  std::vector<ResultPair>& pairs) {
  const std::vector<double> exact = read(reference.exact, DType::float64, count);
  const std::vector<double> twin = read(reference.twin, dtype, count);
  for (std::size_t i = 0; i < exact.size(); ++i) pairs.push_back({exact[i], twin[i]});
}

}  // namespace

TypicalResult typical_result(std::span<const ResultPair> pairs) {
  std::vector<ResultPair> finite;
  std::ranges::copy_if(pairs, std::back_inserter(finite), [](const ResultPair& pair) {
    return std::isfinite(pair.exact) && std::isfinite(pair.twin);
  });
  if (finite.empty()) return {};
  const auto count = static_cast<double>(finite.size());
  double squares = 0, squared_errors = 0, largest = 0;
  for (const ResultPair& pair : finite) squares += pair.exact * pair.exact;
  const double rms = std::sqrt(squares / count);
  for (const ResultPair& pair : finite) {
    if (pair.exact == pair.twin) continue;
    const double error = std::abs(pair.twin - pair.exact) / (std::abs(pair.exact) + rms);
    squared_errors += error * error;
    largest = std::max(largest, error);
  }
  return {.rms = rms, .rms_error = std::sqrt(squared_errors / count), .max_error = largest};
}

bool has_few_results(const OpenProblem& problem, const WorkloadLayout& workload) {
  for (std::size_t tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (few_results(problem, workload, tensor)) return true;
  return false;
}

Result<std::vector<TypicalResult>, Outcome> typical_results(const OpenProblem& problem,
                                                            DataSetBuilder& builder) {
  const DataSet& data = *builder.data();
  std::vector<std::vector<ResultPair>> pairs(data.references.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    builder.fill(kFirstSeed + static_cast<std::uint64_t>(draw));
    if (auto failed = builder.compute_references()) return *failed;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const std::size_t tensor = data.references[i].tensor;
      if (few_results(problem, *data.workload, tensor))
        append_pairs(data.references[i], problem.tensors[tensor].dtype, data.workload->elements(tensor),
                     pairs[i]);
    }
  }
  std::vector<TypicalResult> results;
  for (const auto& of_output : pairs) results.push_back(typical_result(of_output));
  return results;
}

}  // namespace ak::runtime
