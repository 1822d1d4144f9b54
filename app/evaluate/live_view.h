// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "app/evaluate/search_view.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::app {

/// Shows on standard error how a search is going: a few lines rewritten in place on a terminal, else plain lines at
/// each phase and, rarely enough for a log of a night, in between. Silent until it is opened. One thread.
class LiveView {
 public:
  LiveView();
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// From now on there is something to show, unless it is `quiet`.
  void open(bool quiet);
  /// What is known of the search before it begins. The phase and the clock stay as they are.
  void describe(const SearchView& search);
  void enter(SearchPhase phase, std::string detail = "");
  /// The evaluator waits: whatever is shown is brought up to date.
  void wait(const runtime::EvaluatorActivity& activity);
  void update(const agent::Progress& progress);
  void set_baseline(std::optional<double> baseline_ns, const std::string& label);
  /// Takes the lines away, so that a report has the terminal. It may be opened again.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  void show();
  [[nodiscard]] bool log_is_due(Clock::time_point now) const;

  bool open_ = false, terminal_ = false, colour_ = false;
  SearchView view_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point updated_{};  ///< when the search last said what it has spent
  double search_s_then_ = 0;
  std::optional<Clock::time_point> shown_;
  double logged_best_ns_ = 0;  ///< what a log has said last
};

}  // namespace ak::app
