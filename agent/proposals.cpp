// SPDX-License-Identifier: Apache-2.0
#include "agent/proposals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "agent/seeds.h"
#include "core/error.h"

namespace ak::agent {

Proposals::Proposals(const LoopOptions& options, const DeviceFacts& device, const Clock& clock)
    : clock_(clock) {
  const StrategyEntry* entry = find_strategy(options.strategy);
  if (entry == nullptr) fail(ExitCode::usage, "unknown strategy '{}'", options.strategy);
  Environment environment = options.problem->environment({});
  environment.merge(device_environment(device, options.arch));
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < options.templates.size(); ++i) {
    const Candidate& candidate = options.templates[i];
    const auto broken = broken_constraints(candidate.plan, environment, candidate.tunables);
    if (!broken.empty())
      reasons.push_back(fmt::format("{} needs {}", candidate.name, fmt::join(broken, " and ")));
    SearchSpace space{candidate.plan.tunables, enumerate_tunables(candidate.plan, environment, kMaxPoints)};
    const bool start_in_space = std::ranges::find(space.points, candidate.tunables) != space.points.end();
    space_points_ += std::ssize(space.points) + (broken.empty() && !start_in_space ? 1 : 0);
    searches_.push_back({&candidate, entry->make(std::move(space), derive_seed(options.seed, i + 1)),
                         broken.empty(), start_in_space});
    active_.push_back(i);
  }
  if (space_points_ == 0) {
    fail(ExitCode::no_kernel, "no kernel template of {} is for {} with these parameters: {}",
         options.problem->problem, options.arch.sm(), fmt::join(reasons, "; "));
  }
}

std::optional<Proposal> Proposals::next() {
  if (!retries_.empty()) {
    Proposal proposal = std::move(retries_.front());
    retries_.pop_front();
    return proposal;
  }
  const auto begin = clock_.now();
  auto proposal = first_or_next();
  if (proposal) {
    proposal->asked = begin;
    proposal->ask_time = clock_.now() - begin;
  }
  return proposal;
}

std::optional<Proposal> Proposals::first_or_next() {
  while (starts_given_ < searches_.size()) {
    const std::size_t index = starts_given_++;
    if (!searches_[index].start_allowed) continue;
    return Proposal{.template_index = index, .point = searches_[index].candidate->tunables, .is_start = true};
  }
  while (!active_.empty()) {
    turn_ %= active_.size();
    const std::size_t index = active_[turn_];
    if (auto point = ask(searches_[index])) {
      ++turn_;
      return Proposal{.template_index = index,
                      .point = std::move(*point),
                      .member = searches_[index].strategy->chooser()};
    }
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(turn_));
  }
  return std::nullopt;
}

std::optional<TunableValues> Proposals::ask(TemplateSearch& search) {
  auto point = search.strategy->ask();
  if (point && *point == search.candidate->tunables)
    point = search.strategy->ask();  // given as the start already
  return point;
}

void Proposals::retry(Proposal proposal) {
  proposal.is_retry = true;
  retries_.push_back(std::move(proposal));
}

void Proposals::tell(const Proposal& proposal, std::optional<double> time_ns) {
  TemplateSearch& search = searches_[proposal.template_index];
  if (proposal.is_start && !search.start_in_space) return;  // a strategy knows only the points of its space
  search.strategy->tell(proposal.point, time_ns);
}

}  // namespace ak::agent
