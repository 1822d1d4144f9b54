// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/operator_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "app/kernel_library/pytorch_estimate.h"
#include "app/kernel_library/template_prediction.h"
#include "app/predict/time_models.h"
#include "app/search/best_lookup.h"
#include "app/setup/named_product.h"
#include "core/device/floor.h"
#include "core/error.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

constexpr auto kBaselineQueryTime = std::chrono::seconds(60);

// Medians with a cold L2; the naive kernel is no one's choice. Turns are the last of each kernel, of device times.
constexpr const char* kBaselineQuery = R"sql(
SELECT d.problem, d.params, w.axes, m.label, min(m.median_ns) AS ns
FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id JOIN workloads w ON w.id = m.workload_id
JOIN definitions d ON d.id = w.definition_id JOIN devices dev ON dev.id = e.device_id
WHERE m.role = 'baseline' AND m.label <> 'naive' AND m.cold = 1 AND m.method <> 'emulator' AND m.median_ns > 0
  AND dev.kind = 'cuda' AND dev.name = :device GROUP BY 1, 2, 3, 4
UNION ALL
SELECT d.problem, d.params, w.axes, t.label, min(t.baseline_ns) AS ns
FROM turns t JOIN evaluations e ON e.id = t.evaluation_id JOIN workloads w ON w.id = t.workload_id
JOIN definitions d ON d.id = w.definition_id JOIN devices dev ON dev.id = e.device_id
WHERE t.time_column = 'device' AND t.label <> 'itself' AND dev.kind = 'cuda' AND dev.name = :device GROUP BY 1, 2, 3, 4)sql";

/// What people run today, in order: PyTorch as it is, compiled, and the libraries that it calls.
int rank_of_baseline(std::string_view label) {
  constexpr std::array<std::string_view, 4> kOrder{"pytorch eager", "pytorch", "cublaslt", "cudnn"};
  const auto found =
      std::ranges::find_if(kOrder, [&](std::string_view prefix) { return label.starts_with(prefix); });
  return static_cast<int>(found - kOrder.begin());
}

std::vector<MeasuredBaseline> baselines_of(const std::filesystem::path& database, const std::string& device) {
  std::vector<MeasuredBaseline> baselines;
  if (!std::filesystem::exists(database)) return baselines;
  const db::Table table = db::query(database, kBaselineQuery, 0, kBaselineQueryTime, {{"device", device}});
  for (const db::TableRow& row : db::rows_of(table))
    baselines.push_back({.problem = row.text("problem"),
                         .label = row.text("label"),
                         .params = parse_json(row.text("params")),
                         .axes = parse_json(row.text("axes")).get<AxisValues>(),
                         .ns = row.real("ns")});
  return baselines;
}

std::string key_of(const ModelOperator& line) {
  std::string key = line.problem ? line.problem->definition.name : line.name;
  for (const auto& [name, value] : line.params) key += fmt::format(";{}={}", name, to_string(value));
  for (const auto& [name, size] : line.axes) key += fmt::format(",{}={}", name, size);
  return line.problem ? key : fmt::format("{}:{}:{}", key, line.flops, line.bytes);
}

/// The dtype that an operator without a problem was to have; bfloat16 where it says none.
DType dtype_of(const ModelOperator& line) {
  const auto found = line.params.find("dtype");
  const auto parsed = found == line.params.end() ? std::nullopt : parse_dtype(to_string(found->second));
  return parsed.value_or(DType::bfloat16);
}

Floor floor_of_line(const ModelOperator& line, const DeviceFacts& device) {
  if (line.problem) return floor_of(*line.problem, line.problem->workloads.front(), device);
  if (line.flops <= 0 && line.bytes <= 0) return {};
  return floor_of_work({.flops = line.flops, .bytes = line.bytes}, dtype_of(line), device);
}

void add_points(BestPoints& best, BestPoints more) {
  best.sources.merge(more.sources);
  best.points.insert(best.points.end(), std::make_move_iterator(more.points.begin()),
                     std::make_move_iterator(more.points.end()));
}

}  // namespace

std::string_view source_name(TimeSource source) {
  constexpr std::array<std::string_view, 4> kNames{"none", "measured", "predicted", "estimated"};
  return kNames.at(static_cast<std::size_t>(source));
}

struct OperatorTimer::Knowledge {
  DeviceFacts device;
  std::string note;
  Arch arch;
  BestPoints best;
  std::vector<MeasuredBaseline> baselines;
  NamedModels models;

