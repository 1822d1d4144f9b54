// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/search/search_run.h"
#include "app/search/starting_points.h"
#include "app/setup/arguments.h"
#include "core/text/file.h"

namespace ak::app {

/// The flags of the subcommands that search: generate and tune.
struct SearchFlags {
  std::string arch, device, pool, output, mailbox_wait, proposer = "auto", strategy = "portfolio", record,
                                                        best, database, cache, target, baselines;
  std::vector<std::string> fixed, models;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> max_evaluations, max_compilations, max_tokens, patience;
  std::optional<double> max_minutes, max_cost_usd;
  std::optional<double> stop_when_done;  ///< in percent
  // Of one question to a coding agent (docs/coding_agents.md).
  std::optional<std::int64_t> agent_evaluations;
  std::optional<double> agent_minutes, agent_cost_usd;
  int workers = 0, prepared_copies = 1;
  FileDescriptor output_claim = {};  ///< ClaimedOutput::claim, where nobody named the output
  bool json = false, quiet = false, unaudited = false, deterministic = false, per_shape = false;
  bool no_predict = false,
       no_earlier = false;  ///< --no-prior is both: no predicted times, no earlier answers
};
/// Throws Error(usage) for values that make no sense.
void check_search_flags(const SearchFlags& flags);
/// --mailbox-wait, parsed: "10m", or "session" for no wait at all; nothing where it was not given. Throws Error(usage).
[[nodiscard]] std::optional<std::chrono::milliseconds> mailbox_wait(const std::string& text);
/// --set, parsed. Throws Error(usage).
[[nodiscard]] FixedTunables fixed_tunables(const std::vector<std::string>& texts);

/// A search that is ready except for what it searches, run.templates.
struct SearchSetup {
  Config config;
  std::filesystem::path database;
  SearchRun run;
  bool show_leaders = false;  ///< report the best few points, too
  bool json = false;          ///< report JSON
};
/// Writes no files where `flags` name no output. Throws Error as choose_target() and output_paths() do.
/// @param command stored with the search
[[nodiscard]] SearchSetup set_up_search(const SearchFlags& flags,
                                        std::shared_ptr<const ProblemInstance> problem, std::string command,
                                        Config config);
/// The same under the user's configuration. Throws Error as load_config() does, too.
[[nodiscard]] SearchSetup set_up_search(const SearchFlags& flags,
                                        std::shared_ptr<const ProblemInstance> problem, std::string command);

/// Takes away the models that cannot be asked, with a note. A hybrid run without a model becomes a search, and says
/// so; throws Error(environment) with what to do where only models propose.
void leave_out_unaskable_models(SearchRun& search);
/// Models may use kDefaultMaxTokens where neither tokens nor money are limited.
void limit_tokens(SearchRun& search);
/// About a hundred questions with answers of ten thousand tokens, a few dollars at most providers; chosen.
inline constexpr std::int64_t kDefaultMaxTokens = 1'000'000;

/// Points of the file that the user names come first.
void add_first_points(SearchSetup& setup, const SearchFlags& flags);
/// What the database has of other shapes, params and devices, unless the user wants none; said in a note. A database
/// that cannot be read now is not a reason not to search.
/// @param up_to as of earlier_answers(), which returns what to give when the search continues
std::int64_t add_earlier_answers(SearchSetup& setup, const SearchFlags& flags,
                                 std::optional<std::int64_t> up_to = std::nullopt);

/// Shows the user what a search that has ended found. `result` is what k.result.json holds.
using ShowSearch =
    std::function<void(const SearchSetup& setup, const SearchOutcome& outcome, const Json& result)>;

/// Writes k.result.json of a search that has ended, and shows it; returns its exit code.
[[nodiscard]] int report_search(const SearchSetup& setup, const SearchOutcome& outcome,
                                std::chrono::steady_clock::time_point command_start, const ShowSearch& show);

/// Audits the problem if need be, searches, writes the files and shows the report. Returns the exit code.
[[nodiscard]] int run_to_end(SearchSetup setup, const SearchFlags& flags,
                             std::chrono::steady_clock::time_point command_start, const ShowSearch& show);

/// What the arguments of `generate` ask for, ready to search.
struct GenerateCommand {
  SearchFlags flags;
  SearchSetup setup;
};
/// Reads the arguments of `generate`; `command` is stored with the search. Nothing when they ask for help.
using ReadGenerate =
    std::function<std::optional<GenerateCommand>(const Arguments& arguments, std::string command)>;

/// The command line that the arguments were.
[[nodiscard]] std::string generate_line(const Arguments& arguments);

}  // namespace ak::app
