// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "agent/loop.h"
#include "app/search/search_run.h"
#include "app/session/session_manifest.h"
#include "db/store/session_store.h"

namespace ak::app {

/// The budgets of a search that begins now: its own, and no more than its share of what the session has left.
/// Shares are among the searches that are not done; tokens and money are shared by those that ask a model.
[[nodiscard]] agent::Budgets budgets_of(const db::Session& session, const db::SessionSearch& run,
                                        const SessionBudgets& budgets, agent::Budgets own);

/// The same for tokens and money alone, which are shared once where searches pause: what those that are done left is for
/// the others.
[[nodiscard]] agent::Budgets share_of_tokens(const db::Session& session, const db::SessionSearch& run,
                                             const SessionBudgets& budgets, agent::Budgets own);

/// The session where its files have been copied to `folder`: what its searches name inside its old folder is there now.
[[nodiscard]] db::Session moved(db::Session session, const std::filesystem::path& folder);
/// The mailboxes of its searches that moved() named anew: two of one last name are told apart by where they were.
[[nodiscard]] std::vector<db::RenamedModel> moved_mailboxes(const db::Session& before,
                                                            const db::Session& now);

/// As in `session_searches.budgets` and `searches.budgets`.
[[nodiscard]] agent::Budgets budgets_from_json(const Json& json);

/// What a search begins with, as in `session_searches.first_points`.
/// @param last_evaluation of the database that counted (EarlierAnswers)
[[nodiscard]] Json beginning_json(const std::vector<agent::FirstPoint>& points, std::int64_t last_evaluation);
[[nodiscard]] std::vector<agent::FirstPoint> first_points_from_json(const Json& json);
/// 0 of one that began before there were earlier answers.
[[nodiscard]] std::int64_t last_earlier_from_json(const Json& json);

/// Least time that the device needs for the problem's timed shapes, weighted as scores are; nothing where
/// that is not known, and on the CPU device.
[[nodiscard]] std::optional<double> limit_ns(const SearchRun& run);

}  // namespace ak::app
