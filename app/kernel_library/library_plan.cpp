// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/library_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text/format_version.h"

namespace ak::app {
namespace {

constexpr std::string_view kPlanFormat = "alphakernel.library_plan";
constexpr Format kPlanVersion{.name = "a plan of a kernel library", .key = "version"};

/// What a formula cannot compute has its reason in a size, of which the file's greatest is named.
std::vector<ModelStep> steps_of(const Geometry& geometry, const LibraryPlanOrder& order) {
  try {
    return model_steps(geometry, order.sizes);
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    std::pair<std::int64_t, std::string> greatest;
    for (const auto& [name, value] : geometry.values)
      if (const auto* size = std::get_if<std::int64_t>(&value)) greatest = std::max(greatest, {*size, name});
    fail(error.code(), "{}: {}; the greatest size is {} = {}", order.model.file.string(), error.what(),
         greatest.second, greatest.first);
  }
}

void add_device_note(LibraryPlan& plan, const OperatorTimer& timer) {
  if (!timer.note().empty()) plan.geometry.notes.push_back(timer.note());
}

void add_outside_note(LibraryPlan& plan) {
  std::set<std::string> names;
  for (const PlanStep& step : plan.steps) names.insert(step.step.left_out.begin(), step.step.left_out.end());
  if (!names.empty())
    plan.geometry.notes.push_back(
        fmt::format("without {}, which no module of a model calls (--outside)", fmt::join(names, ", ")));
}

PlanStep timed(ModelStep step, OperatorTimer& timer) {
  PlanStep plan;
  for (ModelOperator& line : std::exchange(step.operators, {})) {
    PlanRow row{.line = std::move(line), .times = {}};
    row.times = timer.times(row.line);
    if (row.times.now.known()) {
      plan.now_us += row.calls() * row.times.now.us;
      plan.library_us += row.calls() * row.best_us();
      plan.floor_us += row.calls() * std::min(row.times.floor_us, row.best_us());
    } else {
      ++plan.untimed;
    }
    plan.rows.push_back(std::move(row));
  }
  plan.step = std::move(step);
  return plan;
}

Json time_json(const SourcedTime& time) {
  return {{"us", time.known() ? Json(time.us) : Json()},
          {"source", source_name(time.source)},
          {"basis", time.basis}};
}

Json library_json(const SourcedTime& time) {
  Json json = time_json(time);
  json["variant"] = time.variant;
  return json;
}

Json params_json(const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params)
    std::visit([&cell = json[name]](const auto& v) { cell = v; }, value);
  return json;
}

/// A traced step has those of its file, which nobody named.
void add_sizes_of_step(Json& json, const ModelStep& step) {
  if (step.length_name.empty()) return;
  json["batch"] = step.batch;
  json[step.length_name] = step.length;
}

Json row_json(const PlanStep& plan, const PlanRow& row) {
  const ModelOperator& line = row.line;
  Json json{{"operator", line.name},
            {"what", line.what},
            {"algorithm", row.algorithm()},
            {"params", params_json(line.params)},
            {"phase", plan.step.phase},
            {"axes", line.axes},
            {"count", line.count},
            {"floor_us", row.times.floor_us > 0 ? Json(row.times.floor_us) : Json()},
            {"floor", row.times.floor},
            {"library", library_json(row.times.library)},
            {"now", time_json(row.times.now)},
            {"share", plan.share(row)},
            {"saved", plan.saved(row)}};
  if (!line.note.empty()) json["note"] = line.note;
  add_sizes_of_step(json, plan.step);
  return json;
}

Json step_json(const PlanStep& plan) {
  Json json{{"phase", plan.step.phase},      {"now_us", plan.now_us},
            {"library_us", plan.library_us}, {"floor_us", plan.floor_us},
            {"speedup", plan.speedup()},     {"speedup_at_floor", plan.speedup_at_floor()},
            {"untimed", plan.untimed}};
  add_sizes_of_step(json, plan.step);
  return json;
}

}  // namespace

double PlanRow::best_us() const {
  return times.library.known() ? std::min(times.library.us, times.now.us) : times.now.us;
}

std::string PlanRow::algorithm() const { return line.problem ? line.algorithm : "other"; }

std::string PlanStep::heading() const {
  if (step.length_name.empty()) return step.phase;
  return fmt::format("{}, batch {}, {} {}", step.phase, step.batch, step.length_name, step.length);
}

double PlanStep::share(const PlanRow& row) const {
  return now_us > 0 ? row.calls() * row.times.now.us / now_us : 0;
}

double PlanStep::saved(const PlanRow& row) const {
  return now_us > 0 ? row.calls() * (row.times.now.us - row.best_us()) / now_us : 0;
}

LibraryPlan plan_traced_library(const std::filesystem::path& file, const TimeBasis& times,
                                const runtime::PythonInstallation& python, const Config& config) {
  OperatorTimer timer(times, config);
  TracedModel traced = trace_model(file, python);
  LibraryPlan plan{.geometry = {.kind = {}, .name = file.stem().string(), .values = {}, .json = {}},
                   .device = timer.device(),
                   .time_model = timer.model(),
                   .steps = {}};
  plan.geometry.kind.name = "traced";
  plan.geometry.values["model_type"] = "pytorch";
  plan.geometry.json = {{"name", plan.geometry.name}, {"kind", "traced"}, {"model_type", "pytorch"}};
  plan.geometry.notes = std::move(traced.notes);
  add_device_note(plan, timer);
  plan.steps.push_back(timed(std::move(traced.step), timer));
  return plan;
}

LibraryPlan plan_library(const LibraryPlanOrder& order, const Config& config) {
  OperatorTimer timer(order.times, config);
  LibraryPlan plan{.geometry = read_geometry(order.model),
                   .device = timer.device(),
                   .time_model = timer.model(),
                   .steps = {}};
  add_device_note(plan, timer);
  for (ModelStep& step : steps_of(plan.geometry, order)) plan.steps.push_back(timed(std::move(step), timer));
  add_outside_note(plan);
  return plan;
}

Json to_json(const LibraryPlan& plan) {
  Json json{{"format", kPlanFormat}};
  set_version(kPlanVersion, json);
  json["model"] = plan.geometry.json;
  json["notes"] = plan.geometry.notes;
  json["device"] = {{"name", plan.device.name}, {"arch", plan.device.arch.sm()}};
  json["time_model"] = plan.time_model;
  json["operators"] = Json::array();
  json["steps"] = Json::array();
  for (const PlanStep& step : plan.steps) {
    for (const PlanRow& row : step.rows) json["operators"].push_back(row_json(step, row));
    json["steps"].push_back(step_json(step));
  }
  return json;
}

}  // namespace ak::app
