// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/candidate_source.h"
#include "agent/library_turns.h"
#include "agent/search/earlier_searches.h"
#include "core/clock.h"
#include "core/evaluation.h"
#include "core/learn/stats.h"
#include "core/predictor.h"
#include "core/remaining_gain.h"
#include "core/store.h"

namespace ak::agent {

/// When to stop. Absent = no limit. Whichever is reached first ends the run.
struct Budgets {
  std::optional<std::int64_t> max_evaluations;
  std::optional<std::int64_t> max_compilations;  ///< builds that were not cache hits
  std::optional<std::int64_t> max_tokens;
  std::optional<double> max_cost_usd;
  std::optional<std::chrono::milliseconds> max_wall;
  std::optional<double> target_ns;       ///< stop when the score is at most this
  std::optional<std::int64_t> patience;  ///< evaluations in a row after which none took the lead
  std::optional<double> least_gain;      ///< stop when RemainingGain::high is at most this
  std::optional<double>
      least_headroom;  ///< stop when the device's limit leaves this share of the score at most
};

struct Progress {
  int evaluated = 0, verified = 0, failed = 0, in_flight = 0;
  int pruned = 0;        ///< predicted to be too slow, and not evaluated
  int duplicates = 0;    ///< of those evaluated: the same program as another, whose results they share
  int reused = 0;        ///< known from earlier searches, and not evaluated
  int refused = 0;       ///< answers of a model that were no candidate
  int compilations = 0;  ///< builds that were not cache hits
  std::int64_t space_points = 0;
  int calls = 0;            ///< questions to models
  std::int64_t tokens = 0;  ///< that models used
  double cost_usd = 0;
  bool price_known = true;  ///< false: part of the tokens has no price, so `cost_usd` is not all
  std::optional<double> best_ns, first_verified_s;
  std::optional<double> best_predicted_ns;  ///< of the leader, where predicted times rank
  std::optional<RemainingGain> gain;        ///< that the templates' spaces still hold; nothing: not known
  double elapsed_s = 0;
  const Completed* last = nullptr;  ///< valid for the call
};

/// A point to evaluate before the strategies' own.
struct FirstPoint {
  std::size_t template_index = 0;
  TunableValues point;
  std::string arm;  ///< stored with its proposal: where it came from
};

struct LoopOptions {
  std::shared_ptr<const ProblemInstance> problem;
  std::vector<Candidate>
      templates;  ///< searched together, each template's default point first; --start first of all
  /// Where templates come from that are not the problem's own, by index; stored with their own points.
  std::map<std::size_t, Origin> origins;
  /// Evaluated right after the templates' own points; those that a template does not have are left out.
  std::vector<FirstPoint> first_points;
  /// What strategies know beforehand, by template; of templates without an entry nothing.
  std::vector<EarlierSearches> earlier;
  /// By template, points that fail: they are not evaluated, and a strategy that proposes one is told so.
  std::vector<std::set<TunableValues>> failed = {};
  /// By template, what is known of this very search, as with SearchRecord::resumed.
  std::vector<std::vector<KnownPoint>> known = {};
  Arch arch;
  Depth depth = Depth::time;
  std::string strategy = "random";
  std::uint64_t seed = 0;
  Budgets budgets;
  /// Of the whole search: where `budgets` are used up and these are not, it pauses, and goes on in another call.
  std::optional<Budgets> whole_budgets = {};
  std::optional<double> limit_ns = {};  ///< no score is below it; nothing: not known
  int held_out_shapes = 6;              ///< checked when the search has ended; two or three of each range
  std::optional<std::uint64_t>
      held_out_seed;        ///< of these shapes and their inputs; nothing: drawn from the operating system
  int confirm_devices = 1;  ///< of a pool, that have to agree about the leader; more than there are: all
  bool confirm = true;      ///< false: nothing follows the search, whose champion is not the last word
  /// Why it ends where nothing is left to try; of a search that continues others what ended these.
  std::string when_exhausted = "space exhausted";
  /// What examines the leader on small shapes, in this order; each is made when it is first needed.
  struct Examiner {
    std::string name;  ///< "CPU device"
    std::function<std::unique_ptr<Evaluator>()> make;
    bool is_smaller =
        false;  ///< than the device that kernels are for: one that it has no room for is no fault
  };
  std::vector<Examiner> examiners;
  /// Writes further candidates while the search continues; null: none. Not owned.
  CandidateSource* source = nullptr;
  /// Search the tunables of the templates and of what the source writes; false: only their own points.
  bool search_tunables = true;
  /// Orders proposals and prunes the hopeless (agent/pruning.h); null: neither. Not owned.
  const Predictor* predictor = nullptr;
  /// Predicts the times on the target of what the CPU device found right; they rank candidates then, and are what
  /// strategies learn from (docs/prediction.md). Null: costs do. Not owned.
  const TargetPredictor* target_predictor = nullptr;
  /// What to see of the leader of a GPU when it has been measured again, and before the source receives it
  /// of a kernel that passed and that it or a template's author wrote, or that took the lead; none:
  /// nothing is profiled.
  std::optional<ProfileOptions> profile;
  int max_in_flight = std::numeric_limits<int>::max();  ///< 1: the same order in every run of a seed
  /// With `resumed`, and where candidates are timed, the strategies begin with what earlier searches found;
  /// the fastest kRemeasured of those points are measured again.
  SearchRecord search;
  std::chrono::milliseconds spent_before{0};  ///< wall time that earlier processes worked at this search
  /// What is done was done by an earlier process, and takes no time; null: no such thing.
  std::function<bool()> replaying = {};
  std::function<void(const Progress&)> on_progress;  ///< after every evaluation
  std::function<void(const Progress&)> on_wait;      ///< while a source's answer is awaited, often
  /// A verified kernel took the lead: write it to disk now. @param predicted as LoopResult::predicted; may be null
  std::function<void(const Completed&, const PredictedScore* predicted)> on_new_best;
  /// The search has ended, and its leader is checked now: "held-out shapes", "its times in a fresh process", ...
  std::function<void(std::string_view)> on_confirm = {};
  const std::atomic<bool>* stop_requested = nullptr;  ///< set by Ctrl-C; not owned
};

/// How many of the points that earlier searches knew are measured again: of many times the lowest is too low.
inline constexpr std::size_t kRemeasured = 5;

/// So many of those that follow the champion are compared with it at the end.
inline constexpr std::size_t kMaxTies = 3;

/// The last check of a search: is the leader right on shapes that no one could know?
struct HeldOutReport {
  int shapes = 0;       ///< so many were drawn
  bool passed = false;  ///< the champion is right on all of them
  int disqualified =
      0;  ///< candidates that were right in the search and then not on these, or not in a fresh process
  std::vector<std::string> faults;  ///< how each of them was wrong
  std::string drawn;                ///< "held_out_1: N=77; held_out_2: N=1000"
  std::string note;                 ///< why the champion was not checked; empty when it was
};

/// Whether the leader of a GPU passes an examiner's checkers of memory and races on small shapes.
struct ExaminationReport {
  std::string examiner;
  bool passed = false;
  std::string note;  ///< why it was not examined, or what was found; empty when it passed
};

/// The last measurement of a search: the champion in its own device process, with the baselines alongside
/// it. The lowest of many times is lower than what its kernel takes; this one was not chosen for being low.
struct FinalMeasurement {
  std::optional<double> search_ns;  ///< what the search had for it
  std::string note;                 ///< why it was not measured again; empty when it was
};

/// What another device of the pool says of the leader.
struct OtherDeviceReport {
  std::string place;  ///< empty: there was none
  bool agrees = false;
  bool deviates = false;  ///< others decided that it is the one that is wrong
  std::string note;       ///< its time there, or what is different
};

/// Hardware counters of the leader.
struct ProfileReport {
  std::vector<Profile> profiles;  ///< one a timed workload
  std::string note;               ///< why there are none; empty when there are
};

/// One of the fastest points of a search.
struct Leader {
  Candidate candidate;
  std::optional<double> score_ns;
  RowId variant = 0;
  std::optional<PredictedScore> predicted = {};
};

/// A candidate that cannot be distinguished from the champion: pairs of their times are as likely to favour either, or
/// differ by 0.5 % at most.
struct Tie {
  Leader with;
  PairedRatio ratio;  ///< its time over the champion's; on a device of exact costs without an interval
};

struct LoopResult {
  std::optional<Completed> best;            ///< champion; with depth build: the best ranked build
  std::optional<PredictedScore> predicted;  ///< of the champion, where predicted times rank
  std::optional<Completed>
      start;                ///< evaluation of the first template's default point (baseline of the report)
  std::string stop_reason;  ///< "space exhausted", "target reached", "evaluation budget", ...
  bool interrupted = false;
  bool suspended = false;  ///< it waits for answers or pauses, and goes on in another call of its session
  bool paused = false;     ///< it is suspended as LoopOptions::budgets were used up, and not for answers
  std::string source_end;  ///< why the source ended before the search did; empty: it did not
  bool source_never_answered = false;  ///< it has ended without a single answer
  HeldOutReport held_out;
  std::vector<ExaminationReport> examinations;   ///< one of each examiner
  FinalMeasurement final_measurement;            ///< whose results `best` has where there are some
  std::vector<OtherDeviceReport> other_devices;  ///< of a pool; empty: none had to be asked
  std::vector<OtherDeviceReport>
      deviations;                    ///< places that others found wrong about a champion, whichever it was
  LibraryTurnsReport library_turns;  ///< of the champion, on a GPU
  ProfileReport profile;
  std::vector<Leader> leaders;  ///< the champion and what follows it, best first; a few of each template
  std::vector<Tie> ties;        ///< at most kMaxTies
  Progress progress;
  RowId search = 0;
  std::optional<RowId> best_variant;
};

/// One search: ask the strategy, evaluate, commit, learn, until a budget ends it; then check the leader on
/// held-out shapes, and while it fails there the next best; then measure it again in a fresh process. On a
/// GPU a candidate takes the lead only after it was timed in pairs with the leader (docs/search.md). Keeps
/// `useful_in_flight` requests submitted, but no more than `max_in_flight`. Every completed evaluation is
/// committed before the strategy receives it. Throws Error when the environment failed; the search row then
/// ends as "failed".
[[nodiscard]] LoopResult run_loop(const LoopOptions& options, Evaluator& evaluator, VariantStore& store,
                                  const Clock& clock);

}  // namespace ak::agent
