// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/model_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text/print_stderr.h"

namespace ak::agent {
namespace {

using std::chrono::steady_clock;

constexpr int kMaxFailuresInARow = 5;  // each after its retries; chosen
// Exchanges without a candidate, of two requests each: a model that only chats does not learn to write; chosen.
constexpr int kMaxUselessInARow = 5;

}  // namespace

std::vector<std::size_t> ModelPool::free() const {
  std::vector<std::size_t> free;
  std::set<std::string> names;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const State& model = states_[i];
    if (!model.busy && model.end_reason.empty() && model.paused_until <= steady_clock::now() &&
        names.insert(options_.models[i].name).second)
      free.push_back(i);
  }
  return free;
}

bool ModelPool::resting() const {
  const auto now = steady_clock::now();
  return std::ranges::all_of(
      states_, [&](const State& model) { return !model.end_reason.empty() || now < model.paused_until; });
}

void ModelPool::note_answer(std::size_t model) {
  states_[model].failures_in_a_row = 0;
  states_[model].out_since.reset();
}

void ModelPool::note_failure(std::size_t index, const LlmFailure& failure) {
  const std::string& name = options_.models[index].name;
  const LlmFaultInfo& fault = info(failure.fault);
  State& model = states_[index];
  if (fault.retry && options_.outage) return rest(model, name, failure);
  if (failure.fault != LlmFault::cancelled)
    print_stderr("note: {}: {}: {}\n", name, fault.name, failure.message);
  if (fault.permanent || ++model.failures_in_a_row >= kMaxFailuresInARow)
    give_up(name, fmt::format("{}: {}", fault.name, failure.message));
}

/// An outage may pass: the search continues meanwhile, and the model is asked again later.
void ModelPool::rest(State& model, const std::string& name, const LlmFailure& failure) {
  const auto now = steady_clock::now();
  model.pause =
      model.out_since ? std::min(2 * model.pause, options_.outage->longest) : options_.outage->first;
  if (!model.out_since) model.out_since = now;
  model.paused_until = now + model.pause;
  const auto& fault = info(failure.fault).name;
  if (now - *model.out_since >= options_.outage->most)
    return give_up(name, fmt::format("{}: {}", fault, failure.message));
  print_stderr("note: {}: {}: {}; it is asked again in {} s\n", name, fault, failure.message,
               std::chrono::duration_cast<std::chrono::seconds>(model.pause).count());
}

void ModelPool::note_exchange(std::size_t index, bool useful) {
  State& model = states_[index];
  model.useless_in_a_row = useful ? 0 : model.useless_in_a_row + 1;
  if (model.useless_in_a_row >= kMaxUselessInARow)
    give_up(options_.models[index].name,
            fmt::format("{} exchanges in a row without a candidate", model.useless_in_a_row));
}

void ModelPool::give_up(const std::string& name, const std::string& why) {
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (options_.models[i].name == name) states_[i].end_reason = why;
  if (std::ranges::none_of(states_, [](const State& model) { return model.end_reason.empty(); }))
    end_reason_ = fmt::format("the model cannot be asked: {}", why);
}

}  // namespace ak::agent
