// SPDX-License-Identifier: Apache-2.0
#include "app/predict/kernel_prediction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/evaluate_one.h"
#include "app/predict/exact_counts.h"
#include "app/predict/predicted_shapes.h"
#include "app/predict/time_models.h"
#include "app/setup/assembler.h"
#include "app/setup/named_product.h"
#include "core/error.h"
#include "db/read/table_rows.h"
#include "profiler/prediction/count_extrapolation.h"

namespace ak::app {
namespace {

using profiler::Knowledge;
using profiler::Prediction;

/// What is predicted, and from what.
struct Subject {
  const PredictionOrder& order;
  NamedProduct product;
  DeviceFacts device;  ///< the product, or where the model was fitted
  NamedModels named;   ///< without a name and empty: there is none

  [[nodiscard]] const Arch& arch() const { return product.facts.arch; }
};

/// What building and counting the candidate on the CPU device gave.
struct Facts {
  std::vector<KernelFacts> kernels;
  std::vector<profiler::CountedCall> counted;
  std::string note;  ///< why there is less than was asked for
};

std::vector<const Workload*> workloads_of(const ProblemInstance& problem) {
  std::vector<const Workload*> timed = predicted_shapes(problem);
  if (timed.empty())
    fail(ExitCode::usage, "{} times no shape; name one with --shape", problem.definition.name);
  return timed;
}

std::vector<AxisValues> shapes_to_count(const Subject& subject) {
  std::vector<AxisValues> shapes;
  for (const Workload* workload : workloads_of(*subject.order.problem)) {
    for (AxisValues& shape : profiler::reduced_shapes(*subject.order.problem, subject.order.candidate,
                                                      workload->axes, subject.device, subject.arch())) {
      if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

EvaluationResult evaluate(const Subject& subject, const Config& config,
                          const std::shared_ptr<const ProblemInstance>& problem, bool count) {
  Target target{.kind = count ? DeviceKind::emulator : DeviceKind::none,
                .arch = subject.arch(),
                .device = std::nullopt,
                .notice = {}};
  runtime::EvaluatorOptions options = evaluator_options(target, config);
  options.time_baseline = false;
  const auto evaluator = runtime::make_local_evaluator(std::move(options), source_assembler());
  EvaluationRequest request;
  request.problem = problem;
  request.candidate = subject.order.candidate;
  request.arch = subject.arch();
  request.depth = count ? Depth::time : Depth::build;
  return agent::evaluate_one(*evaluator, std::move(request)).result;
}

/// Throws Error(bad_input) when the candidate cannot be built.
Facts facts_of(const Subject& subject, const Config& config) {
  const bool count = subject.order.count;
  Facts facts;
  const auto counted =
      count ? with_counted_shapes(*subject.order.problem, shapes_to_count(subject)) : subject.order.problem;
  const bool shapes = count && !counted->workloads.empty();
  if (count && !shapes) facts.note = "no reduced shape of this problem is valid, so nothing was counted";
  const EvaluationResult result = evaluate(subject, config, shapes ? counted : subject.order.problem, shapes);
  if (!result.build || result.build->outcome.status != Status::ok)
    fail(ExitCode::bad_input, "{}: {}", subject.order.candidate.name, explain(result.outcome));
  facts.kernels = result.build->kernels;
  if (shapes && result.outcome.status != Status::ok)
    facts.note = fmt::format("not counted: on the CPU device it ended as {}: {}",
                             to_string(result.outcome.status), result.outcome.message);
  for (const Measurement& measurement : result.measurements) {
    if (measurement.counts.empty()) continue;
    const auto workload = std::ranges::find(counted->workloads, measurement.workload, &Workload::name);
    auto call =
        profiler::call_facts(*counted, profiler::min_work(*counted, *workload), subject.order.candidate,
                             workload->axes, subject.device, subject.arch(), facts.kernels);
    if (call) facts.counted.push_back({.facts = std::move(call).value(), .counts = measurement.counts});
  }
  return facts;
}

/// Medians of the same variant in the database, by workload.
std::map<std::string, double> measured_times(const Subject& subject, const std::filesystem::path& database) {
  std::map<std::string, double> times;
  if (!std::filesystem::exists(database)) return times;
  constexpr const char* kSql =
      "SELECT w.workload_uid AS workload, avg(m.median_ns) AS median_ns FROM measurements m JOIN evaluations "
      "e ON e.id = m.evaluation_id "
      "JOIN variants v ON v.id = e.variant_id JOIN workloads w ON w.id = m.workload_id "
      "JOIN devices d ON d.id = e.device_id WHERE m.role = 'candidate' AND m.cold = 1 AND d.kind = 'cuda' "
      "AND e.status = 'ok' AND d.arch = :arch AND (:product = '' OR d.name = :product) AND v.variant_hash = "
      ":variant GROUP BY 1";
  const db::QueryValues values{{"arch", subject.device.arch.sm()},
                               {"product", subject.product.is_named ? subject.product.facts.name : ""},
                               {"variant", subject.order.candidate.variant_hash()}};
  const db::Table table = db::query(database, kSql, 0, std::chrono::minutes(1), values);
  for (const db::TableRow& row : db::rows_of(table)) {
    if (const auto median = row.known_real("median_ns")) times[row.text("workload")] = *median;
  }
  return times;
}

std::vector<PredictedWorkload> predict_all(const Subject& subject, const Facts& facts,
                                           const std::map<std::string, double>& measured) {
  std::vector<PredictedWorkload> lines;
  for (const Workload* workload : workloads_of(*subject.order.problem)) {
    auto call = profiler::call_facts(
        *subject.order.problem, profiler::min_work(*subject.order.problem, *workload),
        subject.order.candidate, workload->axes, subject.device, subject.arch(), facts.kernels);
    if (!call)
      fail(ExitCode::bad_input, "{} on {}: {}", subject.order.candidate.name, workload->name,
           call.error().message);
    PredictedWorkload line{.workload = workload, .prediction = {}, .count_check = {}, .measured_ns = {}};
    if (auto counts = profiler::extrapolate_counts(facts.counted, *call)) {
      call.value().counts = std::move(counts->counts);
      call.value().knowledge = Knowledge::count;
      line.count_check = counts->check_error;
    }
    const auto& models = subject.named.models;
    line.prediction = models.models.empty() ? profiler::TimeModel().predict(*call, subject.device)
                                            : models.model_for(*call).predict(*call, subject.device);
    if (const auto found = measured.find(workload->uid); found != measured.end())
      line.measured_ns = found->second;
    lines.push_back(std::move(line));
  }
  return lines;
}

Json line_json(const PredictedWorkload& line) {
  const Prediction& p = line.prediction;
  Json terms = Json::object();
  for (const profiler::TimeTerm& term : p.analytic.terms) terms[term.name] = term.time_ns;
  Json json{{"workload", line.workload->name},
            {"predicted_ns", p.time_ns},
            {"low_ns", p.fitted ? Json(p.low_ns) : Json()},
            {"high_ns", p.fitted ? Json(p.high_ns) : Json()},
            {"limiter", p.analytic.limiter()},
            {"analytic_ns", p.analytic.total_ns},
            {"imbalance", p.analytic.imbalance},
            {"launch_ns", p.analytic.launch_ns},
            {"terms_ns", std::move(terms)},
            {"knowledge", to_string(p.knowledge)},
            {"fitted", p.fitted},
            {"known_space", p.known_space}};
  json["count_check_error"] = line.count_check ? Json(*line.count_check) : Json();
  json["measured_ns"] = line.measured_ns ? Json(*line.measured_ns) : Json();
  return json;
}

/// That of the target where none is named; without a name when there is none.
NamedModels models_for(const PredictionOrder& order, const Arch& arch, Config config) {
  if (!order.model.empty()) config.time_model = order.model;
  return models_of_target(arch.sm(), config).value_or(NamedModels{});
}

Subject subject_of(const PredictionOrder& order, const Config& config) {
  NamedProduct product = named_product(order.device);
  NamedModels named = models_for(order, product.facts.arch, config);
  DeviceFacts device = product.facts;
  // An architecture alone asks for no product: the model's own is as good, and known by measurement.
  const DeviceFacts& fitted_on = named.models.device;
  if (!named.models.models.empty() && (!product.is_named || fitted_on.name == device.name))
    device = fitted_on;
  return {.order = order, .product = std::move(product), .device = device, .named = std::move(named)};
}

std::string note_of(const Subject& subject, const Facts& facts) {
  std::vector<std::string> notes;
  const DeviceFacts& fitted_on = subject.named.models.device;
  if (subject.product.stands_in) notes.push_back(stand_in_note(subject.order.device, subject.device));
  if (!subject.named.models.models.empty() && fitted_on.name != subject.device.name)
    notes.push_back(
        fmt::format("{} was fitted on the {}: the rates are those of the {}, the correction and the interval "
                    "are those of the {}",
                    subject.named.name, fitted_on.name, subject.device.name, fitted_on.name));
  if (!facts.note.empty()) notes.push_back(facts.note);
  return fmt::format("{}", fmt::join(notes, "; "));
}

}  // namespace

PredictedKernel predict_kernel(const PredictionOrder& order, const Config& config,
                               const std::filesystem::path& database) {
  const Subject subject = subject_of(order, config);
  const Facts facts = facts_of(subject, config);
  return {.problem = order.problem,
          .arch = subject.arch(),
          .device = subject.device,
          .note = note_of(subject, facts),
          .model = subject.named.name,
          .training = subject.named.models.training,
          .workloads = predict_all(subject, facts, measured_times(subject, database))};
}

Json to_json(const PredictedKernel& predicted) {
  Json json{{"device", predicted.device.name},
            {"model", predicted.model},
            {"note", predicted.note},
            {"training", predicted.training},
            {"predictions", Json::array()}};
  for (const PredictedWorkload& line : predicted.workloads) json["predictions"].push_back(line_json(line));
  return json;
}

}  // namespace ak::app
