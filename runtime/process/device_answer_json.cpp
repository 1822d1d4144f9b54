// SPDX-License-Identifier: Apache-2.0
// Answers of device workers as JSON. What a field may be is in the tables: a worker that a candidate took over, or a
// damaged journal, gives an error that names the field.
#include <type_traits>

#include "core/message/message_fields.h"
#include "core/text/any_number.h"
#include "runtime/process/device_messages.h"

namespace ak::runtime {
namespace {

// What honest answers stay below by far.
constexpr std::size_t kMaxName = 4'096;
constexpr std::size_t kMaxWords = 64u << 10;
constexpr std::size_t kMaxDetails = 1u << 20;  // a finding of the CPU device with the calls that led to it
constexpr std::size_t kMaxDiagnostics = 10'000;
constexpr std::size_t kMaxRecords = 1'000'000;  // workloads times distributions times outputs
constexpr std::size_t kMaxSamples = 1'000'000;
constexpr std::size_t kMaxLines = 100'000;  // of a candidate of at most 1 MiB
constexpr std::size_t kMaxCounts = 10'000;  // docs/timing.md lists some hundred names
constexpr std::size_t kMaxCountName = 200;
constexpr std::int64_t kMaxInt = INT32_MAX;
constexpr std::int64_t kMaxNs = std::int64_t{1} << 60;  // 36 years
constexpr std::int64_t kMaxMs = std::int64_t{1} << 40;
constexpr std::int64_t kMaxCelsius = 1'000;
constexpr std::int64_t kMaxMhz = 1'000'000;
constexpr std::int64_t kMaxWatt = 1'000'000;

template <class T, class ToJson>
Json list_json(const std::vector<T>& values, ToJson to_json_of) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(to_json_of(value));
  return list;
}

// ---- diagnostics and the outcome

Json diagnostic_json(const Diagnostic& diagnostic) {
  return {{"severity", diagnostic.severity},
          {"message", diagnostic.message},
          {"line", diagnostic.line},
          {"column", diagnostic.column},
          {"details", diagnostic.details.empty() ? Json() : parse_json(diagnostic.details)}};
}

/// What those who show a finding rely on (docs/device_messages.md).
constexpr std::pair<std::string_view, bool (Json::*)() const noexcept> kDetailTypes[] = {
    {"kind", &Json::is_string},         {"buffer", &Json::is_string},      {"detail", &Json::is_string},
    {"advice", &Json::is_string},       {"message", &Json::is_string},     {"first", &Json::is_object},
    {"calls", &Json::is_array},         {"byte_offset", &Json::is_number}, {"buffer_bytes", &Json::is_number},
    {"access_bytes", &Json::is_number}, {"times", &Json::is_number}};

void take_details(const JsonReader& at, Diagnostic& diagnostic) {
  if (at.json().is_null()) return;
  if (!at.json().is_object()) at.fail("an object or null");
  for (const auto& [key, is_type] : kDetailTypes) {
    const auto value = at.find(key);
    if (value && !(value->json().*is_type)()) value->fail("another type");
  }
  diagnostic.details = at.json().dump();
  if (diagnostic.details.size() > kMaxDetails) at.reject("more than a finding says");
}

constexpr Field<Diagnostic> kFindingFields[] = {{"severity", take::severity<&Diagnostic::severity>},
                                                {"message", take::words<&Diagnostic::message, kMaxWords>},
                                                {"line", take::integer<&Diagnostic::line, 0, kMaxInt>},
                                                {"column", take::integer<&Diagnostic::column, 0, kMaxInt>},
                                                {"details", take_details}};

Diagnostic finding_from(const JsonReader& at) { return read_fields(at, kFindingFields); }

void take_status_name(const JsonReader& at, Outcome& outcome) {
  const auto status = parse_status(at.text());
  if (!status) at.fail("the name of a status");
  outcome.status = *status;
}

void take_stage_number(const JsonReader& at, Outcome& outcome) {
  const std::int64_t stage = at.integer();
  const auto count = static_cast<std::int64_t>(stages().size());
  if (stage < 0 || stage >= count) at.fail(fmt::format("the number of a stage, from 0 to {}", count - 1));
  outcome.stage = static_cast<StageId>(stage);
}

void take_gate_name(const JsonReader& at, Outcome& outcome) {
  if (at.json().is_null()) return;
  outcome.gate = parse_gate(at.text());
  if (!outcome.gate) at.fail("the name of a gate, or null");
}

constexpr Field<Outcome> kEndFields[] = {
    {"status", take_status_name},
    {"stage", take_stage_number},
    {"message", take::words<&Outcome::message, kMaxWords>},
    {"diagnostics", take::list<&Outcome::diagnostics, finding_from, kMaxDiagnostics>},
    {"gate", take_gate_name}};

// ---- checks

Json check_json(const CheckRecord& check) {
  return {{"workload", check.workload},
          {"distribution", check.distribution},
          {"seed", check.seed},
          {"tensor", check.tensor},
          {"passed", check.passed},
          {"max_error", any_number_json(check.max_error)},
          {"mean_error", any_number_json(check.mean_error)},
          {"tolerance", any_number_json(check.tolerance)},
          {"worst_index", check.worst_index},
          {"worst_expected", any_number_json(check.worst_expected)},
          {"worst_got", any_number_json(check.worst_got)},
          {"nonfinite_mismatches", check.nonfinite_mismatches}};
}

constexpr Field<CheckRecord> kCheckFields[] = {
    {"workload", take::text<&CheckRecord::workload, kMaxName>},
    {"distribution", take::text<&CheckRecord::distribution, kMaxName>},
    {"seed", take::count<&CheckRecord::seed>},
    {"tensor", take::text<&CheckRecord::tensor, kMaxName>},
    {"passed", take::flag<&CheckRecord::passed>},
    {"max_error", take::any_number<&CheckRecord::max_error>},
    {"mean_error", take::any_number<&CheckRecord::mean_error>},
    {"tolerance", take::any_number<&CheckRecord::tolerance>},
    {"worst_index", take::integer<&CheckRecord::worst_index, -1, INT64_MAX>},
    {"worst_expected", take::any_number<&CheckRecord::worst_expected>},
    {"worst_got", take::any_number<&CheckRecord::worst_got>},
    {"nonfinite_mismatches", take::integer<&CheckRecord::nonfinite_mismatches, 0, INT64_MAX>}};

CheckRecord check_from(const JsonReader& at) { return read_fields(at, kCheckFields); }

// ---- measurements

Json line_counts_json(const std::map<int, Counts>& lines) {
  Json json = Json::array();
  for (const auto& [line, counts] : lines) json.push_back({line, counts});
  return json;
}

Json energy_json(const std::optional<Energy>& energy) {
  if (!energy) return nullptr;
  return {{"joule", energy->joule},
          {"power_w", energy->power_w},
          {"call_ns", energy->call_ns},
          {"calls", energy->calls},
          {"absence", energy->unavailable_reason}};
}

Json measurement_json(const Measurement& measurement) {
  return {{"workload", measurement.workload},
          {"role", static_cast<int>(measurement.role)},
          {"label", measurement.label},
          {"method", measurement.method},
          {"cold", measurement.cold},
          {"samples_ns", measurement.samples_ns},
          {"launches_per_sample", measurement.launches_per_sample},
          {"truncated", measurement.truncated},
          {"median_ns", measurement.median_ns},
          {"ci_low_ns", measurement.ci_low_ns},
          {"ci_high_ns", measurement.ci_high_ns},
          {"sm_clock_mhz", measurement.sm_clock_mhz},
          {"memory_clock_mhz", measurement.memory_clock_mhz},
          {"temperature_c", measurement.temperature_c},
          {"power_w", measurement.power_w},
          {"throttle_reasons", measurement.throttle_reasons},
          {"throttled", measurement.throttled},
          {"counts", measurement.counts},
          {"line_counts", line_counts_json(measurement.line_counts)},
          {"energy", energy_json(measurement.energy)},
          {"prepare_ns", measurement.prepare_ns},
          {"prepared_bytes", measurement.prepared_bytes}};
}

void take_role(const JsonReader& at, Measurement& measurement) {
  const std::int64_t role = at.integer();
  if (role < 0 || role > static_cast<std::int64_t>(MeasurementRole::baseline))
    at.fail("the number of a role, from 0 to 2");
  measurement.role = static_cast<MeasurementRole>(role);
}

// Without a place for each number: there are thousands.
template <std::vector<std::uint32_t> Measurement::*member>
void take_numbers(const JsonReader& at, Measurement& measurement) {
  const Json& json = at.json();
  if (!json.is_array() || json.size() > kMaxSamples) at.fail("a list of samples");
  for (const Json& value : json) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > UINT32_MAX)
      at.reject("expected integers of 32 bits");
    (measurement.*member).push_back(value.get<std::uint32_t>());
  }
}

