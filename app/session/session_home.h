// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "db/store/session.h"

namespace ak::app {

/// The database into which a session's is merged when it ends (docs/sessions.md); nothing where it stays where it is.
/// Kept in `sessions.budgets`, below "merge_into".
[[nodiscard]] std::optional<std::filesystem::path> home_of(const db::Session& session);

/// Chooses it. Throws Error when it is the session's own, is no database that can be merged into, cannot be written, or its folder is missing.
void set_home(db::Session& session, const std::filesystem::path& home, const std::filesystem::path& database);

/// Merges the session's database into its home, which may be done again and again. Returns the rows added; nothing without
/// a home. Throws Error.
std::optional<std::int64_t> bring_home(const db::Session& session, const std::filesystem::path& database);

}  // namespace ak::app
