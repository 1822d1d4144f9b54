// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/hash.h"
#include "core/say.h"
#include "db/database.h"
#include "profiler/count_extrapolation.h"
#include "runtime/candidate_plan.h"
#include "tools/assembler.h"
#include "tools/command_line.h"
#include "tools/exact_counts.h"
#include "tools/kernel_choice.h"
#include "tools/progress_line.h"
#include "tools/time_prediction.h"

namespace ak::tools {
namespace {

using profiler::Knowledge;
using profiler::Prediction;

/// What is predicted, and from what.
struct Subject {
  std::shared_ptr<const ProblemInstance> problem;
  Candidate candidate;
  Arch arch;
  DeviceFacts device;
  profiler::FittedModels models;  ///< none fitted: empty
};

/// What building and counting the candidate on the CPU device gave.
struct Facts {
  std::vector<KernelFacts> kernels;
  std::vector<profiler::CountedCall> counted;
  std::string note;  ///< why there is less than was asked for
};

struct Line {
  const Workload* workload;
  Prediction prediction;
  std::optional<double> count_check, measured_ns;
};

std::vector<const Workload*> workloads_of(const ProblemInstance& problem) {
  std::vector<const Workload*> timed;
  for (const Workload& workload : problem.workloads) {
    if (workload.has(WorkloadRole::time) && workload.tier != WorkloadTier::emulator)
      timed.push_back(&workload);
  }
  if (timed.empty())
    fail(ExitCode::usage, "{} times no shape; name one with --shape", problem.definition.name);
  return timed;
}

std::vector<AxisValues> shapes_to_count(const Subject& subject) {
  std::vector<AxisValues> shapes;
  for (const Workload* workload : workloads_of(*subject.problem)) {
    for (AxisValues& shape : profiler::reduced_shapes(*subject.problem, subject.candidate, workload->axes,
                                                      subject.device, subject.arch)) {
      if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

EvaluationResult evaluate(const Subject& subject, const Config& config,
                          const std::shared_ptr<const ProblemInstance>& problem, bool count) {
  Target target{.kind = count ? DeviceKind::emulator : DeviceKind::none,
                .arch = subject.arch,
                .device = std::nullopt,
                .notice = {}};
  runtime::EvaluatorOptions options = evaluator_options(target, config);
  options.time_baseline = false;
  const auto evaluator = runtime::make_local_evaluator(std::move(options), source_assembler());
  EvaluationRequest request;
  request.problem = problem;
  request.candidate = subject.candidate;
  request.arch = subject.arch;
  request.depth = count ? Depth::time : Depth::build;
  evaluator->submit(std::move(request));
  auto done = evaluator->wait_any(std::chrono::steady_clock::time_point::max());
  AK_ASSERT(done.has_value(), "an evaluation without a deadline always completes");
  return std::move(done->result);
}

/// Throws Error(bad_input) when the candidate cannot be built.
Facts facts_of(const Subject& subject, const Config& config, bool count) {
  Facts facts;
  const auto counted =
      count ? with_counted_shapes(*subject.problem, shapes_to_count(subject)) : subject.problem;
  const bool shapes = count && !counted->workloads.empty();
  if (count && !shapes) facts.note = "no reduced shape of this problem is valid, so nothing was counted";
  const EvaluationResult result = evaluate(subject, config, shapes ? counted : subject.problem, shapes);
  if (!result.build || result.build->outcome.status != Status::ok)
    fail(ExitCode::bad_input, "{}: {}", subject.candidate.name, explain(result.outcome));
  facts.kernels = result.build->kernels;
  if (shapes && result.outcome.status != Status::ok)
    facts.note = fmt::format("not counted: on the CPU device it ended as {}: {}",
                             to_string(result.outcome.status), result.outcome.message);
  for (const Measurement& measurement : result.measurements) {
    if (measurement.counts.empty()) continue;
    const auto workload = std::ranges::find(counted->workloads, measurement.workload, &Workload::name);
    auto call = profiler::call_facts(*counted, profiler::least_work(*counted, *workload), subject.candidate,
                                     workload->axes, subject.device, subject.arch, facts.kernels);
    if (call) facts.counted.push_back({.facts = std::move(call).value(), .counts = measurement.counts});
  }
  return facts;
}

/// Medians of the same variant in the database, by workload.
std::map<std::string, double> measured_times(const Subject& subject, const std::filesystem::path& database) {
  std::map<std::string, double> times;
  if (!std::filesystem::exists(database)) return times;
  const std::string sql = fmt::format(
      "SELECT w.workload_uid, avg(m.median_ns) FROM measurements m JOIN evaluations e ON e.id = "
      "m.evaluation_id "
      "JOIN variants v ON v.id = e.variant_id JOIN workloads w ON w.id = m.workload_id "
      "JOIN devices d ON d.id = e.device_id WHERE m.role = 'candidate' AND m.cold = 1 AND d.kind = 'cuda' "
      "AND e.status = 'ok' AND d.arch = '{}' AND v.variant_hash = '{}' GROUP BY 1",
      subject.device.arch.sm(), subject.candidate.variant_hash());
  for (const auto& row : db::query(database, sql, 0, std::chrono::minutes(1)).rows) {
    if (const auto* value = std::get_if<double>(&row[1])) times[std::get<std::string>(row[0])] = *value;
  }
  return times;
}

std::vector<Line> predict_all(const Subject& subject, const Facts& facts,
                              const std::map<std::string, double>& measured) {
  std::vector<Line> lines;
  for (const Workload* workload : workloads_of(*subject.problem)) {
    auto call =
        profiler::call_facts(*subject.problem, profiler::least_work(*subject.problem, *workload),
                             subject.candidate, workload->axes, subject.device, subject.arch, facts.kernels);
    if (!call)
      fail(ExitCode::bad_input, "{} on {}: {}", subject.candidate.name, workload->name, call.error().message);
    Line line{.workload = workload, .prediction = {}, .count_check = {}, .measured_ns = {}};
    if (auto counts = profiler::extrapolate_counts(facts.counted, *call)) {
      call.value().counts = std::move(counts->counts);
      call.value().knowledge = Knowledge::count;
      line.count_check = counts->check_error;
    }
    const auto& models = subject.models;
    line.prediction = models.models.empty() ? profiler::TimeModel().predict(*call, subject.device)
                                            : models.model_for(*call).predict(*call, subject.device);
    if (const auto found = measured.find(workload->uid); found != measured.end())
      line.measured_ns = found->second;
    lines.push_back(std::move(line));
  }
  return lines;
}

Json line_json(const Line& line) {
  const Prediction& p = line.prediction;
  Json terms = Json::object();
  for (const profiler::TimeTerm& term : p.analytic.terms) terms[term.name] = term.time_ns;
  Json json{{"workload", line.workload->name},
            {"predicted_ns", p.time_ns},
            {"low_ns", p.fitted ? Json(p.low_ns) : Json()},
            {"high_ns", p.fitted ? Json(p.high_ns) : Json()},
            {"limiter", p.analytic.limiter()},
            {"analytic_ns", p.analytic.total_ns},
            {"launch_ns", p.analytic.launch_ns},
            {"terms_ns", std::move(terms)},
            {"knowledge", to_string(p.knowledge)},
            {"fitted", p.fitted},
            {"known_space", p.known_space}};
  json["count_check_error"] = line.count_check ? Json(*line.count_check) : Json();
  json["measured_ns"] = line.measured_ns ? Json(*line.measured_ns) : Json();
  return json;
}

std::string line_text(const Line& line) {
  const Prediction& p = line.prediction;
  std::string text = fmt::format("  {}: {}", line.workload->name, format_ns(p.time_ns));
  if (p.fitted) text += fmt::format(" ({} to {})", format_ns(p.low_ns), format_ns(p.high_ns));
  text += fmt::format(", limited by {}", p.analytic.limiter());
  if (line.measured_ns)
    text += fmt::format("; measured {}, error {:+.1f} %", format_ns(*line.measured_ns),
                        100 * (p.time_ns / *line.measured_ns - 1));
  text += fmt::format("\n    analytic {}: launch {}", format_ns(p.analytic.total_ns),
                      format_ns(p.analytic.launch_ns));
  for (const profiler::TimeTerm& term : p.analytic.terms) {
    if (term.time_ns > 0) text += fmt::format(", {} {}", term.name, format_ns(term.time_ns));
  }
  text += fmt::format("\n    blocks of the busiest SM over the mean: {:.2f}\n", p.analytic.imbalance);
  // Past one part in ten a term may be wrong by as much as the intervals allow for.
  if (line.count_check && *line.count_check > 0.1)
    text += fmt::format("    counts do not grow as assumed (off by {:.0f} % at the largest counted shape)\n",
                        100 * *line.count_check);
  return text;
}

std::string basis_text(const Subject& subject, const std::vector<Line>& lines) {
  const Prediction& p = lines.front().prediction;
  const std::string from = p.knowledge == Knowledge::count   ? "exact counts of reduced shapes and ptxas"
                           : p.knowledge == Knowledge::build ? "ptxas, without counts"
                                                             : "the launch plan alone";
  if (!p.fitted)
    return fmt::format(
        "rests on rates of {} and {}; no model is fitted for {}, so there is no interval "
        "(alphakernel model fit)\n",
        subject.device.name, from, subject.arch.sm());
  const Json& training = subject.models.training;
  return fmt::format("rests on {}, corrected by a model fitted to {} variants ({}) on {}; {}\n", from,
                     training.at("variants").dump(), training.at("variants_by_algorithm").dump(),
                     training.at("devices").dump(),
                     p.known_space ? "points of this plan are among them"
                                   : "none is of this plan, so the interval is that of algorithms left out");
}

}  // namespace

int run_predict(const Arguments& arguments) {
  CLI::App app{"Predict how long a kernel takes on a GPU that is not here, before running it.",
               "alphakernel predict"};
  set_style(app,
            "Examples:\n  alphakernel predict softmax.cu --arch h200\n"
            "  alphakernel predict mine.cu --algorithm softmax --dtype bf16 --shape M=4096,N=1000 --json\n");
  std::string file, arch_name = "sm_90a", database, model;
  bool json = false, no_counts = false;
  app.add_option("file", file, "the kernel, a .cu file with a launch plan (docs/candidate.md)")->required();
  app.add_option("--arch,--target", arch_name, "the GPU, e.g. h200 or sm_90a (default: sm_90a)");
  app.add_option("--db", database, "performance database to look up measured times in");
  app.add_option("--time-model", model, "model that `alphakernel model fit` wrote (default: the user's)");
  app.add_flag("--no-counts", no_counts, "do not count on the CPU device: faster, less exact");
  app.add_flag("--json", json, "print JSON");
  const std::string path = kernel_argument(arguments);
  std::optional<KernelChoice> kernel;
  if (!path.empty()) kernel = kernel_of_file(path);
  const ProblemFlags problem_flags(app, arguments, kernel ? kernel->problem : "");
  if (!parse(app, arguments)) return 0;
  if (!kernel) fail(ExitCode::usage, "expected a kernel file ending in .cu, got '{}'", file);
  const Config config = load_config();
  const Result<Arch> arch = parse_arch(arch_name);
  if (!arch) fail(ExitCode::usage, "{}", arch.error().message);
  Subject subject{.problem = problem_flags.instance(kernel->params),
                  .candidate = kernel->candidate,
                  .arch = *arch,
                  .device = runtime::nominal_device(*arch),
                  .models = {}};
  if (!model.empty()) {
    subject.models = profiler::read_models(model);
    if (subject.models.arch != arch->sm())
      fail(ExitCode::usage, "--time-model {}: fitted for {}, not for {}", model, subject.models.arch,
           arch->sm());
  } else if (auto found = load_models(arch->sm(), config)) {
    subject.models = std::move(*found);
  }
  if (!subject.models.models.empty()) subject.device = subject.models.device;
  const Facts facts = facts_of(subject, config, !no_counts);
  const auto lines = predict_all(subject, facts, measured_times(subject, database_file(database, config)));
  if (json) {
    Json all{{"kernel", file},
             {"arch", arch->sm()},
             {"device", subject.device.name},
             {"note", facts.note},
             {"training", subject.models.training},
             {"predictions", Json::array()}};
    for (const Line& line : lines) all["predictions"].push_back(line_json(line));
    fmt::print("{}\n", all.dump());
    return 0;
  }
  fmt::print("{} on {} ({}), predicted:\n", file, subject.device.name, arch->sm());
  for (const Line& line : lines) fmt::print("{}", line_text(line));
  fmt::print("{}", basis_text(subject, lines));
  if (!facts.note.empty()) fmt::print("{}\n", facts.note);
  return 0;
}

}  // namespace ak::tools
