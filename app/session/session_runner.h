// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "app/search/search_command.h"
#include "app/setup/arguments.h"
#include "db/store/session_store.h"

namespace ak::app {

/// `generate`'s arguments of a search, in the session's database.
[[nodiscard]] Arguments arguments_of(const db::SessionSearch& run, const std::filesystem::path& database);

/// Who evaluates for a session: what of its devices can be checked before it begins.
enum class EvaluatedBy : std::uint8_t { devices_here, workers_of_a_job };

/// Everything that can be wrong with a session before it begins: its searches' problems, kernels, audits,
/// devices, models and outputs, and the disk. Notes which models are asked. Throws Error naming the search.
void check_session(db::Session& session, const std::filesystem::path& database, const ReadGenerate& read,
                   EvaluatedBy by = EvaluatedBy::devices_here);

/// To whom a session speaks; called by the thread that runs it.
struct SessionReport {
  ShowSearch show;                                    ///< a search that has ended
  std::function<void(const std::string& line)> line;  ///< what begins, and how the session ended
};

/// Runs the searches of a session that are not done, one after another, in this process. Returns the session's exit
/// code. A device that is lost is waited for, ten minutes at most. Throws Error(usage) when another process runs the
/// session, else only what is wrong with its database.
[[nodiscard]] int run_searches(const std::filesystem::path& database, RowId session, const ReadGenerate& read,
                               const SessionReport& report);

}  // namespace ak::app
