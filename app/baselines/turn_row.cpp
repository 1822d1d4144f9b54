// SPDX-License-Identifier: Apache-2.0
#include "app/baselines/turn_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text/json_reader.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

constexpr std::size_t kMaxWord = 200, kMaxReason = 600;
constexpr double kMaxNs = 6e10;  // a block of calls is given up after a minute (turns.py)
constexpr std::int64_t kMaxCount = 1'000'000;
// What is kept of the settings that a row states.
constexpr std::array kSettings{"torch", "cuda", "matmul.allow_tf32", "cudnn.allow_tf32",
                               "float32_matmul_precision"};

std::string word(const Json& json, const char* name) {
  const Json& value = json.at(name);
  if (!value.is_string()) throw JsonInputError(fmt::format("{} is no text", name));
  return sanitize(value.get<std::string>(), kMaxWord);
}

double positive(const Json& json, const char* name, double most) {
  const Json& value = json.at(name);
  const double number = value.is_number() ? value.get<double>() : 0;
  if (!(number > 0 && number <= most)) throw JsonInputError(fmt::format("{} is no such number", name));
  return number;
}

std::int64_t count(const Json& json, const char* name, std::int64_t least) {
  const Json& value = json.at(name);
  const bool fits = value.is_number_integer() && value >= least && value <= kMaxCount;
  if (!fits) throw JsonInputError(fmt::format("{} is no such number", name));
  return value.get<std::int64_t>();
}

std::optional<std::int64_t> bytes(const Json& json, const char* name) {
  const Json& value = json.at(name);
  if (value.is_null()) return std::nullopt;
  if (!value.is_number_integer() || value < 0 || value > std::int64_t{1} << 50)
    throw JsonInputError(fmt::format("{} is no number of bytes", name));
  return value.get<std::int64_t>();
}

Json settings_of(const Json& row) {
  Json kept = Json::object();
  for (const char* name : kSettings) {
    const auto found = row.at("settings").find(name);
    if (found == row.at("settings").end()) continue;
    if (found->is_boolean() || found->is_null()) kept[name] = *found;
    if (found->is_string()) kept[name] = sanitize(found->get<std::string>(), kMaxWord);
  }
  return kept;
}

TimeColumn column_of(const Json& row) {
  const std::string name = word(row, "column");
  for (const TimeColumn column : {TimeColumn::device, TimeColumn::wall})
    if (to_string(column) == name) return column;
  throw JsonInputError("there is no such column of times");
}

std::string asked_word(const Json& row, const char* name, const std::vector<std::string>& asked) {
  const std::string text = word(row, name);
  if (std::ranges::find(asked, text) == asked.end())
    throw JsonInputError(fmt::format("{} '{}' was not asked for", name, text));
  return text;
}

TurnRow checked(const Json& row, const AskedTurns& asked) {
  constexpr double kMaxRatio = 1e9;
  TurnRow found;
  BaselineTurns& turns = found.turns;
  turns.workload = asked_word(row, "workload", asked.workloads);
  turns.label = asked_word(row, "label", asked.labels);
  turns.column = column_of(row);
  turns.ratio = positive(row, "ratio", kMaxRatio);
  turns.interval = {positive(row, "low", kMaxRatio), positive(row, "high", kMaxRatio)};
  if (!(turns.interval.low <= turns.ratio && turns.ratio <= turns.interval.high))
    throw JsonInputError("the ratio is not in its interval");
  turns.kernel_ns = positive(row, "kernel_ns", kMaxNs);
  turns.baseline_ns = positive(row, "baseline_ns", kMaxNs);
  turns.rounds = count(row, "rounds", 2);
  turns.kernel_late = count(row, "kernel_late", 0);
  turns.baseline_late = count(row, "baseline_late", 0);
  turns.kernel_peak_bytes = bytes(row, "kernel_peak_bytes");
  turns.baseline_peak_bytes = bytes(row, "baseline_peak_bytes");
  turns.settings = settings_of(row);
  found.device = word(row.at("settings"), "device");
  if (row.at("rehearsal") != Json(asked.rehearse))
    throw JsonInputError("it is a rehearsal, or none, unasked");
  return found;
}

}  // namespace

Result<TurnRow> read_turn_row(const Json& row, const AskedTurns& asked) {
  try {
    return checked(row, asked);
  } catch (const Json::exception&) {
    return InputError{"a row lacks a field, or has one of another type"};
  } catch (const JsonInputError& error) {
    return InputError{error.what()};
  }
}

std::string fault_note(const Json& fault) {
  const auto text = [&](const char* name, std::size_t most) {
    const auto found = fault.is_object() ? fault.find(name) : fault.end();
    return found != fault.end() && found->is_string() ? sanitize(found->get<std::string>(), most) : "";
  };
  return fmt::format("{} on {}: not timed: {}", text("label", kMaxWord), text("workload", kMaxWord),
                     text("reason", kMaxReason));
}

}  // namespace ak::app
