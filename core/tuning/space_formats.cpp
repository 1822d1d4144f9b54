// SPDX-License-Identifier: Apache-2.0
// Readers of results that other tuners wrote.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text/file.h"
#include "core/tuning/decompress.h"
#include "core/tuning/measured_space.h"

namespace ak {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 29;
// Old caches mark a failure by a time no kernel has.
constexpr double kFailureTime = 1e19;

struct UnitName {
  std::string_view name;
  double ns;
};
constexpr std::array kUnits{UnitName{"nanoseconds", 1},    UnitName{"microseconds", 1e3},
                            UnitName{"milliseconds", 1e6}, UnitName{"miliseconds", 1e6},
                            UnitName{"seconds", 1e9},      UnitName{"ms", 1e6}};

/// Why a file cannot be read; becomes an Error.
struct FormatFault {
  std::string message;
};

double unit_ns(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  const auto* found = std::ranges::find(kUnits, name, &UnitName::name);
  if (found == kUnits.end()) throw FormatFault{fmt::format("unknown unit of time '{}'", name)};
  return found->ns;
}

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const Json& required(const Json& object, const char* name, std::string_view where) {
  if (const Json* found = member(object, name)) return *found;
  throw FormatFault{fmt::format("{} has no '{}'", where, name)};
}

/// The list called `name`; an empty one where there is none.
const Json& list_member(const Json& object, const char* name) {
  static const Json kEmpty = Json::array();
  const Json* found = member(object, name);
  return found != nullptr ? *found : kEmpty;
}

std::string text_member(const Json& object, const char* name) {
  const Json* found = member(object, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> number_member(const Json& object, const char* name) {
  const Json* found = member(object, name);
  return found != nullptr && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

TuningValue value_at(const Json& json, std::string_view where) {
  auto value = tuning_value(json);
  if (!value) throw FormatFault{fmt::format("{}: {}", where, value.error().message)};
  return std::move(value).value();
}

/// A time, or why there is none.
void set_time(MeasuredPoint& point, const Json* time, double unit) {
  const bool is_time = time != nullptr && time->is_number();
  const double value = is_time ? time->get<double>() : 0;
  if (is_time && std::isfinite(value) && value > 0 && value < kFailureTime)
    point.time_ns = value * unit;
  else
    point.failure = time != nullptr && time->is_string() ? time->get<std::string>() : "failed";
}

// ---- Kernel Tuner caches

std::string cache_objective(const Json& json) {
  const Json* objective = member(json, "objective");
  if (objective != nullptr && objective->is_array() && !objective->empty()) objective = &objective->front();
  return objective != nullptr && objective->is_string() ? objective->get<std::string>() : "time";
}

std::vector<TuningParameter> cache_parameters(const Json& json) {
  std::vector<TuningParameter> parameters;
  const Json& listed = list_member(json, "tune_params");
  for (const Json& key : required(json, "tune_params_keys", "the cache")) {
    if (!key.is_string()) throw FormatFault{"tune_params_keys: expected names"};
    TuningParameter& parameter = parameters.emplace_back(TuningParameter{key.get<std::string>(), {}});
    for (const Json& value : list_member(listed, parameter.name.c_str())) {
      TuningValue read = value_at(value, "tune_params." + parameter.name);
      if (std::ranges::find(parameter.values, read) == parameter.values.end())
        parameter.values.push_back(std::move(read));
    }
  }
  if (parameters.empty()) throw FormatFault{"tune_params_keys is empty"};
  return parameters;
}

MeasuredSpaceBuilder::Row cache_row(const Json& entry, const std::vector<TuningParameter>& parameters,
                                    const std::string& objective, const std::string& where) {
  MeasuredSpaceBuilder::Row row;
  for (const TuningParameter& parameter : parameters)
    row.values.emplace(parameter.name, value_at(required(entry, parameter.name.c_str(), where), where));
  const Json* error = member(entry, "__error__");
  set_time(row.result, error != nullptr ? error : member(entry, objective.c_str()), kNsPerMs);
  row.result.compile_ms = number_member(entry, "compile_time");
  row.result.benchmark_ms = number_member(entry, "benchmark_time");
  return row;
}

Result<MeasuredSpace> from_cache(const Json& json) {
  const std::vector<TuningParameter> parameters = cache_parameters(json);
  const std::string objective = cache_objective(json);
  MeasuredSpaceBuilder builder;
  for (const auto& [key, entry] : required(json, "cache", "the file").items())
    builder.add(cache_row(entry, parameters, objective, fmt::format("cache['{}']", key)));
  auto space = builder.finish(parameters);
  if (!space) return space;
  space.value().kernel = text_member(json, "kernel_name");
  space.value().device = text_member(json, "device_name");
  return space;
}

// ---- T4

MeasuredSpaceBuilder::Row t4_row(const Json& item, double unit, const std::string& where) {
  MeasuredSpaceBuilder::Row row;
  for (const auto& [name, value] : required(item, "configuration", where).items())
    row.values.emplace(name, value_at(value, where + ".configuration." + name));
  std::string objective = "time";
  if (const Json* names = member(item, "objectives");
      names != nullptr && names->is_array() && !names->empty() && names->front().is_string())
    objective = names->front().get<std::string>();
  const Json* time = nullptr;
  double time_unit = unit;
  for (const Json& measurement : list_member(item, "measurements")) {
    if (text_member(measurement, "name") != objective) continue;
    time = member(measurement, "value");
    if (const std::string name = text_member(measurement, "unit"); !name.empty()) time_unit = unit_ns(name);
  }
  const std::string invalidity = text_member(item, "invalidity");
  const Json reason = invalidity;
  set_time(row.result, invalidity.empty() || invalidity == "correct" ? time : &reason, time_unit);
  if (const Json* times = member(item, "times")) {
    const auto compilation = number_member(*times, "compilation");
    row.result.compile_ms = compilation ? compilation : number_member(*times, "compilation_time");
    row.result.benchmark_ms = number_member(*times, "benchmark");
  }
  return row;
}

Result<MeasuredSpace> from_t4(const Json& json) {
  double unit = kNsPerMs;
  if (const Json* metadata = member(json, "metadata"))
    if (const std::string name = text_member(*metadata, "timeunit"); !name.empty()) unit = unit_ns(name);
  MeasuredSpaceBuilder builder;
  std::size_t at = 0;
  std::vector<TuningParameter> parameters;  // in the order of the first result
  for (const Json& item : required(json, "results", "the file")) {
    const std::string where = fmt::format("results[{}]", at++);
    builder.add(t4_row(item, unit, where));
    if (!parameters.empty()) continue;
    for (const auto& entry : item.at("configuration").items()) parameters.push_back({entry.key(), {}});
  }
  return builder.finish(std::move(parameters));
}

// ---- KTT

MeasuredSpaceBuilder::Row ktt_row(const Json& item, double unit, const std::string& where) {
  MeasuredSpaceBuilder::Row row;
  for (const Json& entry : required(item, "Configuration", where))
    row.values.emplace(text_member(entry, "Name"),
                       value_at(required(entry, "Value", where), where + ".Configuration"));
  const Json status = text_member(item, "Status");
  set_time(row.result, status == "Ok" ? member(item, "TotalDuration") : &status, unit);
  for (const Json& computation : list_member(item, "ComputationResults"))
    if (const auto overhead = number_member(computation, "CompilationOverhead"))
      row.result.compile_ms = row.result.compile_ms.value_or(0) + *overhead * unit / kNsPerMs;
  return row;
}

Result<MeasuredSpace> from_ktt(const Json& json) {
  const Json& metadata = required(json, "Metadata", "the file");
  const double unit = unit_ns(text_member(metadata, "TimeUnit"));
  MeasuredSpaceBuilder builder;
  std::size_t at = 0;
  std::vector<TuningParameter> parameters;
  std::string kernel;
  for (const Json& item : required(json, "Results", "the file")) {
    builder.add(ktt_row(item, unit, fmt::format("Results[{}]", at++)));
    const std::string name = text_member(item, "KernelName");
    if (!kernel.empty() && name != kernel)
      throw FormatFault{fmt::format("results of two kernels, {} and {}, in one file", kernel, name)};
    kernel = name;
    if (!parameters.empty()) continue;
    for (const Json& entry : item.at("Configuration")) parameters.push_back({text_member(entry, "Name"), {}});
  }
  auto space = builder.finish(std::move(parameters));
  if (!space) return space;
  space.value().kernel = kernel;
  space.value().device = text_member(metadata, "Device");
  return space;
}

// ---- any of them

/// Parses; a cache that its tuner did not close is closed after its last whole entry, and `note` says so.
std::optional<Json> parse_closing(const std::string& text, std::string& note) {
  Json json = try_parse_json(text);
  if (!json.is_discarded()) return json;
  if (text.find("\"cache\"") == std::string::npos) return std::nullopt;
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  const std::size_t comma = last != std::string::npos && text[last] == ',' ? last : text.size();
  json = try_parse_json(text.substr(0, comma) + "}}");
  if (!json.is_discarded()) return json;  // the open form: nothing is lost
  for (std::size_t line = text.rfind('\n'); line != std::string::npos && line > 0;
       line = text.rfind('\n', line - 1)) {
    const std::size_t end = text.find_last_not_of(" \t\r\n,", line);
    if (end == std::string::npos || (text[end] != '}' && text[end] != '{')) continue;
    json = try_parse_json(text.substr(0, end + 1) + "}}");
    if (json.is_discarded()) continue;
    note = fmt::format("cut short: the last {} bytes are not a whole entry and were left out",
                       text.size() - end - 1);
    return json;
  }
  return std::nullopt;
}

Result<MeasuredSpace> dispatch(const Json& json) {
  if (member(json, "cache") != nullptr) return from_cache(json);
  if (member(json, "results") != nullptr) return from_t4(json);
  if (member(json, "Results") != nullptr) return from_ktt(json);
  if (is_definition(json)) return InputError{"a definition (T1) has no results"};
  return InputError{"expected a Kernel Tuner cache, T4 results or KTT results"};
}

}  // namespace

Result<MeasuredSpace> parse_measured_space(const std::string& text) {
  std::string note;
  const std::optional<Json> json = parse_closing(text, note);
  if (!json) return InputError{"not JSON, or cut short: no whole results can be read from it"};
  try {
    Result<MeasuredSpace> space = dispatch(*json);
    if (space.ok() && !note.empty()) space.value().notes.push_back(note);
    return space;
  } catch (const FormatFault& fault) {
    return InputError{fault.message};
  } catch (const Json::exception& error) {
    return InputError{error.what()};
  }
}

MeasuredSpace read_measured_space(const std::filesystem::path& file) {
  bool cut_short = false;
  const std::string text = decompress(read_file(file, kLargestFile), file.string(), cut_short);
  Result<MeasuredSpace> space = parse_measured_space(text);
  if (!space) fail(ExitCode::bad_input, "{}: {}", file.string(), space.error().message);
  if (cut_short) space.value().notes.push_back("the packed data end early");
  return std::move(space).value();
}

bool is_definition(const Json& json) { return member(json, "ConfigurationSpace") != nullptr; }

Result<SpaceDefinition> parse_definition(const Json& json) {
  try {
    SpaceDefinition definition;
    const Json& space = required(json, "ConfigurationSpace", "the file");
    for (const Json& entry : required(space, "TuningParameters", "ConfigurationSpace")) {
      const std::string name = text_member(entry, "Name");
      if (name.empty()) return InputError{"a tuning parameter without a Name"};
      const Json& values = required(entry, "Values", name);
      auto list = parse_value_list(values.is_string() ? values.get<std::string>() : values.dump());
      if (!list) return InputError{fmt::format("values of {}: {}", name, list.error().message)};
      definition.parameters.push_back({name, std::move(list).value()});
    }
    for (const Json& condition : list_member(space, "Conditions"))
      definition.constraints.push_back(required(condition, "Expression", "a condition").get<std::string>());
    if (const Json* kernel = member(json, "KernelSpecification"))
      definition.kernel = text_member(*kernel, "KernelName");
    return definition;
  } catch (const FormatFault& fault) {
    return InputError{fault.message};
  } catch (const Json::exception& error) {
    return InputError{error.what()};
  }
}

}  // namespace ak