  [[nodiscard]] SourcedTime library(const ModelOperator& line, const Floor& floor) const;
  [[nodiscard]] SourcedTime now(const ModelOperator& line, const Floor& floor) const;
};

SourcedTime OperatorTimer::Knowledge::library(const ModelOperator& line, const Floor& floor) const {
  if (!line.problem) return {.basis = line.note};
  const AxisValues& shape = line.problem->workloads.front().axes;
  const auto matches =
      best_matches(best, {.problem = line.problem, .shape = shape, .device = device, .arch = arch}, false);
  std::vector<std::pair<std::string, TunableValues>> points;
  for (const BestMatch& match : matches) {
    const BestPoint& point = *match.point;
    const std::string file = best.sources.at(point.source).name;
    if (match.exact() && !point.emulated)
      return {
          .us = point.time_ns / kNsPerUs,
          .source = TimeSource::measured,
          .basis = fmt::format("measured on {} ({})", point.device, point.date),
          .variant = {{"template", file}, {"tunables", point.tunables}, {"provenance", point.provenance}}};
    points.emplace_back(file, point.tunables);
  }
  const auto predicted =
      predicted_best(*line.problem, {.device = device, .arch = arch, .models = models.models}, points);
  if (!predicted)
    return {.basis = fmt::format("no template of {} has a point for this shape on {}", line.problem->problem,
                                 arch.sm())};
  const profiler::Prediction& found = predicted->prediction;
  const std::string how = models.name.empty() ? "rates of the device alone"
                          : found.known_space
                              ? models.name
                              : models.name + ", which has measured no point of this template";
  Json variant{{"template", predicted->file}, {"tunables", predicted->tunables}};
  if (found.fitted) {
    variant["low_us"] = found.low_ns / kNsPerUs;
    variant["high_us"] = found.high_ns / kNsPerUs;
  }
  return {.us = std::max(found.time_ns, floor.time.value()) / kNsPerUs,
          .source = TimeSource::predicted,
          .basis = "predicted by " + how,
          .variant = std::move(variant)};
}

SourcedTime OperatorTimer::Knowledge::now(const ModelOperator& line, const Floor& floor) const {
  const MeasuredBaseline* chosen = nullptr;
  for (const MeasuredBaseline& one : baselines) {
    if (!line.problem || one.problem != line.problem->problem ||
        one.axes != line.problem->workloads.front().axes || !same_params(one.params, line.problem->params))
      continue;
    const auto order = [](const MeasuredBaseline& m) { return std::pair(rank_of_baseline(m.label), m.ns); };
    if (chosen == nullptr || order(one) < order(*chosen)) chosen = &one;
  }
  if (chosen != nullptr)
    return {
        .us = chosen->ns / kNsPerUs, .source = TimeSource::measured, .basis = "measured: " + chosen->label};
  if (!floor.known()) return {.basis = "nothing is known of its work"};
  const PytorchEstimate& estimate = pytorch_estimate_of(line.algorithm);
  return {
      .us = estimate.us(floor), .source = TimeSource::estimated, .basis = "estimated: " + estimate.source};
}

OperatorTimer::OperatorTimer(const TimeBasis& basis, const Config& config)
    : knowledge_(std::make_unique<Knowledge>()) {
  Knowledge& knows = *knowledge_;
  NamedProduct product = named_product(basis.product);
  knows.device = std::move(product.facts);
  if (product.stands_in) knows.note = stand_in_note(basis.product, knows.device);
  knows.arch = knows.device.arch;
  if (!basis.database.empty()) {
    knows.best = best_points_of(basis.database);
    knows.baselines = baselines_of(basis.database, knows.device.name);
  }
  if (!basis.best.empty()) add_points(knows.best, read_best_points(basis.best));
  knows.models = models_of_target(knows.arch.sm(), config).value_or(NamedModels{});
}

OperatorTimer::~OperatorTimer() = default;

const DeviceFacts& OperatorTimer::device() const { return knowledge_->device; }
const std::string& OperatorTimer::note() const { return knowledge_->note; }
const std::string& OperatorTimer::model() const { return knowledge_->models.name; }

OperatorTimes OperatorTimer::times(const ModelOperator& line) {
  const std::string key = key_of(line);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const Floor floor = floor_of_line(line, knowledge_->device);
  OperatorTimes times{.floor_us = floor.time.value() / kNsPerUs,
                      .floor = floor.reason,
                      .now = knowledge_->now(line, floor),
                      .library = knowledge_->library(line, floor)};
  return known_.emplace(key, std::move(times)).first->second;
}

}  // namespace ak::app
