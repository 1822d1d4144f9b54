// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/problem.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::test {

/// c = f(a, b) over vectors, for tests that need a whole problem without reading files.
struct TinyProblem {
  DType dtype = DType::float32;
  std::string expression = "a[i] + b[i]";  ///< of the references; over `wide` values
  std::vector<std::int64_t> check_sizes = {1,
                                           1000};  ///< workloads n1, n1000: checked with every distribution
  std::vector<std::int64_t> time_sizes = {};       ///< workloads t...: checked with one, and timed
  std::optional<int> bytes_read_an_element = {};   ///< what the problem claims; nothing: the truth
  bool allow_nondeterministic = false;
  bool in_place = false;             ///< c shares a's memory
  bool weight = false;               ///< b is one
  std::vector<double> scalars = {};  ///< what a scalar input s, a float, may be; none without
  std::int64_t columns =
      1;  ///< more than one: tensors are [N, C], and `expression` is over all N * C elements
  Tolerance tolerance = {};
  std::vector<InputDistribution> distributions = {{"normal", InputKind::normal, 1, 0},
                                                  {"ramp", InputKind::ramp, 2, 0}};
};
[[nodiscard]] std::shared_ptr<const ProblemInstance> make_problem(const TinyProblem& tiny);

/// Puts candidates and references into translation units as they are: no codegen.
[[nodiscard]] runtime::SourceAssembler plain_assembler();

/// A candidate from CUDA source and the JSON of its plan.
[[nodiscard]] Candidate make_candidate(const std::string& name, const std::string& plan,
                                       const std::string& source);

/// Plan of one launch of `kernel` over `elements`, 256 threads per block, arguments a, b, c and their
/// number as i64.
[[nodiscard]] std::string elementwise_plan(const std::string& kernel, const std::string& elements = "N");

/// This test program as a worker: its main must hand `worker` arguments to worker_main.
[[nodiscard]] std::vector<std::string> self_as_worker();

}  // namespace ak::test