Counts counts_from(const JsonReader& at) {
  const Json& json = at.json();
  if (!json.is_object() || json.size() > kMaxCounts) at.fail("an object of counts");
  Counts counts;
  for (const auto& [name, count] : json.items()) {
    if (name.size() > kMaxCountName || !count.is_number_unsigned())
      at.reject("expected counts that are not negative, by their names");
    counts[sanitize(name, kMaxCountName)] = count.get<std::uint64_t>();
  }
  return counts;
}

void take_counts(const JsonReader& at, Measurement& measurement) { measurement.counts = counts_from(at); }

void take_line_counts(const JsonReader& at, Measurement& measurement) {
  if (at.json().is_array() && at.json().size() > kMaxLines) at.reject("more lines than a candidate has");
  for (const JsonReader& item : at.items()) {
    if (!item.json().is_array() || item.json().size() != 2) item.fail("a line and its counts");
    const Json& line = item.json()[0];
    if (!line.is_number_unsigned() || line.get<std::uint64_t>() > kMaxInt) item.fail("a line and its counts");
    measurement.line_counts[line.get<int>()] = counts_from(JsonReader(item.json()[1], item.path()));
  }
}

constexpr Field<Energy> kEnergyFields[] = {{"joule", take::number<&Energy::joule, 0, kMaxInt>},
                                           {"power_w", take::number<&Energy::power_w, 0, kMaxWatt>},
                                           {"call_ns", take::number<&Energy::call_ns, 0, kMaxNs>},
                                           {"calls", take::count<&Energy::calls>},
                                           {"absence", take::words<&Energy::unavailable_reason, kMaxName>}};

