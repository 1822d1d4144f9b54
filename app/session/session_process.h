// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string_view>

#include "core/store.h"

namespace ak::app {

/// Where a session without a terminal writes: "<database>-session-N.log", readable by its owner alone.
[[nodiscard]] std::filesystem::path session_log(const std::filesystem::path& database, RowId session);

/// Starts a process of this program that runs the session: apart from this terminal and login, with no open
/// file but its log, and with this environment. Returns when it has begun. Throws Error(environment) with the
/// last words of the log when it does not begin.
void start_detached(const std::filesystem::path& database, RowId session);

/// Starts the session of a manifest as `alphakernel session start` does, with all its checks, by a process of this
/// program. Returns its number. Throws Error with that program's exit code and message where it is refused.
/// @param outputs folder of kernels that the manifest gives no place
[[nodiscard]] RowId start_session(const std::filesystem::path& manifest, const std::filesystem::path& outputs,
                                  const std::filesystem::path& database);

/// Asks a session to end and waits for it, so long; true when it has ended or did not run.
[[nodiscard]] bool stop_session(const std::filesystem::path& database, RowId session, double patience_s);

/// Shows the log in pieces; with `follow` also what is added, until the session's process has ended or `stop` is
/// set. Throws Error(bad_input) when there is none.
void read_log(const std::filesystem::path& database, RowId session, bool follow,
              const std::atomic<bool>& stop, const std::function<void(std::string_view bytes)>& show);

}  // namespace ak::app
