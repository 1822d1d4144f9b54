// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/store.h"
#include "core/text/json.h"

namespace ak::db {

/// Statistics of a search of a session; all but the texts are written at most once a second
/// while it runs.
struct SessionSearchStats {
  std::int64_t evaluations = 0, verified = 0, in_flight = 0;
  std::int64_t tokens = 0;
  double cost_usd = 0;
  bool price_known = true;  ///< false: some of its calls have no price, so `cost_usd` is not all; read only
  std::optional<double> best_ns, baseline_ns;
  std::optional<double> limit_ns;  ///< least time that the device needs
  std::string baseline;            ///< what `baseline_ns` is of
  std::int64_t spent_ms = 0;       ///< wall time of all processes that worked at it
};

/// What a search of a session is given of the session's budgets, all its rounds together: a row of `session_rounds`.
struct SessionRound {
  std::int64_t number = 0;  ///< within the session, from 1
  std::optional<std::int64_t> evaluations;
  std::optional<double> minutes;
  bool closes = false;            ///< the search ends with it
  std::optional<double> best_ns;  ///< of the search when the round began
  std::string why;                ///< in words
};

/// A search of a session: a row of `session_searches`.
struct SessionSearch {
  RowId id = 0;
  std::string name;
  std::int64_t priority = 0;
  double share = 1;
  std::vector<std::string> arguments;  ///< of the command `generate`
  std::optional<Json> first_points;    ///< chosen when it began
  Json budgets;                        ///< it was given at last; null: it has not begun
  std::string model;                   ///< that is asked; empty: none
  std::optional<RowId> search;
  bool emulated = false;  ///< its times are costs that the CPU device estimates
  /// Or "running", "paused", "finished", "stopped", "suspended", "failed", "skipped".
  std::string state = "queued";
  std::string reason;
  std::optional<int> exit_code;
  SessionSearchStats stats;
  std::vector<SessionRound> rounds;   ///< in order; empty where the session's budgets are not steered
  std::optional<RemainingGain> gain;  ///< the last that its search said; read only
  std::string verdict;                ///< of its search; empty: it has none. Read only

  [[nodiscard]] bool is_done() const { return state == "finished" || state == "skipped"; }
};

/// A model of a search that has another name now: a mailbox that was copied to another place.
struct RenamedModel {
  RowId search = 0;
  std::string before, now;
};

/// A queue of searches: a row of `sessions`.
struct Session {
  RowId id = 0;
  std::string name, command;
  std::string folder;  ///< that relative paths of the arguments are in
  Json budgets;        ///< of all searches together
  /// "queued", "running", "finished", "stopped", "suspended", "failed"; a killed one is "running".
  std::string status;
  std::string reason;
  std::optional<int> exit_code;
  std::string started_at, ended_at;
  std::vector<SessionSearch> runs;  ///< in the order in which they run
};

}  // namespace ak::db
