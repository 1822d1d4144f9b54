// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/llm_calls.h"

#include <set>

#include "agent/llm/api/recording.h"
#include "agent/llm/question_facts.h"
#include "core/error.h"

namespace ak::agent {

void LlmCalls::begin(RowId search, VariantStore& store) {
  search_ = search;
  store_ = &store;
}

std::optional<LlmCall> LlmCalls::send(Question& question, std::size_t model_index,
                                      const std::string& credited_arm, const std::string& bottleneck) {
  AK_ASSERT(store_ != nullptr, "a question belongs to a search");
  const LlmModel& model = options_.models[model_index];
  const auto reservation = spending_.reserve(model.entry, question.request);
  if (!reservation) return std::nullopt;
  LlmCall call;
  call.model = model_index;
  call.reservation = *reservation;
  call.number = ++asked_;
  call.row = store_->begin_llm_call({.search = search_,
                                     .model = model.name,
                                     .arm = question.is_repeat ? "unreadable" : question.arm,
                                     .credited_arm = credited_arm,
                                     .prompt_version = options_.prompts.version(),
                                     .bottleneck = bottleneck,
                                     .request = to_json(question.request)});
  if (model.client->takes_facts()) {
    call.name = store_->name_of_llm_call(call.row);
    if (model.client->keeps_questions()) search_name_ = call.name.search;
    question.request.about =
        question_facts(options_, spending_, question, model.name, call.name, call.number);
  }
  call.sent = std::chrono::steady_clock::now();
  models_.set_busy(model_index, true);
  call.reply = std::async(std::launch::async, [this, client = model.client, request = question.request] {
    return client->ask(request, &cancelled_);
  });
  return call;
}

LlmReply LlmCalls::receive(LlmCall& call) { return end(call, false); }

void LlmCalls::leave(LlmCall& call) {
  static_cast<void>(end(call, options_.models[call.model].client->keeps_questions()));
}

/// @param stays without an answer it is still to be answered
LlmReply LlmCalls::end(LlmCall& call, bool stays) {
  LlmReply reply = call.reply.get();
  const std::chrono::duration<double, std::milli> latency = std::chrono::steady_clock::now() - call.sent;
  if (stays && reply.failure && reply.failure->fault == LlmFault::cancelled)
    reply.usage = {};
  else
    store_->end_llm_call(call.row, reply, latency.count());
  models_.set_busy(call.model, false);
  spending_.count(call.reservation, reply);
  return reply;
}

void LlmCalls::withdraw(const LlmCall& call, std::string_view why) {
  options_.models[call.model].client->withdraw(call.name, why);
}

void LlmCalls::withdraw_all(std::string_view why) {
  if (search_name_.empty()) return;
  std::set<std::string> told;
  for (const LlmModel& model : options_.models)
    if (model.client->keeps_questions() && told.insert(model.name).second)
      model.client->withdraw({.search = search_name_, .id = ""}, why);
}

}  // namespace ak::agent
