// SPDX-License-Identifier: Apache-2.0
#include "tools/single_evaluation.h"

#include "core/error.h"
#include "core/hash.h"
#include "db/database.h"
#include "tools/assembler.h"

namespace ak::tools {

bool SingleEvaluation::passed() const {
  return result.outcome.status == Status::ok || result.outcome.status == Status::compiled_only;
}

SingleEvaluation evaluate_once(const SingleOrder& order, const Target& target, const Config& config,
                               const std::filesystem::path& database) {
  const auto store = db::open_store(database);
  const auto evaluator = make_evaluator(target, config);
  const std::uint64_t seed = random_seed() >> 1;
  SingleEvaluation done;
  done.session = store->begin_session({.command = order.command,
                                       .proposer = "user",
                                       .strategy = "none",
                                       .seed = seed,
                                       .budgets = Json::object(),
                                       .version = AK_VERSION,
                                       .audited = order.audited},
                                      *order.problem, target.device.value_or(DeviceFacts{}), target.arch);
  EvaluationRequest request;
  request.problem = order.problem;
  request.candidate = order.candidate;
  request.arch = target.arch;
  request.depth = target.executes() ? order.depth : Depth::build;
  request.seed = seed;
  request.changing_inputs = true;
  evaluator->submit(std::move(request));
  auto completed = evaluator->wait_any(std::chrono::steady_clock::time_point::max());
  AK_ASSERT(completed.has_value(), "an evaluation without a deadline always completes");
  done.stored = store->commit({.session = done.session,
                               .iteration = 0,
                               .proposer = "user",
                               .arm = "",
                               .parents = {},
                               .request = &completed->request,
                               .result = &completed->result});
  done.result = std::move(completed->result);
  store->end_session(done.session, "finished", "one evaluation",
                     done.passed() ? std::optional(done.stored.variant) : std::nullopt);
  return done;
}

}  // namespace ak::tools
