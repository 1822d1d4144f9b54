// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/text/json.h"
#include "db/store/session_store.h"

namespace ak::app {

/// The state of a session: "running", "killed", "stopped", "suspended", "finished", "failed", "queued".
/// @param alive its process has the lock
[[nodiscard]] std::string session_state(const db::Session& session, bool alive);

/// docs/sessions.md names the fields.
[[nodiscard]] Json status_json(const db::Session& session, bool alive);

/// The same for people: a line for the session and one for each search.
[[nodiscard]] std::string status_text(const db::Session& session, bool alive);

/// A session in its database.
struct StoredSession {
  std::filesystem::path database;
  RowId session = 0;
};

/// Shows status_text() of each, and what Slurm says of its job, every `interval`, until all their processes have ended and
/// no job is in the queue that would begin one of them, or `stop` is set.
void watch_status(const std::vector<StoredSession>& sessions, std::chrono::milliseconds interval,
                  const std::atomic<bool>& stop, const std::function<void(const std::string& text)>& show);

}  // namespace ak::app
