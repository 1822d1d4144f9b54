// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "app/setup/target.h"
#include "db/store/session_store.h"
#include "tools/generate_command.h"

namespace ak::tools {

/// Flags that every subcommand has, and the number of the session.
struct SessionCommand {
  std::string database;
  std::optional<RowId> id;
  bool foreground = false;
  bool json = false;   ///< say what was started as JSON
  bool slurm = false;  ///< as a job
  bool dry_run = false;
  std::string home;   ///< merged into at the end
  std::string array;  ///< how many jobs
  app::Arguments sbatch_options;
  std::vector<std::string> manifests;  ///< none: flags describe the search

  /// Of the database, whole.
  [[nodiscard]] std::filesystem::path file() const;
};

void add_database(CLI::App& app, SessionCommand& common);
/// What a command without the number of a session means.
enum class NoNumber { refused, latest, other };  ///< `other`: what another option says
/// `app` with the number and the database, parsed. False where help was asked for.
[[nodiscard]] bool parse_numbered(CLI::App& app, const app::Arguments& arguments, SessionCommand& common,
                                  NoNumber without);

/// The number given, else that of the latest session. Throws Error(usage) where there is none.
[[nodiscard]] RowId chosen_session(const SessionCommand& common, db::SessionStore& store);

/// Without a view: a session's log has one of each search.
[[nodiscard]] std::optional<app::GenerateCommand> read_search(const app::Arguments& arguments,
                                                              std::string command);

/// @param pool file of the devices of all its searches; empty: as each says
int run_here(const std::filesystem::path& database, RowId id, const std::string& pool = "");
/// Runs a session that was created or queued here, or apart from this terminal.
int launch(const std::filesystem::path& database, RowId id, const SessionCommand& common);
/// Submits its job. Nothing is lost where that fails: the session can be resumed.
void submit(db::SessionStore& store, RowId id, const SessionCommand& common,
            const std::function<std::string()>& submit_job);

}  // namespace ak::tools
