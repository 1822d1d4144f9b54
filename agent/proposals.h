// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "agent/loop.h"
#include "agent/search/strategy.h"

namespace ak::agent {

/// One point of one template that should be evaluated.
struct Proposal {
  std::size_t template_index = 0;
  TunableValues point;
  bool is_start = false;  ///< the template's own point
  bool is_retry = false;
  std::string origin = {};       ///< of a first point, its arm; else empty
  std::string_view member = {};  ///< of the strategy, that chose it
  std::chrono::steady_clock::time_point asked = {};
  std::chrono::nanoseconds ask_time = {};  ///< taken by the strategy
};

/// What to evaluate next over all templates: points to retry, then the start point of every template in
/// order, then the first points, then the templates' strategies in turn, one proposal each; an exhausted one
/// drops out. Used by one thread.
class Proposals {
 public:
  /// Points are those that the constraints allow on `device`; of a template whose space is refused (plan_space()) its
  /// own alone, with a note on stderr. `options` and `clock` must outlive this. Throws Error(usage) when the strategy
  /// is not known, Error(no_kernel) when no template has a point, with the reasons.
  Proposals(const LoopOptions& options, const DeviceFacts& device, const Clock& clock);

  /// The strategies need not ask for these: they receive what is known, and the fastest kRemeasured of all
  /// templates become first points. Before the first next(). Returns how many will not be evaluated.
  int remember(std::vector<std::vector<KnownPoint>> known_of_templates);

  [[nodiscard]] std::optional<Proposal> next();
  /// The template with that index; valid until the next add().
  [[nodiscard]] const Candidate& candidate(std::size_t index) const { return searches_[index].candidate; }

  [[nodiscard]] std::size_t size() const { return searches_.size(); }
  /// A further, last template, of which only its own point is proposed until search() is called. Returns the
  /// constraints that this point breaks; it is not added when there are some.
  [[nodiscard]] std::vector<std::string> add(Candidate candidate);
  /// Searches the tunables of an added template from now on, unless its source is searched already. Returns why they
  /// cannot be: its space is refused (plan_space()).
  /// @param start_ns of its own point, which was evaluated
  [[nodiscard]] std::optional<InputError> search(std::size_t index, std::optional<double> start_ns);
  /// Whether strategies are asked; starts and retries are given in any case.
  void allow_search(bool allowed) { search_allowed_ = allowed; }
  void retry(Proposal proposal);
  /// The strategy will not learn what the point is worth: it passed, but has no rank.
  void give_up(const Proposal& proposal);
  /// Passes the answer on to the template's strategy.
  void tell(const Proposal& proposal, std::optional<double> time_ns);
  /// How much faster than `best_ns` what the strategies have not evaluated may be; nothing: one of them does not know.
  [[nodiscard]] std::optional<GainChances> gain_chances(double best_ns);
  /// Points of all templates together; 2^63 - 1 where there are more.
  [[nodiscard]] std::int64_t space_points() const { return space_points_; }

 private:
  struct TemplateSearch {
    Candidate candidate;
    std::unique_ptr<SearchStrategy> strategy;
    bool start_allowed = false, start_in_space = false;
    std::set<TunableValues> given = {};   ///< what it need not propose
    std::set<TunableValues> failed = {};  ///< LoopOptions::failed
  };
  void rule_out(std::size_t index, std::set<TunableValues> failed);
  [[nodiscard]] std::optional<Proposal> first_or_next();
  [[nodiscard]] std::optional<TunableValues> ask(TemplateSearch& search);

  /// False where it is there, or none of the space.
  bool add_first_point(const FirstPoint& first);
  void add_starts();
  [[nodiscard]] bool has_point(std::size_t template_index, const TunableValues& point) const;
  std::vector<std::string> append(Candidate candidate);
  void open_template(std::size_t index);
  [[nodiscard]] std::string why_without_points(const Candidate& candidate) const;
  [[nodiscard]] TemplateSearch* search_of_same(const Candidate& candidate);
  void open(std::size_t index, TunableSpace space);

  [[nodiscard]] std::optional<double> ranked_by(const KnownPoint& known) const;

  const Clock& clock_;
  const TargetPredictor* predictor_;  ///< its times rank; null: costs and measured times do
  const Strategy* strategy_;
  const std::vector<EarlierSearches>& earlier_;  ///< by template
  std::uint64_t seed_;
  Environment environment_;
  bool search_allowed_ = true;
  std::vector<TemplateSearch> searches_;
  std::vector<std::size_t> active_;  ///< indices of templates whose strategy may have more
  std::size_t turn_ = 0;             ///< index into active_
  std::size_t starts_given_ = 0;
  std::deque<Proposal> first_points_;
  std::deque<Proposal> retries_;
  std::int64_t space_points_ = 0;
};

}  // namespace ak::agent