void take_energy(const JsonReader& at, Measurement& measurement) {
  if (!at.json().is_null()) measurement.energy = read_fields(at, kEnergyFields);
}

void take_prepared_bytes(const JsonReader& at, Measurement& measurement) {
  measurement.prepared_bytes = at.integer();
  if (measurement.prepared_bytes < 0) at.fail("a number of bytes");
}

constexpr Field<Measurement> kMeasurementFields[] = {
    {"workload", take::text<&Measurement::workload, kMaxName>},
    {"role", take_role},
    {"label", take::words<&Measurement::label, kMaxName>},
    {"method", take::words<&Measurement::method, 16>},
    {"cold", take::flag<&Measurement::cold>},
    {"samples_ns", take_numbers<&Measurement::samples_ns>},
    {"launches_per_sample", take::integer<&Measurement::launches_per_sample, 1, kMaxInt>},
    {"truncated", take::flag<&Measurement::truncated>},
    {"median_ns", take::number<&Measurement::median_ns, 0, kMaxNs>},
    {"ci_low_ns", take::number<&Measurement::ci_low_ns, 0, kMaxNs>},
    {"ci_high_ns", take::number<&Measurement::ci_high_ns, 0, kMaxNs>},
    {"sm_clock_mhz", take::integer<&Measurement::sm_clock_mhz, 0, kMaxMhz>},
    {"memory_clock_mhz", take::integer<&Measurement::memory_clock_mhz, 0, kMaxMhz>},
    {"temperature_c", take::integer<&Measurement::temperature_c, -kMaxCelsius, kMaxCelsius>},
    {"power_w", take::number<&Measurement::power_w, 0, kMaxWatt>},
    {"throttle_reasons", take::words<&Measurement::throttle_reasons, kMaxName>},
    {"throttled", take_numbers<&Measurement::throttled>},
    {"counts", take_counts},
    {"line_counts", take_line_counts},
    {"energy", take_energy},
    {"prepare_ns", take::number<&Measurement::prepare_ns, 0, kMaxNs>},
    {"prepared_bytes", take_prepared_bytes}};

