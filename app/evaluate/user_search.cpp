// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/user_search.h"

#include "agent/evaluate_one.h"
#include "app/setup/assembler.h"
#include "core/error.h"
#include "core/text/hash.h"

namespace ak::app {

UserSearch::UserSearch(Order order, const Target& target, const Config& config, VariantStore& store)
    : order_(std::move(order)),
      target_(target),
      store_(store),
      evaluator_(make_evaluator(target, config)),
      seed_(random_seed() >> 1) {
  search_ = store.begin_search({.command = order_.command,
                                .proposer = "user",
                                .strategy = "none",
                                .seed = seed_,
                                .budgets = Json::object(),
                                .version = AK_VERSION,
                                .audited = order_.audited},
                               *order_.problem, target.device.value_or(DeviceFacts{}), target.arch);
}

EvaluationRequest UserSearch::request(Candidate candidate) const {
  EvaluationRequest request;
  request.problem = order_.problem;
  request.candidate = std::move(candidate);
  request.arch = target_.arch;
  request.depth = target_.executes() ? Depth::time : Depth::build;
  request.seed = seed_;
  request.changing_inputs = true;
  return request;
}

Completed UserSearch::complete(EvaluationRequest request) {
  return agent::evaluate_one(*evaluator_, std::move(request));
}

StoredEvaluation UserSearch::commit(const Completed& done, std::string arm, std::vector<RowId> parents) {
  return store_.commit({.search = search_,
                        .iteration = iteration_++,
                        .proposer = "user",
                        .arm = std::move(arm),
                        .parents = std::move(parents),
                        .request = &done.request,
                        .result = &done.result});
}

void UserSearch::end(std::string_view reason, std::optional<RowId> best) {
  store_.end_search(search_, "finished", reason, best);
}

}  // namespace ak::app
