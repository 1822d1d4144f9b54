// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/archive.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "agent/llm/approach.h"
#include "agent/seeds.h"

namespace ak::agent {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double best_ns(const std::vector<Attempt>& elites) {
  return elites.empty() ? kNever : *elites.front().score_ns;
}

/// Elites in their order without those that are too many of one approach, and the slowest.
void drop_similar(std::vector<Attempt>& elites) {
  std::map<std::string, std::size_t> seen;
  std::erase_if(elites,
                [&](const Attempt& elite) { return ++seen[elite.approach] > Archive::kOfOneApproach; });
  if (elites.size() > Archive::kElites) elites.resize(Archive::kElites);
}

}  // namespace

void Archive::add(Attempt attempt) {
  attempt.approach = approach_of(attempt.candidate);
  note_point(attempt);
  note_limits(attempt);
  if (attempt.by_model) {
    recent_.push_back(attempt);
    if (recent_.size() > kRemembered) recent_.erase(recent_.begin());
  }
  if (attempt.score_ns) insert(std::move(attempt));
}

void Archive::note_point(const Attempt& attempt) {
  if (!attempt.score_ns) return;
  const std::string& source = attempt.candidate.source;
  if (!surfaces_.contains(source) && surfaces_.size() >= kSurfaces) return;
  auto& times = surfaces_[source].times_ns;
  if (times.size() < kPoints) times[attempt.candidate.tunables] = *attempt.score_ns;
}

void Archive::note_limits(const Attempt& attempt) {
  if (attempt.bottleneck.empty() || !attempt.score_ns) return;
  const auto known = limits_.find(attempt.candidate.source);
  if (known == limits_.end() ? limits_.size() >= kSurfaces : known->second.score_ns < *attempt.score_ns)
    return;
  limits_[attempt.candidate.source] = {attempt.bottleneck, attempt.limits, attempt.candidate.tunables,
                                       *attempt.score_ns};
}

const KnownLimits* Archive::limits(const std::string& source) const {
  const auto found = limits_.find(source);
  return found == limits_.end() ? nullptr : &found->second;
}

/// Where its source is already; what the search found in a source belongs where that was written.
int Archive::island_of(const Attempt& attempt) const {
  if (attempt.by_model) return attempt.island;
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    for (const Attempt& elite : islands_[i].elites)
      if (elite.candidate.source == attempt.candidate.source) return static_cast<int>(i);
  }
  return 0;
}

void Archive::insert(Attempt attempt) {
  attempt.island = island_of(attempt);
  Island& island = islands_[static_cast<std::size_t>(attempt.island)];
  auto& elites = island.elites;
  if (*attempt.score_ns < best_ns(elites)) island.stale = 0;
  const auto same = std::ranges::find_if(
      elites, [&](const Attempt& old) { return old.candidate.source == attempt.candidate.source; });
  if (same != elites.end()) {
    if (*same->score_ns <= *attempt.score_ns) return;
    attempt.uses = same->uses;
    elites.erase(same);
  }
  const auto place = std::ranges::upper_bound(elites, *attempt.score_ns, {},
                                              [](const Attempt& old) { return *old.score_ns; });
  elites.insert(place, std::move(attempt));
  drop_similar(elites);
}

std::vector<const Attempt*> Archive::elites() const {
  std::vector<const Attempt*> list;
  for (const Island& island : islands_)
    for (const Attempt& attempt : island.elites) list.push_back(&attempt);
  std::ranges::stable_sort(list, {}, [](const Attempt* attempt) { return *attempt->score_ns; });
  std::set<std::string_view> seen;
  std::erase_if(list, [&](const Attempt* attempt) { return !seen.insert(attempt->candidate.source).second; });
  return list;
}

const Surface* Archive::surface(const std::string& source) const {
  const auto found = surfaces_.find(source);
  return found == surfaces_.end() ? nullptr : &found->second;
}

int Archive::best_island() const {
  const auto best =
      std::ranges::min_element(islands_, {}, [](const Island& island) { return best_ns(island.elites); });
  return static_cast<int>(best - islands_.begin());
}

Archive::Turn Archive::next_turn() {
  const int island = turns_++ % static_cast<int>(islands_.size());
  const Island& now = islands_[static_cast<std::size_t>(island)];
  if (now.stale >= kStale) return stagnating(island);
  if (island > 0 && now.elites.empty()) return {island, "fresh"};
  return {island, ""};
}

Archive::Turn Archive::stagnating(int island) {
  islands_[static_cast<std::size_t>(island)].stale = 0;
  if (islands_.size() < kIslands) {
    islands_.emplace_back();
    return {static_cast<int>(islands_.size()) - 1, "fresh"};
  }
  const int best = best_island();
  Island& now = islands_[static_cast<std::size_t>(island)];
  if (island == best) return {island, "crossover"};
  // A fresh start had no result: a founder from the best island, to go another way from there.
  if (now.elites.empty()) {
    const auto& founders = islands_[static_cast<std::size_t>(best)].elites;
    if (founders.empty()) return {island, "fresh"};
    now.elites = {founders.front()};
    return {island, "explore"};
  }
  if (island > 0) now.elites.clear();
  return {island, island > 0 ? "fresh" : "crossover"};
}

std::vector<std::string> Archive::arms(int island) const {
  if (islands_[static_cast<std::size_t>(island)].elites.empty() && last_passed() == nullptr) return {};
  std::vector<std::string> list{"improve", "explore"};
  if (elites().size() > 1) list.emplace_back("crossover");
  return list;
}

/// Where nothing is timed there are no elites.
const Attempt* Archive::last_passed() const {
  const auto last = std::ranges::find_if(recent_.rbegin(), recent_.rend(), &Attempt::passed);
  return last == recent_.rend() ? nullptr : &*last;
}

/// The faster and the less used, the likelier: half as fast, or used once, halves the chance.
Attempt* Archive::weighted_elite(int island) {
  auto& elites = islands_[static_cast<std::size_t>(island)].elites;
  std::vector<double> weights;
  for (const Attempt& elite : elites)
    weights.push_back(*elites.front().score_ns / *elite.score_ns / (1 + elite.uses));
  if (weights.empty()) return nullptr;
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto stream = static_cast<std::uint64_t>(++choices_);
  double at = static_cast<double>(derive_seed(seed_, stream) >> 10) * 0x1p-53 * total;  // 63 bits to [0, 1)
  std::size_t chosen = 0;
  while (chosen + 1 < weights.size() && at >= weights[chosen]) at -= weights[chosen++];
  return &elites[chosen];
}

Choice Archive::choose(const std::string& arm, int island) {
  Choice choice{.arm = arm, .island = island};
  if (arm == "fresh") return choice;
  Attempt* parent = weighted_elite(island);
  choice.parent = parent != nullptr ? parent : last_passed();
  if (parent != nullptr) ++parent->uses;
  if (choice.parent == nullptr) return {.arm = "fresh", .island = island};
  if (arm != "crossover") return choice;
  // The best of another island, of another approach where there is one.
  for (const bool same_approach : {false, true}) {
    for (const Attempt* other : elites()) {
      if (other->candidate.source == choice.parent->candidate.source) continue;
      if (!same_approach && other->approach == choice.parent->approach) continue;
      choice.second = other;
      return choice;
    }
  }
  choice.arm = "improve";
  return choice;
}

}  // namespace ak::agent
