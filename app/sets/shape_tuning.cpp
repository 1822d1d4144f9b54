// SPDX-License-Identifier: Apache-2.0
#include "app/sets/shape_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "agent/seeds.h"
#include "app/evaluate/figure_texts.h"
#include "app/search/best_lookup.h"
#include "app/search/earlier_answers.h"
#include "app/sets/shared_answers.h"
#include "codegen/sets/set_candidate.h"
#include "core/error.h"
#include "core/sets/set_choice.h"
#include "core/text/print_stderr.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

// Of each shape so many of the fastest may become members, and so many of each neighbour's are tried first (chosen: more
// of one shape are points next to each other).
constexpr std::size_t kKeptOfShape = 3, kTakenOfNeighbour = 2;
constexpr std::size_t kNeighbours = 3;
// Of seeds: one for every turn of every shape from here on.
constexpr std::uint64_t kShapeStream = 100;
// Of a search for a shape that has nothing yet: evaluations for each start and each neighbour's point (chosen: points of the
// search itself come between them).
constexpr std::size_t kRescueTries = 2;
// A shape that can gain no more leaves the rest of its share to the others: half of what a set may be behind the best
// known points (core/sets/set_choice.h).
constexpr double kLeastGain = 0.01;
// Less than this share of a budget is not worth another search, which begins with points that are known (chosen).
constexpr double kWorthASearch = 0.05;

std::shared_ptr<const ProblemInstance> problem_of(const ProblemInstance& problem, Workload shape) {
  auto copy = std::make_shared<ProblemInstance>(problem);
  shape.roles = {WorkloadRole::check, WorkloadRole::time};
  shape.weight = 1;
  copy->workloads = {std::move(shape)};
  copy->held_out.clear();  // the set is checked on them
  return copy;
}

class ShapeTuning {
 public:
  ShapeTuning(const SearchRun& run, const Config& config, VariantStore& store, RowId set,
              const std::atomic<bool>& stop)
      : run_(run),
        config_(config),
        store_(store),
        set_(set),
        stop_(stop),
        answers_(run.templates),
        budgets_(for_searches(run.budgets, run.spent_before)),
        spent_(run.spent_before) {}

  TunedShapes tune_all() {
    tuned_.shapes = timed_shapes(run_);
    leaders_.resize(tuned_.shapes.size());
    tune_each(tuning_order(tuned_.shapes), Turn::first);
    tune_each(lost(), Turn::rescue);
    tune_each(unfinished(), Turn::again);
    refuse_lost_shapes();
    return std::move(tuned_);
  }

 private:
  struct Unfinished {
    std::size_t shape;
    double gain;  ///< what it may still gain at most; 1: not known
  };
  /// Of a shape: its share of the budgets; what is left of them; where nothing passed, what others passed with, in the time of
  /// the whole set.
  enum class Turn : std::uint8_t { first, again, rescue };

  /// Where it takes more memory than there is, say: no set has a kernel for it, and no shape drawn beside it passes.
  void refuse_lost_shapes() const {
    for (std::size_t i = 0; i < tuned_.shapes.size() && !stop_.load(); ++i)
      if (leaders_[i].empty() && failures_.contains(i))
        fail(ExitCode::no_kernel,
             "nothing passed on {}{}; leave it out: what was found on the other shapes is in the database, "
             "and tried first",
             tuned_.shapes[i].name, failures_.at(i));
  }

  void tune_each(const std::vector<std::size_t>& order, Turn turn) {
    if (turn != Turn::rescue) unfinished_.clear();
    for (std::size_t i = 0; i < order.size() && !stop_.load(); ++i) {
      const std::size_t left = order.size() - i;
      if (turn == Turn::again && !worth_a_search(budgets_, tuned_.spent, spent_)) return;
      if (turn == Turn::rescue && run_.budgets.max_wall && spent_ >= *run_.budgets.max_wall) return;
      tune(order[i], fmt::format("{}/{}", i + 1, order.size()), left, turn);
    }
  }

  /// Shapes on which nothing passed while others have kernels: their share of the time may have been over at once.
  [[nodiscard]] std::vector<std::size_t> lost() const {
    std::vector<std::size_t> shapes;
    if (std::ranges::all_of(leaders_, &std::vector<Candidate>::empty)) return shapes;
    for (std::size_t i = 0; i < leaders_.size(); ++i)
      if (leaders_[i].empty()) shapes.push_back(i);
    return shapes;
  }

  /// Shapes that used up their share while others left some of theirs, the one with the most to gain first.
  [[nodiscard]] std::vector<std::size_t> unfinished() const {
    std::vector<Unfinished> shapes = unfinished_;
    std::ranges::stable_sort(shapes, std::greater{}, &Unfinished::gain);
    std::vector<std::size_t> order;
    for (const Unfinished& one : shapes) order.push_back(one.shape);
    return order;
  }

