// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/single_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "agent/evaluate_one.h"
#include "agent/search_context.h"
#include "app/evaluate/user_search.h"
#include "app/setup/assembler.h"
#include "db/database.h"

namespace ak::app {

bool SingleEvaluation::passed() const {
  return result.outcome.status == Status::ok || result.outcome.status == Status::compiled_only;
}

namespace {

/// Of a kernel that is right on the CPU device: what is wrong on the smallest one that has room for it. What says nothing of
/// multiprocessors runs there as it did.
std::optional<Completed> wrong_on_small_device(EvaluationRequest request, const Target& target,
                                               const Config& config) {
  if (!request.candidate.asks_for_multiprocessors()) return std::nullopt;
  request.depth = Depth::check;
  for (const agent::LoopOptions::Examiner& examiner : small_devices(target, config, {})) {
    const auto evaluator = examiner.make();
    Completed done = agent::evaluate_one(*evaluator, request);
    Outcome& outcome = done.result.outcome;
    if (is_verified(outcome.status)) break;
    if (!agent::is_verdict_of_examiner(outcome, examiner.is_smaller)) continue;
    outcome.message = fmt::format("on a {}: {}", examiner.name, outcome.message);
    return done;
  }
  return std::nullopt;
}

}  // namespace

SingleEvaluation evaluate_once(const SingleOrder& order, const Target& target, const Config& config,
                               const std::filesystem::path& database) {
  const auto store = db::open_store(database);
  UserSearch search({.problem = order.problem, .command = order.command, .audited = order.audited}, target,
                    config, *store);
  EvaluationRequest request = search.request(order.candidate);
  request.depth = std::min(request.depth, order.depth);
  Completed completed = search.complete(request);
  if (target.kind == DeviceKind::emulator && completed.result.outcome.status == Status::ok)
    if (auto wrong = wrong_on_small_device(std::move(request), target, config)) completed = *std::move(wrong);
  SingleEvaluation done;
  done.search = search.id();
  done.stored = search.commit(completed, "");
  done.result = std::move(completed.result);
  search.end("one evaluation", done.passed() ? std::optional(done.stored.variant) : std::nullopt);
  return done;
}

}  // namespace ak::app
