// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/baselines/kernel_baselines.h"
#include "app/evaluate/figure_texts.h"

namespace ak::app {
namespace {

Json optional_bytes(const std::optional<std::int64_t>& bytes) { return bytes ? Json(*bytes) : Json(); }

Json turns_json(const BaselineTurns& turns) {
  return {{"workload", turns.workload},
          {"baseline", turns.label},
          {"times", to_string(turns.column)},
          {"speedup", turns.ratio},
          {"low", turns.interval.low},
          {"high", turns.interval.high},
          {"kernel_us", turns.kernel_ns / 1e3},
          {"baseline_us", turns.baseline_ns / 1e3},
          {"rounds", turns.rounds},
          {"kernel_late", turns.kernel_late},
          {"baseline_late", turns.baseline_late},
          {"kernel_peak_bytes", optional_bytes(turns.kernel_peak_bytes)},
          {"baseline_peak_bytes", optional_bytes(turns.baseline_peak_bytes)},
          {"settings", turns.settings}};
}

/// "device 1.083x (1.080 to 1.086), 35.1 us against 38.0 us"
std::string column_text(const BaselineTurns& turns) {
  const std::int64_t late = turns.kernel_late + turns.baseline_late;
  return fmt::format("{} {:.3f}x ({:.3f} to {:.3f}), {} against {}{}", to_string(turns.column), turns.ratio,
                     turns.interval.low, turns.interval.high, format_ns(turns.kernel_ns),
                     format_ns(turns.baseline_ns),
                     late > 0 ? fmt::format(", {} samples not queued ahead", late) : "");
}

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.3g} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string peak_text(const BaselineTurns& turns) {
  if (!turns.kernel_peak_bytes || !turns.baseline_peak_bytes) return "";
  return fmt::format("; peak memory {} against {}", mebibytes(*turns.kernel_peak_bytes),
                     mebibytes(*turns.baseline_peak_bytes));
}

/// "; TF32 on" where PyTorch says so.
std::string tf32_text(const BaselineTurns& turns) {
  const auto found = turns.settings.find("matmul.allow_tf32");
  if (found == turns.settings.end() || !found->is_boolean()) return "";
  return found->get<bool>() ? "; TF32 on" : "; TF32 off";
}

}  // namespace

std::vector<std::string> turns_sentences(const std::vector<BaselineTurns>& turns) {
  std::vector<std::string> list;
  for (const BaselineTurns& one : turns)
    list.push_back(fmt::format(
        "{}: {:.3f} times as fast as {} in turns (95 % interval {:.3f} to {:.3f}), {} times", one.workload,
        one.ratio, one.label, one.interval.low, one.interval.high, to_string(one.column)));
  return list;
}

std::string baselines_text(const KernelBaselines& found) {
  std::string text;
  const BaselineTurns* last = nullptr;
  for (const BaselineTurns& turns : found.turns) {
    const bool same = last != nullptr && last->workload == turns.workload && last->label == turns.label;
    if (!same && last != nullptr) text += "\n";
    text += same ? fmt::format("\n    {}", column_text(turns))
                 : fmt::format("  {}, {}{}{}\n    {}", turns.workload, turns.label, peak_text(turns),
                               tf32_text(turns), column_text(turns));
    last = &turns;
  }
  if (last != nullptr)
    text = "in turns with baselines (above 1 the kernel is faster; 95 % interval)\n" + text + "\n";
  for (const std::string& note : found.notes) text += fmt::format("  note: {}\n", note);
  return text;
}

Json baselines_json(const KernelBaselines& found) {
  Json json{{"turns", Json::array()}, {"notes", found.notes}};
  for (const BaselineTurns& turns : found.turns) json["turns"].push_back(turns_json(turns));
  return json;
}

}  // namespace ak::app