  void tune(std::size_t index, const std::string& number, std::size_t left, Turn turn) {
    const auto began = std::chrono::steady_clock::now();
    const SearchRun search = part(index, left, turn);
    const SearchOutcome outcome = run_search(search, config_, store_, stop_);
    spent_ += std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    const agent::LoopResult& loop = outcome.loop;
    tuned_.spent = together(tuned_.spent, loop.progress);
    if (!loop.leaders.empty()) leaders_[index].clear();  // of one that goes on, the former are measured again
    for (const agent::Leader& leader : loop.leaders)
      if (leaders_[index].size() < kKeptOfShape) leaders_[index].push_back(leader.candidate);
    for (const Candidate& candidate : leaders_[index]) keep(candidate);
    if (turn != Turn::rescue) note_end(index, loop, search.when_exhausted);
    tell(index, number, outcome, earlier_text(search.earlier));
  }

  void note_end(std::size_t index, const agent::LoopResult& loop, const std::string& when_exhausted) {
    if (loop.stop_reason != when_exhausted) tuned_.stop_reason = loop.stop_reason;
    const agent::Progress& progress = loop.progress;
    const bool all_tried = progress.evaluated + progress.pruned + progress.reused >= progress.space_points;
    if (loop.stop_reason.ends_with(" budget") && !all_tried)
      unfinished_.push_back({index, progress.gain ? progress.gain->high : 1});
  }

  [[nodiscard]] SearchRun part(std::size_t index, std::size_t left, Turn turn) {
    SearchRun part = run_;
    const Workload& shape = tuned_.shapes[index];
    part.problem = problem_of(*run_.problem, shape);
    part.budgets = share_of(budgets_, left, tuned_.spent, spent_);
    if (tuned_.shapes.size() > 1 && !part.budgets.least_gain) part.budgets.least_gain = kLeastGain;
    part.seed = agent::derive_seed(run_.seed,
                                   kShapeStream + static_cast<std::uint64_t>(turn) * kMaxSetShapes + index);
    add_neighbours(index, part.first_points);
    if (turn == Turn::rescue) {
      if (run_.budgets.max_wall)
        part.budgets.max_wall = *run_.budgets.max_wall - spent_;  // above 0: tune_each
      part.budgets.max_evaluations =
          kRescueTries * std::max<std::size_t>(1, run_.templates.size() + part.first_points.size());
    }
    part.earlier = answers_.earlier(shape, run_.earlier);
    part.failed = answers_.failed();
    if (turn != Turn::first) part.known = answers_.known(shape);
    part.set = SetPart{.set = set_, .role = "shape"};
    part.per_shape.reset();
    part.confirm = false;
    // On the CPU device costs rank, as they do between members.
    part.predict = run_.predict && run_.target.kind == DeviceKind::cuda;
    part.baselines.clear();
    part.paths = {};
    part.database.clear();
    part.on_new_best = {};  // of one shape
    part.on_progress = [this, &shape, index](const agent::Progress& progress,
                                             const codegen::RunSummary& summary) {
      if (progress.last != nullptr) {
        answers_.note(shape, summary.device, *progress.last);
        note_failure(index, *progress.last);
      }
      if (!run_.on_progress) return;
      agent::Progress all = together(tuned_.spent, progress);
      all.best_ns.reset();  // of one shape, too
      run_.on_progress(all, summary);
    };
    part.session_search.reset();
    part.journal = nullptr;
    part.spent_before = {};
    part.view = nullptr;
    part.quiet = true;
    part.target.notice.clear();  // said once, by the search of the set
    return part;
  }

  /// The best points of the nearest shapes that were tuned already.
  void add_neighbours(std::size_t index, std::vector<agent::FirstPoint>& first_points) const {
    std::vector<std::size_t> nearest;
    for (std::size_t i = 0; i < leaders_.size(); ++i)
      if (i != index && !leaders_[i].empty()) nearest.push_back(i);
    std::ranges::stable_sort(nearest, {}, [&](std::size_t other) {
      return shape_distance(tuned_.shapes[index].axes, tuned_.shapes[other].axes);
    });
    nearest.resize(std::min(nearest.size(), kNeighbours));
    for (const std::size_t other : nearest)
      for (std::size_t i = 0; i < std::min(leaders_[other].size(), kTakenOfNeighbour); ++i)
        add_point(leaders_[other][i], first_points);
  }

  void add_point(const Candidate& candidate, std::vector<agent::FirstPoint>& first_points) const {
    const auto same = std::ranges::find(run_.templates, candidate.source, &Candidate::source);
    if (same == run_.templates.end()) return;  // a model wrote it: no template of the next search
    first_points.push_back({.template_index = static_cast<std::size_t>(same - run_.templates.begin()),
                            .point = candidate.tunables,
                            .arm = "neighbour"});
  }

  void note_failure(std::size_t index, const Completed& completed) {
    const Outcome& outcome = completed.result.outcome;
    if (!is_verified(outcome.status))
      failures_[index] = fmt::format(" ({}: {})", to_string(outcome.status), outcome.message);
  }

  void keep(const Candidate& candidate) {
    const std::string hash = candidate.variant_hash();
    const bool known = std::ranges::any_of(
        tuned_.candidates, [&](const Candidate& other) { return other.variant_hash() == hash; });
    if (!known) tuned_.candidates.push_back(candidate);
  }

