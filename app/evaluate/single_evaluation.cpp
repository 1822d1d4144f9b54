// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/single_evaluation.h"

#include <algorithm>

#include "app/evaluate/evaluation_session.h"
#include "db/database.h"

namespace ak::tools {

bool SingleEvaluation::passed() const {
  return result.outcome.status == Status::ok || result.outcome.status == Status::compiled_only;
}

SingleEvaluation evaluate_once(const SingleOrder& order, const Target& target, const Config& config,
                               const std::filesystem::path& database) {
  const auto store = db::open_store(database);
  EvaluationSession session({.problem = order.problem, .command = order.command, .audited = order.audited},
                            target, config, *store);
  EvaluationRequest request = session.request(order.candidate);
  request.depth = std::min(request.depth, order.depth);
  Completed completed = session.complete(std::move(request));
  SingleEvaluation done;
  done.session = session.id();
  done.stored = session.commit(completed, "");
  done.result = std::move(completed.result);
  session.end("one evaluation", done.passed() ? std::optional(done.stored.variant) : std::nullopt);
  return done;
}

}  // namespace ak::tools
