// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/problem_reader.h"
#include "core/error.h"
#include "core/tuning/measured_space.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/input_files.h"

namespace ak::fuzz {
namespace {

/// The first line is problem.json; the others are lines of workloads.jsonl.
void read_problem_lines(const codegen::Problem& problem, std::string_view text) {
  const ProblemInstance instance =
      codegen::read_instance(problem, codegen::choose_params(problem, std::map<std::string, std::string>{}));
  for (const std::string_view one : lines_of(text)) {
    const Json line = try_parse_json(one);
    if (line.is_discarded()) continue;
    if (codegen::is_held_out(line)) {
      (void)codegen::read_held_out(line, instance);
    } else if (const auto workload = codegen::read_workload(line, instance)) {
      AK_ASSERT(codegen::size_error(instance, workload->axes).empty(),
                "a workload that was read has valid sizes");
    }
  }
}

}  // namespace

void read_problem_files(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const Json json = try_parse_json(input.substr(0, end));
  if (json.is_discarded()) return;
  try {
    read_problem_lines(codegen::read_problem(json, "fuzz"), input.substr(std::min(end + 1, input.size())));
  } catch (const JsonInputError&) {
  } catch (const Error& error) {
    AK_ASSERT(error.code() == ExitCode::bad_input, "what is wrong in a file is bad input");
  }
}

void read_measured_points(std::string_view input) {
  const Result<MeasuredSpace> space = parse_measured_space(std::string(input));
  if (!space) return;
  const Result<MeasuredSpace> again = parse_measured_space(to_kernel_tuner_cache(*space).dump());
  AK_ASSERT(again.ok(), "a cache that was written can be read");
  AK_ASSERT(again->points.size() == space->points.size(), "a cache that was written has all points");
  AK_ASSERT(parse_measured_space(to_t4(*space).dump()).ok(), "results that were written can be read");
}

}  // namespace ak::fuzz