  void tell(std::size_t index, const std::string& number, const SearchOutcome& outcome,
            const std::string& known) const {
    if (run_.quiet) return;
    const agent::LoopResult& loop = outcome.loop;
    const std::string best = loop.best && loop.best->result.score_ns
                                 ? fmt::format("{}, {}", format_ns(*loop.best->result.score_ns),
                                               codegen::point_text(loop.best->request.candidate))
                                 : "nothing passed";
    print_stderr("shape {} {}: {} ({} tried{}{})\n", number, tuned_.shapes[index].name, best,
                 loop.progress.evaluated, known.empty() ? "" : " after ", known);
  }

  const SearchRun& run_;
  const Config& config_;
  VariantStore& store_;
  RowId set_;
  const std::atomic<bool>& stop_;
  TunedShapes tuned_;
  std::vector<std::vector<Candidate>> leaders_;  ///< of each shape; empty: nothing passed there yet
  std::map<std::size_t, std::string> failures_;  ///< the last one on a shape
  std::vector<Unfinished> unfinished_;           ///< of the present round
  SharedAnswers answers_;
  agent::Budgets budgets_;  ///< of all searches together
  std::chrono::milliseconds spent_;
};

/// At least one: a search needs some.
std::optional<std::int64_t> part_of(const std::optional<std::int64_t>& whole, std::int64_t spent,
                                    std::size_t left) {
  if (!whole) return std::nullopt;
  const auto parts = static_cast<std::int64_t>(left);
  return std::max<std::int64_t>(1, (*whole - spent + parts - 1) / parts);
}

/// Nothing is left of a budget, or too little.
bool used_up(double whole, double spent) { return whole - spent < kWorthASearch * whole; }

}  // namespace

agent::Progress together(const agent::Progress& before, agent::Progress now) {
  now.evaluated += before.evaluated;
  now.verified += before.verified;
  now.failed += before.failed;
  now.pruned += before.pruned;
  now.duplicates += before.duplicates;
  now.reused += before.reused;
  now.refused += before.refused;
  now.compilations += before.compilations;
  now.calls += before.calls;
  now.tokens += before.tokens;
  now.cost_usd += before.cost_usd;
  now.price_known = now.price_known && before.price_known;
  now.elapsed_s += before.elapsed_s;
  return now;
}

agent::Budgets share_of(const agent::Budgets& budgets, std::size_t left, const agent::Progress& spent,
                        std::chrono::milliseconds spent_wall) {
  agent::Budgets share = budgets;
  share.max_evaluations = part_of(budgets.max_evaluations, spent.evaluated, left);
  share.max_compilations = part_of(budgets.max_compilations, spent.compilations, left);
  share.max_tokens = part_of(budgets.max_tokens, spent.tokens, left);
  if (budgets.max_cost_usd)
    share.max_cost_usd = std::max(0.0, *budgets.max_cost_usd - spent.cost_usd) / static_cast<double>(left);
  if (budgets.max_wall)
    share.max_wall = std::max(std::chrono::milliseconds(1),
                              (*budgets.max_wall - spent_wall) / static_cast<std::int64_t>(left));
  share.target_ns.reset();  // it is of all shapes
  return share;
}

agent::Budgets for_searches(agent::Budgets budgets, std::chrono::milliseconds spent_before) {
  if (budgets.max_wall) *budgets.max_wall -= (*budgets.max_wall - spent_before) * 3 / 4;
  return budgets;
}

bool worth_a_search(const agent::Budgets& budgets, const agent::Progress& spent,
                    std::chrono::milliseconds spent_wall) {
  const auto any_left = [](const auto& whole, auto used) {
    return !whole || !used_up(static_cast<double>(*whole), static_cast<double>(used));
  };
  const bool limited = budgets.max_evaluations || budgets.max_compilations || budgets.max_wall;
  return limited && any_left(budgets.max_evaluations, spent.evaluated) &&
         any_left(budgets.max_compilations, spent.compilations) &&
         (!budgets.max_wall || any_left(std::optional(budgets.max_wall->count()), spent_wall.count()));
}

std::vector<Workload> timed_shapes(const SearchRun& run) {
  if (!run.target.executes())
    fail(ExitCode::usage, "--per-shape compares times: it needs a device (--device emulator is one, too)");
  std::vector<Workload> shapes;
  for (const Workload* workload : runtime::timed_workloads(*run.problem, run.target.kind))
    if (std::ranges::find(shapes, workload->axes, &Workload::axes) == shapes.end())
      shapes.push_back(*workload);
  if (shapes.size() > kMaxSetShapes)
    fail(ExitCode::usage, "{} has {} timed shapes: --per-shape learns from {} at most",
         run.problem->definition.name, shapes.size(), kMaxSetShapes);
  if (shapes.empty()) fail(ExitCode::usage, "{} has no shape that is timed", run.problem->definition.name);
  return shapes;
}

TunedShapes tune_shapes(const SearchRun& run, const Config& config, VariantStore& store, RowId set,
                        const std::atomic<bool>& stop) {
  return ShapeTuning(run, config, store, set, stop).tune_all();
}

}  // namespace ak::app
