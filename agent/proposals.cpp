// SPDX-License-Identifier: Apache-2.0
#include "agent/proposals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "agent/seeds.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "core/tuning/plan_space.h"

namespace ak::agent {

Proposals::Proposals(const LoopOptions& options, const DeviceFacts& device, const Clock& clock)
    : clock_(clock),
      predictor_(options.target_predictor),
      strategy_(find_strategy(options.strategy)),
      earlier_(options.earlier),
      seed_(options.seed),
      environment_(options.problem->environment({})) {
  if (strategy_ == nullptr) fail(ExitCode::usage, "{}", unknown_strategy(options.strategy));
  environment_.merge(device_environment(device, options.arch));
  for (const Candidate& candidate : options.templates) {
    append(candidate);
    const std::size_t index = searches_.size() - 1;
    if (options.search_tunables) open_template(index);
    if (index < options.failed.size()) rule_out(index, options.failed[index]);
  }
  if (space_points_ == 0 && options.source == nullptr) {
    std::vector<std::string> reasons;
    for (const TemplateSearch& search : searches_) reasons.push_back(why_without_points(search.candidate));
    fail(ExitCode::no_kernel, "no kernel template of {} is for {} with these parameters: {}",
         options.problem->problem, options.arch.sm(), fmt::join(reasons, "; "));
  }
  for (const FirstPoint& first : options.first_points) add_first_point(first);
  if (options.search_tunables) add_starts();
}

/// One whose space is refused costs the search no more than this template's tunables.
void Proposals::open_template(std::size_t index) {
  const TemplateSearch& search = searches_[index];
  Result<TunableSpace> space = plan_space(search.candidate.plan, environment_);
  if (space.ok()) return open(index, std::move(space).value());
  print_stderr("note: {}{}: {}\n", search.candidate.name,
               search.start_allowed ? " is evaluated at its own point alone" : " is left out",
               space.error().message);
}

/// Builds the space again: all of them at once may be too large, and the reasons are seldom asked for.
std::string Proposals::why_without_points(const Candidate& candidate) const {
  const Result<TunableSpace> space = plan_space(candidate.plan, environment_);
  if (!space) return fmt::format("{}: {}", candidate.name, space.error().message);
  const auto needed = space->size() == 0
                          ? contradiction(*space)
                          : broken_constraints(candidate.plan, environment_, candidate.tunables);
  return fmt::format("{} needs {}", candidate.name, fmt::join(needed, " and "));
}

bool Proposals::has_point(std::size_t template_index, const TunableValues& point) const {
  return ak::has_point(searches_[template_index].candidate.plan, environment_, point);
}

/// The strategy is told when it proposes one: the search then takes the same course as if that was evaluated.
void Proposals::rule_out(std::size_t index, std::set<TunableValues> failed) {
  TemplateSearch& search = searches_[index];
  search.failed = std::move(failed);
  if (!search.start_allowed || !search.failed.contains(search.candidate.tunables)) return;
  search.start_allowed = false;
  search.given.erase(search.candidate.tunables);
}

bool Proposals::add_first_point(const FirstPoint& first) {
  const std::size_t index = first.template_index;
  if (!has_point(index, first.point) || searches_[index].failed.contains(first.point)) return false;
  if (!searches_[index].given.insert(first.point).second) return false;
  first_points_.push_back({.template_index = index, .point = first.point, .origin = first.arm});
  return true;
}

// Of the starts of a template that a search tries: a kernel set wants a point for every kind of shape, a search has one
// shape. Of gemm's four templates in bfloat16 that is 28, where experiments give a run 40 evaluations.
constexpr std::size_t kMostStarts = 12;

/// The templates take turns: each has its best ones first.
void Proposals::add_starts() {
  std::vector<std::size_t> added(searches_.size(), 0);
  std::size_t most = 0;
  for (const TemplateSearch& search : searches_) most = std::max(most, search.candidate.plan.starts.size());
  for (std::size_t turn = 0; turn < most; ++turn)
    for (std::size_t i = 0; i < searches_.size(); ++i)
      if (const auto& starts = searches_[i].candidate.plan.starts;
          turn < starts.size() && added[i] < kMostStarts)
        added[i] += add_first_point({.template_index = i, .point = starts[turn], .arm = "start"});
}

/// What ranks in this search; nothing: it failed, or this search's model predicted nothing of it.
std::optional<double> Proposals::ranked_by(const KnownPoint& known) const {
  if (predictor_ == nullptr) return known.score_ns;
  return predictor_->ranks_with(known.predicted_by) ? known.predicted_ns : std::nullopt;
}

int Proposals::remember(std::vector<std::vector<KnownPoint>> known_of_templates) {
  // Of those that rank alike the one that costs less, as for the champion.
  std::vector<std::pair<std::pair<double, double>, Proposal>> fastest;
  int told = 0;
  for (std::size_t i = 0; i < known_of_templates.size(); ++i) {
    for (const KnownPoint& known : known_of_templates[i]) {
      const auto rank_ns = ranked_by(known);
      if (!rank_ns || !has_point(i, known.tunables)) continue;
      fastest.emplace_back(std::pair(*rank_ns, known.score_ns.value_or(*rank_ns)),
                           Proposal{.template_index = i, .point = known.tunables});
    }
  }
  const auto some = std::min(kRemeasured, fastest.size());
  std::ranges::partial_sort(fastest, fastest.begin() + static_cast<std::ptrdiff_t>(some), {},
                            [](const auto& entry) { return entry.first; });
  for (std::size_t i = 0; i < some; ++i)
    add_first_point({.template_index = fastest[i].second.template_index,
                     .point = fastest[i].second.point,
                     .arm = "known"});
  for (std::size_t i = 0; i < known_of_templates.size(); ++i) {
    if (searches_[i].strategy == nullptr) continue;
    for (const KnownPoint& known : known_of_templates[i]) {
      const auto rank_ns = ranked_by(known);
      if (known.score_ns && !rank_ns) continue;  // it passed, but has no rank here: nothing to learn
      if (!has_point(i, known.tunables) || !searches_[i].given.insert(known.tunables).second) continue;
      searches_[i].strategy->tell(known.tunables, rank_ns);
      ++told;
    }
  }
  return told;
}

/// Returns the constraints that its own point breaks.
std::vector<std::string> Proposals::append(Candidate candidate) {
  auto broken = broken_constraints(candidate.plan, environment_, candidate.tunables);
  searches_.push_back({.candidate = std::move(candidate), .strategy = {}, .start_allowed = broken.empty()});
  if (broken.empty()) {
    ++space_points_;
    searches_.back().given.insert(searches_.back().candidate.tunables);
  }
  return broken;
}

std::vector<std::string> Proposals::add(Candidate candidate) {
  auto broken = append(std::move(candidate));
  if (!broken.empty()) {
    searches_.pop_back();
  } else if (TemplateSearch* searched = search_of_same(searches_.back().candidate)) {
    searched->given.insert(searches_.back().candidate.tunables);
  }
  return broken;
}

/// The search of a source, if there is one that has this candidate's point.
Proposals::TemplateSearch* Proposals::search_of_same(const Candidate& candidate) {
  for (std::size_t i = 0; i < searches_.size(); ++i) {
    TemplateSearch& search = searches_[i];
    if (search.strategy != nullptr && search.candidate.source == candidate.source &&
        has_point(i, candidate.tunables))
      return &search;
  }
  return nullptr;
}

std::optional<InputError> Proposals::search(std::size_t index, std::optional<double> start_ns) {
  const auto same_source = [&](const TemplateSearch& other) {
    return other.strategy != nullptr && other.candidate.source == searches_[index].candidate.source;
  };
  if (std::ranges::any_of(searches_, same_source)) return std::nullopt;
  Result<TunableSpace> space = plan_space(searches_[index].candidate.plan, environment_);
  if (!space) return space.error();
  open(index, std::move(space).value());
  tell({.template_index = index, .point = searches_[index].candidate.tunables, .is_start = true}, start_ns);
  return std::nullopt;
}

void Proposals::open(std::size_t index, TunableSpace space) {
  TemplateSearch& added = searches_[index];
  added.start_in_space = point_of(space, added.candidate.tunables).has_value();
  const std::uint64_t counted = added.start_allowed && added.start_in_space ? 1 : 0;
  const auto room = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - space_points_);
  space_points_ += static_cast<std::int64_t>(std::min(space.size() - counted, room));
  added.strategy =
      strategy_->make(std::make_shared<TunableSpace>(std::move(space)), derive_seed(seed_, index + 1),
                      index < earlier_.size() ? earlier_[index] : EarlierSearches{});
  active_.push_back(index);
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
    return Proposal{.template_index = index, .point = searches_[index].candidate.tunables, .is_start = true};
  }
  if (!first_points_.empty()) {
    Proposal proposal = std::move(first_points_.front());
    first_points_.pop_front();
    return proposal;
  }
  while (search_allowed_ && !active_.empty()) {
    turn_ %= active_.size();
    const std::size_t index = active_[turn_];
    if (auto point = ask(searches_[index])) {
      ++turn_;
      return Proposal{.template_index = index,
                      .point = std::move(*point),
                      .member = searches_[index].strategy->member_name()};
    }
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(turn_));
  }
  return std::nullopt;
}

