// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/single_evaluation.h"

#include <algorithm>

#include "app/evaluate/user_search.h"
#include "db/database.h"

namespace ak::app {

bool SingleEvaluation::passed() const {
  return result.outcome.status == Status::ok || result.outcome.status == Status::compiled_only;
}

SingleEvaluation evaluate_once(const SingleOrder& order, const Target& target, const Config& config,
                               const std::filesystem::path& database) {
  const auto store = db::open_store(database);
  UserSearch search({.problem = order.problem, .command = order.command, .audited = order.audited}, target,
                    config, *store);
  EvaluationRequest request = search.request(order.candidate);
  request.depth = std::min(request.depth, order.depth);
  Completed completed = search.complete(std::move(request));
  SingleEvaluation done;
  done.search = search.id();
  done.stored = search.commit(completed, "");
  done.result = std::move(completed.result);
  search.end("one evaluation", done.passed() ? std::optional(done.stored.variant) : std::nullopt);
  return done;
}

}  // namespace ak::app
