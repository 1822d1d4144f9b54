// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "agent/loop.h"
#include "app/baselines/kernel_baselines.h"
#include "app/evaluate/run_files.h"
#include "app/llm/model_choice.h"
#include "app/search/porting.h"
#include "app/setup/config.h"
#include "app/setup/target.h"
#include "codegen/emit/emit.h"

namespace ak::app {

class LiveView;
class RunJournal;
struct SetReport;
struct PrecisionReport;

/// A kernel set is asked for: every timed shape is tuned alone (docs/sets.md).
struct PerShape {
  std::size_t prepared_copies = 1;  ///< of weights that members may need
  std::filesystem::path database;   ///< that the store writes
};

/// One search: what `generate` does once, and an experiment for each of its runs.
struct SearchRun {
  std::shared_ptr<const ProblemInstance> problem;
  std::vector<Candidate> templates;
  Target target;
  std::string strategy = "portfolio";
  std::string proposer = "search";            ///< "search", "llm" or "hybrid"
  std::vector<agent::LlmModel> models;        ///< that write candidates; with the last two
  std::vector<ModelFault> model_faults = {};  ///< of those that cannot be asked, see ask_models_first()
  std::uint64_t seed = 0;
  std::vector<agent::FirstPoint> first_points;
  std::vector<agent::EarlierSearches> earlier;       ///< agent::LoopOptions::earlier
  std::vector<std::set<TunableValues>> failed = {};  ///< agent::LoopOptions::failed
  std::vector<std::vector<KnownPoint>> known = {};   ///< agent::LoopOptions::known
  std::optional<Port> port;                          ///< what `templates` begin with was ported
  agent::Budgets budgets;
  std::optional<agent::Budgets> whole_budgets = {};  ///< agent::LoopOptions::whole_budgets
  std::string command;                               ///< stored with the search
  bool own_kernel = false;  ///< templates.front() is the user's: the baseline of the report
  bool one_by_one =
      false;  ///< one evaluation in flight and held-out shapes from `seed`: every run is the same
  bool predict =
      false;  ///< where there is a model of the target, predicted times prune or, on the CPU device, rank
  bool resume = false;               ///< points that the database knows are not measured again
  bool quiet = false;                ///< no progress
  bool audited = true;               ///< see require_audit()
  bool default_token_limit = false;  ///< nobody limited tokens or money, so limit_tokens() did
  std::vector<std::string> baselines =
      {};  ///< names of kPytorchBaselines: in turns with the champion, on a GPU
  std::optional<std::chrono::milliseconds> mailbox_wait = {};  ///< agent::LlmProposerOptions::mailbox_wait
  bool patient = false;  ///< a model's outage that may pass does not end it for the run
  OutputPaths paths;     ///< the best kernel so far is kept here; empty: no files are written
  /// That the store writes: whose knowledge prompts contain, where more is learned, and where the
  /// explanation's evidence comes from. Empty: none of it.
  std::filesystem::path database;
  std::optional<RowId> session_search = {};        ///< SearchRecord::session_search
  std::string when_exhausted = "space exhausted";  ///< see LoopOptions
  std::optional<PerShape> per_shape = {};          ///< see find_kernel()
  std::optional<SetPart> set = {};                 ///< that this search is part of
  /// Stated for errors, and what `problem` has to hold: of the search's budgets, where they are stored. See
  /// app/precision/precision_search.h.
  std::optional<double> max_error = {};
  std::vector<RowId> parents = {};            ///< variants that `templates.front()` was made of
  std::string set_section = {};               ///< of the explanation: what the kernel is a set of
  bool tune = true;                           ///< false: only the templates' own points
  bool confirm = true;                        ///< false: agent::LoopOptions::confirm
  LiveView* view = nullptr;                   ///< open, shows how it goes; null: one of its own. Not owned
  RunJournal* journal = nullptr;              ///< of what is known already; null: none. Not owned
  std::chrono::milliseconds spent_before{0};  ///< agent::LoopOptions::spent_before
  agent::Progress spent = {};  ///< of its budgets, by earlier processes: see find_kernel_or_fall_back()
  /// After every evaluation that is not replayed, and where models have used tokens since, with what is known of the
  /// baseline.
  std::function<void(const agent::Progress&, const codegen::RunSummary&)> on_progress = {};
  /// When a verified kernel takes the lead, unless that is replayed.
  std::function<void(const Completed&)> on_new_best = {};
};

struct SearchOutcome {
  agent::LoopResult loop;
  codegen::RunSummary summary;
  KernelBaselines baselines;                     ///< of the leader, in turns
  std::string bottleneck;                        ///< of the leader, by name; empty where it was not profiled
  std::optional<double> counters_headroom = {};  ///< SearchEnd::counters_headroom of the leader
  std::optional<SearchVerdict> verdict = {};  ///< nothing: it was interrupted, goes on, or nothing was timed
  std::vector<Json> profiles;  ///< of the leader: {"profile", "analysis"} for each timed workload
  std::chrono::steady_clock::time_point loop_start;
  std::shared_ptr<const SetReport> set = nullptr;              ///< where a set was asked for
  std::shared_ptr<const PrecisionReport> precision = nullptr;  ///< where a bound on errors was
};

/// The least time of the search's device for what its score measures; nothing where that is not known, or
/// costs are estimated.
[[nodiscard]] std::optional<double> limit_of(const SearchRun& run);

/// As in `searches.budgets`.
[[nodiscard]] Json to_json(const agent::Budgets& budgets);

/// Runs it to its end, or until `stop` is set, writing the kernel's files at every new best. Throws Error
/// when the environment failed.
[[nodiscard]] SearchOutcome run_search(const SearchRun& run, const Config& config, VariantStore& store,
                                       const std::atomic<bool>& stop);

/// Throws Error(usage) listing the strategies when there is none of this name.
void check_strategy(const std::string& name);

}  // namespace ak::app
