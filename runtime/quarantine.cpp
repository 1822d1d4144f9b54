// SPDX-License-Identifier: Apache-2.0
#include "runtime/quarantine.h"

#include <fmt/format.h>

namespace ak::runtime {
namespace {

constexpr int kMostLosses = 2;

}  // namespace

void Quarantine::count_loss(const std::string& key, Outcome& outcome) {
  Losses& losses = losses_[key];
  if (++losses.count >= kMostLosses) {
    if (!info(outcome.status).candidate_fault) outcome.status = Status::launch_error;
    outcome.message += fmt::format(
        "; quarantined: it took its device worker down {} times and is not run again", losses.count);
  }
  losses.last = outcome;
  losses.last.diagnostics.clear();
}

std::optional<Outcome> Quarantine::refusal(const std::string& key) const {
  const auto found = losses_.find(key);
  if (found == losses_.end() || found->second.count < kMostLosses) return std::nullopt;
  Outcome outcome = found->second.last;
  outcome.message = "not run: the same program and launches are in quarantine; before: " + outcome.message;
  return outcome;
}

}  // namespace ak::runtime
