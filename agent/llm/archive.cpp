// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/archive.h"

#include <algorithm>
#include <numeric>

#include "agent/seeds.h"

namespace ak::agent {

void Archive::add(Attempt attempt) {
  if (attempt.by_model) {
    if (attempt.passed) repairs_ = 0;
    recent_.push_back(attempt);
    if (recent_.size() > kRemembered) recent_.erase(recent_.begin());
  }
  if (!attempt.score_ns) return;
  const auto same = std::ranges::find_if(
      elites_, [&](const Attempt& old) { return old.candidate.source == attempt.candidate.source; });
  if (same != elites_.end()) {
    if (*same->score_ns <= *attempt.score_ns) return;
    attempt.uses = same->uses;
    elites_.erase(same);
  }
  const auto place = std::ranges::upper_bound(elites_, *attempt.score_ns, {},
                                              [](const Attempt& old) { return *old.score_ns; });
  elites_.insert(place, std::move(attempt));
  if (elites_.size() > kElites) elites_.pop_back();
}

std::vector<const Attempt*> Archive::elites() const {
  std::vector<const Attempt*> list;
  for (const Attempt& attempt : elites_) list.push_back(&attempt);
  return list;
}

/// The faster and the less used, the likelier: half as fast, or used once, halves the chance. One a source,
/// so that the archive stays diverse.
Attempt& Archive::weighted_elite() {
  std::vector<double> weights;
  for (const Attempt& elite : elites_)
    weights.push_back(*elites_.front().score_ns / *elite.score_ns / (1 + elite.uses));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto stream = static_cast<std::uint64_t>(choices_);
  double at = static_cast<double>(derive_seed(seed_, stream) >> 10) * 0x1p-53 * total;  // 63 bits to [0, 1)
  std::size_t chosen = 0;
  while (chosen + 1 < weights.size() && at >= weights[chosen]) at -= weights[chosen++];
  return elites_[chosen];
}

Choice Archive::choose() {
  ++choices_;
  if (!recent_.empty() && !recent_.back().passed && !recent_.back().candidate.plan.launches.empty() &&
      repairs_ < kRepairs) {
    ++repairs_;
    return {"repair", &recent_.back()};
  }
  repairs_ = 0;
  if (elites_.empty()) {
    const auto last = std::ranges::find_if(recent_.rbegin(), recent_.rend(), &Attempt::passed);
    if (last == recent_.rend()) return {"explore", nullptr};
    return {"improve", &*last};
  }
  Attempt& parent = weighted_elite();
  ++parent.uses;
  return {choices_ % kExploreEvery == 0 ? "explore" : "improve", &parent};
}

}  // namespace ak::agent
