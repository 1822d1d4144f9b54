// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/quarantine.h"

#include <fmt/format.h>

namespace ak::runtime {
namespace {

constexpr int kMaxLosses = 2;

}  // namespace

bool Quarantine::to_blame(const Losses& losses) const {
  return losses.count >= kMaxLosses && verdicts_ > losses.verdicts_before;
}

void Quarantine::count_loss(const std::string& key, Outcome& outcome) {
  Losses& losses = losses_[key];
  if (losses.count == 0) losses.verdicts_before = verdicts_;
  ++losses.count;
  if (to_blame(losses)) {
    if (!info(outcome.status).candidate_fault) outcome.status = Status::launch_error;
    outcome.message += fmt::format(
        "; quarantined: it took its device worker down {} times and is not run again", losses.count);
  }
  losses.last = outcome;
  losses.last.diagnostics.clear();
}

int Quarantine::losses(const std::string& key) const {
  const auto found = losses_.find(key);
  return found == losses_.end() ? 0 : found->second.count;
}

std::optional<Outcome> Quarantine::refusal(const std::string& key) const {
  const auto found = losses_.find(key);
  if (found == losses_.end() || !to_blame(found->second)) return std::nullopt;
  Outcome outcome = found->second.last;
  if (!info(outcome.status).candidate_fault) outcome.status = Status::launch_error;
  outcome.message = "not run: the same program and launches are in quarantine; before: " + outcome.message;
  return outcome;
}

}  // namespace ak::runtime
