// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "core/tuning/measured_space.h"

namespace ak {
namespace {

std::string error_name(const std::string& failure) {
  if (failure.find("ompil") != std::string::npos) return "CompilationFailedConfig";
  if (failure.find("constraint") != std::string::npos || failure == "InvalidConfig") return "InvalidConfig";
  return "RuntimeFailedConfig";
}

std::string invalidity_of(const MeasuredPoint& point) {
  static constexpr std::string_view kKnown[] = {"timeout", "compile", "runtime", "correctness",
                                                "constraints"};
  if (point.time_ns) return "correct";
  for (const std::string_view known : kKnown)
    if (point.failure.find(known) != std::string::npos) return std::string(known);
  const std::string error = error_name(point.failure);
  if (error == "CompilationFailedConfig") return "compile";
  return error == "InvalidConfig" ? "constraints" : "runtime";
}

Json configuration_of(const MeasuredSpace& space, const MeasuredPoint& point) {
  Json json = Json::object();
  for (std::size_t i = 0; i < space.parameters.size(); ++i)
    json[space.parameters[i].name] = to_json(space.parameters[i].values[point.point[i]]);
  return json;
}

std::string key_of(const MeasuredSpace& space, const MeasuredPoint& point) {
  std::string key;
  for (std::size_t i = 0; i < space.parameters.size(); ++i)
    key += (i > 0 ? "," : "") + to_string(space.parameters[i].values[point.point[i]]);
  return key;
}

}  // namespace

Json to_kernel_tuner_cache(const MeasuredSpace& space) {
  Json json{{"device_name", space.device}, {"kernel_name", space.kernel}, {"problem_size", 0}};
  json["tune_params_keys"] = Json::array();
  json["tune_params"] = Json::object();
  for (const TuningParameter& parameter : space.parameters) {
    json["tune_params_keys"].push_back(parameter.name);
    Json& values = json["tune_params"][parameter.name] = Json::array();
    for (const TuningValue& value : parameter.values) values.push_back(to_json(value));
  }
  json["objective"] = "time";
  Json& cache = json["cache"] = Json::object();
  for (const MeasuredPoint& point : space.points) {
    Json entry = configuration_of(space, point);
    if (point.time_ns) {
      entry["time"] = *point.time_ns / kNsPerMs;
    } else {
      entry["time"] = error_name(point.failure);
    }
    entry["compile_time"] = point.compile_ms.value_or(0);
    entry["benchmark_time"] = point.benchmark_ms.value_or(0);
    cache[key_of(space, point)] = std::move(entry);
  }
  return json;
}

Json to_t4(const MeasuredSpace& space) {
  Json results = Json::array();
  for (const MeasuredPoint& point : space.points) {
    Json times{{"compilation", point.compile_ms.value_or(0)},
               {"benchmark", point.benchmark_ms.value_or(0)},
               {"framework", 0},
               {"search_algorithm", 0},
               {"validation", 0},
               {"runtimes", Json::array()}};
    Json measurement{{"name", "time"}, {"value", error_name(point.failure)}, {"unit", "milliseconds"}};
    if (point.time_ns) measurement["value"] = *point.time_ns / kNsPerMs;
    if (point.time_ns) times["runtimes"].push_back(*point.time_ns / kNsPerMs);
    results.push_back({{"timestamp", ""},
                       {"configuration", configuration_of(space, point)},
                       {"objectives", Json::array({"time"})},
                       {"times", std::move(times)},
                       {"invalidity", invalidity_of(point)},
                       {"correctness", point.time_ns ? 1 : 0},
                       {"measurements", Json::array({std::move(measurement)})}});
  }
  return {{"metadata", {{"timeunit", "milliseconds"}}},
          {"results", std::move(results)},
          {"schema_version", "1.0.0"}};
}

}  // namespace ak