Measurement measurement_from(const JsonReader& at) {
  Measurement measurement = read_fields(at, kMeasurementFields);
  for (const std::uint32_t sample : measurement.throttled)
    if (sample >= measurement.samples_ns.size()) at.reject("a throttled sample that there is not");
  return measurement;
}

// ---- the whole answer

Profile one_profile(const JsonReader& at) {
  try {
    return profile_from_json(at.json());
  } catch (const Error& error) {
    at.reject(error.what());
  }
}

constexpr std::size_t kMaxFault = 1'000;  // a sentence

constexpr Field<DeviceAnswer> kAnswerFields[] = {
    {"checks", take::list<&DeviceAnswer::checks, check_from, kMaxRecords>},
    {"measurements", take::list<&DeviceAnswer::measurements, measurement_from, kMaxRecords>},
    {"profiles", take::list<&DeviceAnswer::profiles, one_profile, kMaxRecords>},
    {"rival_failed", take::flag<&DeviceAnswer::rival_failed>},
    {"check_ms", take::number<&DeviceAnswer::check_ms, 0, kMaxMs>},
    {"time_ms", take::number<&DeviceAnswer::time_ms, 0, kMaxMs>},
    {"reference_ms", take::number<&DeviceAnswer::reference_ms, 0, kMaxMs>},
    {"busy_ms", take::number<&DeviceAnswer::busy_ms, 0, kMaxMs>},
    {"lost", take::flag<&DeviceAnswer::lost>}};

}  // namespace

Json to_json(const DeviceAnswer& answer) {
  Json json{{"status", ak::to_string(answer.outcome.status)},
            {"stage", static_cast<int>(answer.outcome.stage)},
            {"message", answer.outcome.message},
            {"diagnostics", list_json(answer.outcome.diagnostics, diagnostic_json)},
            {"gate", answer.outcome.gate ? Json(ak::to_string(*answer.outcome.gate)) : Json()},
            {"checks", list_json(answer.checks, check_json)},
            {"measurements", list_json(answer.measurements, measurement_json)},
            {"profiles", list_json(answer.profiles, [](const Profile& p) { return to_json(p); })},
            {"rival_failed", answer.rival_failed},
            {"check_ms", answer.check_ms},
            {"time_ms", answer.time_ms},
            {"reference_ms", answer.reference_ms},
            {"busy_ms", answer.busy_ms},
            {"lost", answer.lost}};
  if (!answer.device_fault.empty()) json["device_fault"] = answer.device_fault;
  return json;
}

DeviceAnswer device_answer_from_json(const Json& json) {
  try {
    const JsonReader at(json);
    DeviceAnswer answer = read_fields(at, kAnswerFields);
    answer.outcome = read_fields(at, kEndFields);
    if (const auto fault = at.find("device_fault"))
      take::words<&DeviceAnswer::device_fault, kMaxFault>(*fault, answer);
    return answer;
  } catch (const JsonInputError& error) {
    fail(ExitCode::bad_input, "device answer: {}", error.what());
  }
}

}  // namespace ak::runtime
