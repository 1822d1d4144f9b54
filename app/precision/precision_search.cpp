// SPDX-License-Identifier: Apache-2.0
#include "app/precision/precision_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "app/audit/problem_audits.h"
#include "app/evaluate/figure_texts.h"
#include "app/sets/kernel_search.h"
#include "app/sets/shape_tuning.h"
#include "app/setup/interrupt.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/any_number.h"
#include "core/text/print_stderr.h"
#include "db/database.h"
#include "runtime/process/scratch_folder.h"

namespace ak::app {
namespace {

/// The problem itself, with its small workloads, whatever shapes are searched.
std::shared_ptr<const ProblemInstance> whole_problem(const ProblemInstance& problem) {
  return codegen::instantiate(codegen::load_problem(problem.folder), problem.params);
}

/// Bytes of an element of every tensor together: what a kernel moves grows with them.
int element_bytes(const ProblemInstance& problem) {
  int bytes = 0;
  for (const auto* tensors : {&problem.definition.inputs, &problem.definition.outputs})
    for (const TensorSpec& tensor : *tensors) bytes += info(tensor.dtype).bytes;
  return bytes;
}

/// Faster units take poorer precision inside, where that is permitted.
double permitted_roundoff(const ProblemInstance& problem) {
  return problem.tolerance.internal ? info(*problem.tolerance.internal).unit_roundoff : 0;
}

class PrecisionSearch {
 public:
  PrecisionSearch(std::vector<PrecisionChoice> choices, const StatedError& stated, const ShowSearch& show)
      : choices_(std::move(choices)), widest_(stated.widest), max_error_(stated.max_error), show_(show) {
    report_.max_error = max_error_;
    report_.inputs_like = stated.inputs_like;
    report_.widest = widest_->definition.name;
    report_.emulated = choices_.front().command.setup.run.target.kind == DeviceKind::emulator;
  }

  int run(std::chrono::steady_clock::time_point command_start) {
    measure();
    const InterruptGuard interrupt;
    for (std::size_t i = 0; i < order_.size() && !interrupt.requested().load(); ++i)
      search(order_[i], order_.size() - i, interrupt.requested());
    if (!best_)
      fail(interrupt.requested().load() ? ExitCode::interrupted : ExitCode::no_kernel, "{}", why_none());
    report_.trials[*best_].chosen = true;
    outcome_.precision = std::make_shared<const PrecisionReport>(std::move(report_));
    SearchSetup& setup = choices_[place_[*best_]].command.setup;
    outcome_.loop.interrupted = outcome_.loop.interrupted || interrupt.requested().load();
    return report_search(setup, outcome_, command_start, show_);
  }

 private:
  /// What every precision costs, against the one reference, and in which order they are searched.
  void measure() {
    const SearchSetup& first = choices_.front().command.setup;
    tell(first.run, fmt::format("note: exact results of {} precisions are compared with those of {}",
                                choices_.size(), report_.widest));
    const runtime::ScratchFolder scratch;
    const auto precise = scratch.path() / "widest";
    dump_exact_results(widest_, first.run.target, first.config, first.run.seed, precise);
    std::vector<PrecisionTrial> measured;  // by choice
    std::vector<std::tuple<int, double, double, std::size_t>> promise;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const ProblemInstance& problem = *choices_[i].command.setup.run.problem;
      const auto folder = scratch.path() / fmt::format("choice{}", i);
      dump_exact_results(whole_problem(problem), first.run.target, first.config, first.run.seed, folder);
      PrecisionTrial trial{
          .name = choices_[i].name,
          .definition = problem.definition.name,
          .errors = precision_errors(folder, precise, problem.tolerance, report_.inputs_like),
          .bound = 0,
          .score_ns = {},
          .error = {},
          .note = ""};
      trial.bound = left_for_kernels(max_error_, trial.errors);
      promise.emplace_back(element_bytes(problem), -permitted_roundoff(problem), trial.errors.rounded, i);
      measured.push_back(std::move(trial));
    }
    std::ranges::sort(promise);
    for (const auto& [bytes, roundoff, error, choice] : promise) {
      PrecisionTrial& trial = measured[choice];
      trial.note = why_hopeless(trial);
      if (trial.note.empty()) order_.push_back(report_.trials.size());
      place_.push_back(choice);
      report_.trials.push_back(std::move(trial));
    }
  }

