// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/evaluate/figure_texts.h"
#include "app/evaluate/kernel_choice.h"
#include "app/predict/kernel_prediction.h"
#include "core/error.h"
#include "tools/command_line.h"
#include "tools/kernel_arguments.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

using profiler::Knowledge;
using profiler::Prediction;

std::string line_text(const app::PredictedWorkload& line) {
  const Prediction& p = line.prediction;
  std::string text = fmt::format("  {}: {}", line.workload->name, app::format_ns(p.time_ns));
  if (p.fitted) text += fmt::format(" ({} to {})", app::format_ns(p.low_ns), app::format_ns(p.high_ns));
  text += fmt::format(", limited by {}", p.analytic.limiter());
  if (line.measured_ns)
    text += fmt::format("; measured {}, error {:+.1f} %", app::format_ns(*line.measured_ns),
                        100 * (p.time_ns / *line.measured_ns - 1));
  text += fmt::format("\n    analytic {}: launch {}", app::format_ns(p.analytic.total_ns),
                      app::format_ns(p.analytic.launch_ns));
  for (const profiler::TimeTerm& term : p.analytic.terms) {
    if (term.time_ns > 0) text += fmt::format(", {} {}", term.name, app::format_ns(term.time_ns));
  }
  text += fmt::format("\n    blocks of the busiest SM over the mean: {:.2f}\n", p.analytic.imbalance);
  // Past one part in ten a term may be wrong by as much as the intervals allow for.
  if (line.count_check && *line.count_check > 0.1)
    text += fmt::format("    counts do not grow as assumed (off by {:.0f} % at the largest counted shape)\n",
                        100 * *line.count_check);
  return text;
}

std::string basis_text(const app::PredictedKernel& predicted, const Arch& arch) {
  const Prediction& p = predicted.workloads.front().prediction;
  const std::string from = p.knowledge == Knowledge::count   ? "exact counts of reduced shapes and ptxas"
                           : p.knowledge == Knowledge::build ? "ptxas, without counts"
                                                             : "the launch plan alone";
  if (!p.fitted)
    return fmt::format(
        "is based on rates of {} and {}; no model is fitted for {}, so there is no interval "
        "(alphakernel model fit)\n",
        predicted.device.name, from, arch.sm());
  const Json& training = predicted.training;
  return fmt::format("is based on {}, corrected by {}, fitted to {} variants ({}) on {}; {}\n", from,
                     predicted.model, training.at("variants").dump(),
                     training.at("variants_by_algorithm").dump(), training.at("devices").dump(),
                     p.known_space ? "points of this plan are among them"
                                   : "none is of this plan, so the interval is that of algorithms left out");
}

int run_predict(const app::Arguments& arguments) {
  CLI::App app{"Predict how long a kernel takes on a GPU that is not here, before running it.",
               "alphakernel predict"};
  set_style(app,
            "Examples:\n  alphakernel predict softmax.cu --arch h200\n"
            "  alphakernel predict mine.cu --algorithm softmax --dtype bf16 --shape M=4096,N=1000 --json\n");
  std::string word, arch_name = "sm_90a", database, model;
  bool json = false, no_counts = false;
  add_kernel(app, "kernel", word);
  app.add_option("--arch,--target", arch_name, "the GPU, e.g. h200 or sm_90a (default: sm_90a)");
  app.add_option("--db", database, "performance database to look up measured times in");
  app.add_option(
      "--time-model", model,
      "name of a shipped model, or file that `alphakernel model fit` wrote; none: rates alone (default: the "
      "user's model of the target, else the shipped one)");
  app.add_flag("--no-counts", no_counts, "do not count on the CPU device: faster, less exact");
  app.add_flag("--json", json, "print JSON");
  const std::filesystem::path db_file = named_database(arguments);
  std::optional<app::KernelChoice> kernel = named_kernel(app, arguments, db_file);
  const ProblemFlags problem_flags(app, arguments, kernel ? kernel->problem : "");
  if (!parse(app, arguments)) return 0;
  if (!kernel) kernel = app::choose_kernel(word, db_file);
  const app::Config config = app::load_config();
  const Result<Arch> arch = parse_arch(arch_name);
  if (!arch) fail(ExitCode::usage, "{}", arch.error().message);
  const app::PredictedKernel predicted =
      app::predict_kernel({.problem = problem_flags.instance(kernel->params),
                           .candidate = kernel->candidate,
                           .arch = *arch,
                           .model = model,
                           .count = !no_counts},
                          config, db_file);
  if (json) {
    Json all{{"kernel", word}, {"arch", arch->sm()}};
    all.update(to_json(predicted));
    fmt::print("{}\n", all.dump());
    return 0;
  }
  fmt::print("{} on {} ({}), predicted:\n", word, predicted.device.name, arch->sm());
  for (const app::PredictedWorkload& line : predicted.workloads) fmt::print("{}", line_text(line));
  fmt::print("{}", basis_text(predicted, *arch));
  if (!predicted.note.empty()) fmt::print("{}\n", predicted.note);
  return 0;
}

}  // namespace

const Verb kPredictVerb{"predict", "predict how long a kernel takes on a GPU that is not here", run_predict,
                        kJudgeVerbs};

}  // namespace ak::tools
