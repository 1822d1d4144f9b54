// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "db/store/session.h"

namespace ak::app {

/// What its questions call a search, in every copy of the database.
[[nodiscard]] std::string search_name(const std::filesystem::path& database, RowId search);

/// Which questions of a search are open, and where.
[[nodiscard]] std::string awaited_answers(const std::set<std::filesystem::path>& mailboxes,
                                          const std::string& search);

/// Nobody goes on with this search of a session: what it asked is withdrawn, and `why` is said there. Nothing where it
/// has not begun. A mailbox that cannot be written is named on stderr. Needs no device.
void withdraw_questions(const std::filesystem::path& database, const db::Session& session,
                        const db::SessionSearch& run, std::string_view why);

}  // namespace ak::app