  [[nodiscard]] std::string why_hopeless(const PrecisionTrial& trial) const {
    if (trial.errors.compared == 0)
      return fmt::format("its inputs are drawn otherwise than those of {}: no error can be stated",
                         report_.widest);
    if (trial.errors.rounded > max_error_)
      return fmt::format("exact results on its rounded inputs, rounded once, are off by {:.2g} under '{}'",
                         trial.errors.rounded, trial.errors.worst);
    return trial.bound > 0 ? ""
                           : fmt::format("its rounded inputs alone are off by {:.2g}", trial.errors.inputs);
  }

  void search(std::size_t number, std::size_t left, const std::atomic<bool>& stop) {
    PrecisionTrial& trial = report_.trials[number];
    GenerateCommand& command = choices_[place_[number]].command;
    SearchRun& run = command.setup.run;
    tell(run, fmt::format("{}: searched for errors of at most {:.3g}", trial.definition, trial.bound));
    if (best_ && limit_of(run) && *limit_of(run) >= *report_.trials[*best_].score_ns) {
      trial.note =
          fmt::format("no kernel of it takes less than {}, the device's limit", format_ns(*limit_of(run)));
      return;
    }
    leave_out_unaskable_models(run);
    limit_tokens(run);
    const agent::Budgets whole = run.budgets;
    run.budgets = share_of(whole, left, spent_, spent_wall_);
    run.budgets.target_ns = whole.target_ns;
    const auto began = std::chrono::steady_clock::now();
    SearchOutcome outcome = find(command, trial.bound, stop);
    spent_wall_ +=
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    spent_ = together(spent_, outcome.loop.progress);
    judge(trial, outcome);
    if (!trial.score_ns && !best_ && outcome.loop.best) remove_kernel_files(paths_);
    if (!trial.score_ns || (best_ && !is_faster(trial, report_.trials[*best_]))) return;
    // Its files are there where nothing led before.
    if (best_) write_kernel_files(paths_, *run.problem, *outcome.loop.best, outcome.summary);
    run.paths = paths_;
    best_ = number;
    outcome_ = std::move(outcome);
  }

  /// As run_to_end().
  SearchOutcome find(GenerateCommand& command, double bound, const std::atomic<bool>& stop) {
    SearchSetup& setup = command.setup;
    SearchRun& run = setup.run;
    run.audited = require_audit(*run.problem, command.flags.unaudited, setup.config, setup.database);
    auto problem = std::make_shared<ProblemInstance>(*run.problem);
    problem->tolerance.most_error = bound;
    run.problem = std::move(problem);
    run.max_error = max_error_;
    const auto store = db::open_store(setup.database);
    add_first_points(setup, command.flags);
    add_earlier_answers(setup, command.flags);
    if (best_)
      run.paths = {};  // those of what leads stay
    else
      paths_ = run.paths;
    return find_kernel(run, setup.config, *store, stop);
  }

  /// What the checks of the kernel's last evaluation showed, whatever the gates did.
  void judge(PrecisionTrial& trial, const SearchOutcome& outcome) const {
    const agent::LoopResult& loop = outcome.loop;
    if (!loop.best || !loop.best->result.score_ns) {
      trial.note = fmt::format("none of {} kernels holds it", loop.progress.evaluated);
      return;
    }
    double worst = 0;
    for (const CheckRecord& check : loop.best->result.checks) worst = std::max(worst, check.max_error);
    trial.error = loop.best->result.checks.empty()
                      ? max_error_  // its gates say no more
                      : trial.errors.inputs + worst * (1 + 3 * trial.errors.inputs);
    if (worst > trial.bound) {
      trial.note = fmt::format("its best kernel has an error of {:.3g}", worst);
      return;
    }
    trial.score_ns = loop.best->result.score_ns;
    if (loop.predicted) trial.predicted_ns = loop.predicted->score.value();
  }

