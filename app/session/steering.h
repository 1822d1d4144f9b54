// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>

#include "agent/loop.h"
#include "app/session/session_manifest.h"
#include "db/store/session_store.h"

namespace ak::app {

// How a session's minutes and evaluations go where there is most to gain (docs/sessions.md#steering). What comes next
// follows from the rows alone, so a session that was killed goes on as one that was not.

/// Chosen: half of a search's share is what it gets whatever it looks like; a model of it is known from 20 answers on; a
/// pause costs a start of workers and the replay of what is known, seconds to a minute.
inline constexpr double kLeastPart = 0.5;
inline constexpr std::int64_t kLeastEvaluations = 20;
inline constexpr double kLeastMinutes = 5;

/// The session asks for it, has a limit of minutes or evaluations and several searches, and what is not given at once is
/// worth two rounds at least.
[[nodiscard]] bool is_steered(const db::Session& session, const SessionBudgets& budgets);

/// The search may pause: one of a kernel set is made in one go, and has its whole share at once.
[[nodiscard]] bool may_pause(const db::SessionSearch& run);

/// A turn of a search of a session.
struct Turn {
  std::size_t run = 0;     ///< its index in the queue
  db::SessionRound round;  ///< what it may have used when it ends, of all its rounds
  bool is_new = true;      ///< false: it was given before, and did not end
};

/// Who goes on, with how much, and why; nothing when no search is left that could. First each search gets the least that
/// is its own; then a search without anything to gain is closed, which leaves its rest to the others; then the one that
/// promises most gets the next part of the rest; when all is used the others are closed.
/// @param left_out rows of searches that this process cannot go on with: they failed, or wait for answers
[[nodiscard]] std::optional<Turn> next_turn(const db::Session& session, const SessionBudgets& budgets,
                                            const std::set<RowId>& left_out);

/// "round 4: softmax gets 25 more evaluations: the limit leaves 38 % of its time; ...". @param run as before the round
[[nodiscard]] std::string turn_text(const db::SessionSearch& run, const db::SessionRound& round);

/// The limits of a search in this round: its own, and no more than the round's. Tokens and money are its share, once and
/// for all.
[[nodiscard]] agent::Budgets budgets_of_round(const db::Session& session, const db::SessionSearch& run,
                                              const SessionBudgets& budgets, agent::Budgets own);

}  // namespace ak::app
