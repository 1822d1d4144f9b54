// SPDX-License-Identifier: Apache-2.0
#include "app/sets/shape_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "agent/seeds.h"
#include "app/evaluate/figure_texts.h"
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
constexpr std::uint64_t kShapeStream = 100;  // of seeds: one a shape from here on

/// Sum over the axes of |log2| of the ratio of their sizes.
double distance(const AxisValues& one, const AxisValues& other) {
  double sum = 0;
  for (const auto& [axis, size] : one)
    sum += std::abs(std::log2(static_cast<double>(size) / static_cast<double>(other.at(axis))));
  return sum;
}

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
      : run_(run), config_(config), store_(store), set_(set), stop_(stop), spent_(run.spent_before) {}

  TunedShapes tune_all() {
    tuned_.shapes = timed_shapes(run_);
    for (std::size_t i = 0; i < tuned_.shapes.size() && !stop_.load(); ++i) tune(i);
    return std::move(tuned_);
  }

 private:
  void tune(std::size_t index) {
    const auto began = std::chrono::steady_clock::now();
    const SearchOutcome outcome = run_search(part(index), config_, store_, stop_);
    spent_ += std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    tuned_.spent = together(tuned_.spent, outcome.loop.progress);
    leaders_.emplace_back();
    for (const agent::Leader& leader : outcome.loop.leaders)
      if (leaders_.back().size() < kKeptOfShape) leaders_.back().push_back(leader.candidate);
    for (const Candidate& candidate : leaders_.back()) keep(candidate);
    tell(index, outcome);
  }

  [[nodiscard]] SearchRun part(std::size_t index) const {
    SearchRun part = run_;
    const std::size_t count = tuned_.shapes.size();
    part.problem = problem_of(*run_.problem, tuned_.shapes[index]);
    part.budgets = share_of(run_.budgets, index, count, spent_);
    part.seed = agent::derive_seed(run_.seed, kShapeStream + index);
    add_neighbours(index, part.first_points);
    part.set = SetPart{.set = set_, .role = "shape"};
    part.per_shape.reset();
    part.confirm = false;
    // On the CPU device costs rank, as they do between members.
    part.predict = run_.predict && run_.target.kind == DeviceKind::cuda;
    part.baselines.clear();
    part.paths = {};
    part.database.clear();
    part.on_new_best = {};  // of one shape
    if (run_.on_progress)
      part.on_progress = [this](const agent::Progress& progress, const codegen::RunSummary& summary) {
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
    std::vector<std::size_t> nearest(leaders_.size());
    for (std::size_t i = 0; i < nearest.size(); ++i) nearest[i] = i;
    std::ranges::stable_sort(nearest, {}, [&](std::size_t other) {
      return distance(tuned_.shapes[index].axes, tuned_.shapes[other].axes);
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

  void keep(const Candidate& candidate) {
    const std::string hash = candidate.variant_hash();
    const bool known = std::ranges::any_of(
        tuned_.candidates, [&](const Candidate& other) { return other.variant_hash() == hash; });
    if (!known) tuned_.candidates.push_back(candidate);
  }

  void tell(std::size_t index, const SearchOutcome& outcome) const {
    if (run_.quiet) return;
    const agent::LoopResult& loop = outcome.loop;
    const std::string best = loop.best && loop.best->result.score_ns
                                 ? fmt::format("{}, {}", format_ns(*loop.best->result.score_ns),
                                               codegen::point_text(loop.best->request.candidate))
                                 : "nothing passed";
    print_stderr("shape {}/{} {}: {} ({} tried)\n", index + 1, tuned_.shapes.size(),
                 tuned_.shapes[index].name, best, loop.progress.evaluated);
  }

  const SearchRun& run_;
  const Config& config_;
  VariantStore& store_;
  RowId set_;
  const std::atomic<bool>& stop_;
  TunedShapes tuned_;
  std::vector<std::vector<Candidate>> leaders_;  ///< of each tuned shape
  std::chrono::milliseconds spent_;
};

std::optional<std::int64_t> part_of(const std::optional<std::int64_t>& whole, std::size_t index,
                                    std::size_t count) {
  if (!whole) return std::nullopt;
  const auto parts = static_cast<std::int64_t>(count);
  return std::max<std::int64_t>(1,
                                *whole / parts + (static_cast<std::int64_t>(index) < *whole % parts ? 1 : 0));
}

}  // namespace

agent::Progress together(const agent::Progress& before, agent::Progress now) {
  now.evaluated += before.evaluated;
  now.verified += before.verified;
  now.failed += before.failed;
  now.pruned += before.pruned;
  now.duplicates += before.duplicates;
  now.reused += before.reused;
  now.refused += before.refused;
  now.calls += before.calls;
  now.tokens += before.tokens;
  now.cost_usd += before.cost_usd;
  now.price_known = now.price_known && before.price_known;
  now.elapsed_s += before.elapsed_s;
  return now;
}

agent::Budgets share_of(const agent::Budgets& budgets, std::size_t index, std::size_t count,
                        std::chrono::milliseconds spent) {
  agent::Budgets share = budgets;
  share.max_evaluations = part_of(budgets.max_evaluations, index, count);
  share.max_compilations = part_of(budgets.max_compilations, index, count);
  share.max_tokens = part_of(budgets.max_tokens, index, count);
  if (budgets.max_cost_usd) share.max_cost_usd = *budgets.max_cost_usd / static_cast<double>(count);
  if (budgets.max_wall)
    share.max_wall = std::max(std::chrono::milliseconds(1),
                              (*budgets.max_wall - spent) / static_cast<std::int64_t>(count - index));
  share.target_ns.reset();  // it is of all shapes
  return share;
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