  /// By what ranked in their searches; costs and predicted times do not mix.
  static bool is_faster(const PrecisionTrial& one, const PrecisionTrial& other) {
    if (one.predicted_ns && other.predicted_ns) return *one.predicted_ns < *other.predicted_ns;
    return *one.score_ns < *other.score_ns;
  }

  [[nodiscard]] std::string why_none() const {
    std::vector<std::string> whys;
    for (const PrecisionTrial& trial : report_.trials)
      whys.push_back(fmt::format("{}: {}", trial.name, trial.note.empty() ? "not searched" : trial.note));
    return fmt::format("no precision of {} holds an error of {:g}: {}{}", widest_->problem, max_error_,
                       fmt::join(whys, "; "),
                       report_.inputs_like.empty() ? " (--inputs-like says what inputs are like)" : "");
  }
  static void tell(const SearchRun& run, const std::string& line) {
    if (!run.quiet) print_stderr("{}\n", line);
  }

  std::vector<PrecisionChoice> choices_;
  std::shared_ptr<const ProblemInstance> widest_;
  double max_error_;
  const ShowSearch& show_;
  PrecisionReport report_;
  std::vector<std::size_t> place_;  ///< of each trial its choice
  std::vector<std::size_t> order_;  ///< trials that are searched
  OutputPaths paths_;
  agent::Progress spent_;
  std::chrono::milliseconds spent_wall_{0};
  std::optional<std::size_t> best_;  ///< trial
  SearchOutcome outcome_;            ///< its
};

}  // namespace

Json precision_json(const PrecisionReport& report) {
  Json json{{"max_error", report.max_error},
            {"inputs_like", report.inputs_like},
            {"reference", report.widest},
            {"tried", Json::array()}};
  for (const PrecisionTrial& trial : report.trials)
    json["tried"].push_back({{"name", trial.name},
                             {"definition", trial.definition},
                             {"chosen", trial.chosen},
                             {"score_ns", trial.score_ns ? Json(*trial.score_ns) : Json()},
                             {"predicted_ns", trial.predicted_ns ? Json(*trial.predicted_ns) : Json()},
                             {"error", trial.error ? Json(*trial.error) : Json()},
                             {"input_error", any_number_json(trial.errors.inputs)},
                             {"rounded_error", any_number_json(trial.errors.rounded)},
                             {"bound", any_number_json(trial.bound)},
                             {"data_sets", {trial.errors.compared, trial.errors.data_sets}},
                             {"note", trial.note}});
  return json;
}

std::vector<std::string> precision_lines(const PrecisionReport& report) {
  const std::string inputs = report.inputs_like.empty()
                                 ? "all distributions"
                                 : fmt::format("{}", fmt::join(report.inputs_like, ", "));
  std::vector<std::string> lines{
      fmt::format("precision: errors of at most {:g} against float64 on the inputs of {} (rounding them "
                  "counts under: {})",
                  report.max_error, report.widest, inputs)};
  for (const PrecisionTrial& trial : report.trials) {
    const std::string time = !trial.score_ns      ? ""
                             : trial.predicted_ns ? "predicted " + format_ns(*trial.predicted_ns)
                             : report.emulated    ? "estimated cost " + format_ns(*trial.score_ns)
                                                  : format_ns(*trial.score_ns);
    const std::string what = trial.score_ns
                                 ? fmt::format("{}, error at most {:.2g}", time, trial.error.value_or(0))
                             : trial.note.empty() ? "not searched"
                                                  : trial.note;
    const std::string lacking = trial.errors.compared < trial.errors.data_sets && trial.errors.compared > 0
                                    ? fmt::format(" (inputs compared on {} of {} data sets)",
                                                  trial.errors.compared, trial.errors.data_sets)
                                    : "";
    lines.push_back(fmt::format("  {}{}: {}{}", trial.chosen ? "-> " : "   ", trial.name, what, lacking));
  }
  return lines;
}

int run_precisions(std::vector<PrecisionChoice> choices, const StatedError& stated,
                   std::chrono::steady_clock::time_point command_start, const ShowSearch& show) {
  return PrecisionSearch(std::move(choices), stated, show).run(command_start);
}

}  // namespace ak::app
