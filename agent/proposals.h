// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
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
  std::string_view member = {};  ///< of the strategy, that chose it
  std::chrono::steady_clock::time_point asked = {};
  std::chrono::nanoseconds ask_time = {};  ///< taken by the strategy
};

/// What to evaluate next over all templates: points to retry, then the start point of every template in
/// order, then the templates' strategies in turn, one proposal each; an exhausted one drops out. Used by one
/// thread.
class Proposals {
 public:
  /// Most points of one template that are searched; the first in row-major order. A point takes about 0.5 kB,
  /// so this bounds a template at 50 MB; a night has time for fewer.
  static constexpr std::size_t kMaxPoints = 100'000;

  /// Points are those that the constraints allow on `device`. `options` and `clock` must outlive this. Throws
  /// Error(usage) when the strategy is not known, Error(no_kernel) when no template has a point, with the
  /// reasons.
  Proposals(const LoopOptions& options, const DeviceFacts& device, const Clock& clock);

  [[nodiscard]] std::optional<Proposal> next();
  void retry(Proposal proposal);
  /// Passes the answer on to the template's strategy.
  void tell(const Proposal& proposal, std::optional<double> time_ns);
  /// Points of all templates together.
  [[nodiscard]] std::int64_t space_points() const { return space_points_; }

 private:
  struct TemplateSearch {
    const Candidate* candidate;
    std::unique_ptr<SearchStrategy> strategy;
    bool start_allowed = false, start_in_space = false;
  };
  [[nodiscard]] std::optional<Proposal> first_or_next();
  [[nodiscard]] std::optional<TunableValues> ask(TemplateSearch& search);

  const Clock& clock_;

  std::vector<TemplateSearch> searches_;
  std::vector<std::size_t> active_;  ///< indices of templates whose strategy may have more
  std::size_t turn_ = 0;             ///< index into active_
  std::size_t starts_given_ = 0;
  std::deque<Proposal> retries_;
  std::int64_t space_points_ = 0;
};

}  // namespace ak::agent
