// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/signature.h"
#include "core/error.h"
#include "core/plan/candidate.h"
#include "core/plan/definition.h"
#include "core/plan/expression.h"
#include "core/plan/include_scan.h"
#include "core/plan/launch_plan.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ak::fuzz {
namespace {

const Environment& some_environment() {
  static const Environment environment{
      {"M", std::int64_t{77}},         {"N", std::int64_t{4096}},          {"BLOCK", std::int64_t{256}},
      {"sm_count", std::int64_t{132}}, {"dtype", std::string("bfloat16")}, {"causal", true}};
  return environment;
}

/// What was read is written and read again, and resolved for one workload.
void use_plan(const LaunchPlan& plan) {
  const Json written = to_json(plan);
  const Result<LaunchPlan> again = launch_plan_from_json(written);
  AK_ASSERT(again.ok(), "a plan that was written can be read");
  AK_ASSERT(to_json(*again).dump() == written.dump(), "a plan that was written and read is the same");
  (void)resolve(plan, some_environment());
}

}  // namespace

void read_candidate(std::string_view input) {
  (void)scan_includes(input);
  (void)codegen::first_kernel(input);
  AK_ASSERT(blank_comments_and_strings(input).size() == input.size(), "blanks take the place of comments");
  if (const Result<Candidate> candidate = parse_candidate("fuzz.cu", input)) use_plan(candidate->plan);
}

void read_plan(std::string_view input) {
  const Json json = try_parse_json(input);
  if (json.is_discarded()) return;
  if (const Result<LaunchPlan> plan = launch_plan_from_json(json)) use_plan(*plan);
}

void read_expression(std::string_view input) {
  const Result<Expression> expression = Expression::parse(input);
  if (!expression) return;
  (void)expression->evaluate(some_environment());
  (void)expression->evaluate_integer(some_environment());
  (void)expression->evaluate_bool({});
}

void read_definition(std::string_view input) {
  const Json json = try_parse_json(input);
  if (json.is_discarded()) return;
  const Result<Definition> definition = definition_from_json(json);
  if (!definition) return;
  AK_ASSERT(definition_from_json(to_json(*definition)).ok(), "a definition that was written can be read");
}

}  // namespace ak::fuzz