std::optional<TunableValues> Proposals::ask(TemplateSearch& search) {
  for (;;) {
    auto point = search.strategy->ask();
    if (!point) return point;
    if (search.failed.contains(*point))
      search.strategy->tell(*point, std::nullopt);
    else if (!search.given.contains(*point))
      return point;
  }
}

void Proposals::retry(Proposal proposal) {
  proposal.is_retry = true;
  retries_.push_back(std::move(proposal));
}

void Proposals::give_up(const Proposal& proposal) {
  if (const auto& strategy = searches_[proposal.template_index].strategy) strategy->give_up(proposal.point);
}

std::optional<GainChances> Proposals::gain_chances(double best_ns) {
  GainChances all;
  bool any = false;
  for (const TemplateSearch& search : searches_) {
    if (search.strategy == nullptr) continue;
    any = true;
    const auto chances = search.strategy->gain_chances(best_ns);
    if (!chances) return std::nullopt;
    for (std::size_t i = 0; i < kGains.size(); ++i) {
      all.cautious[i] *= chances->cautious[i];
      all.sure[i] = std::min(all.sure[i], chances->sure[i]);
    }
  }
  if (!any) return std::nullopt;  // nothing is known of what others will propose
  return all;
}

void Proposals::tell(const Proposal& proposal, std::optional<double> time_ns) {
  TemplateSearch& search = searches_[proposal.template_index];
  // A point of a source that is searched elsewhere: the result helps that search.
  TemplateSearch* other = search.strategy == nullptr ? search_of_same(search.candidate) : nullptr;
  if (other != nullptr) other->strategy->tell(proposal.point, time_ns);
  // A strategy knows only the points of its space.
  if (search.strategy == nullptr || (proposal.is_start && !search.start_in_space)) return;
  search.strategy->tell(proposal.point, time_ns);
}

}  // namespace ak::agent
