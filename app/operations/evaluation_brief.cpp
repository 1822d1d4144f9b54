// SPDX-License-Identifier: Apache-2.0
#include "app/operations/evaluation_brief.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/suggest.h"

namespace ak::operations {
namespace {

constexpr std::size_t kMaxFailedChecks = 5, kMaxFindings = 8, kMaxShownLineBytes = 200;

/// Lines `first` to `last`, as far as there are such.
std::string lines_of(std::string_view source, int first, int last) {
  std::string text;
  for (int line = 1; line <= last && !source.empty(); ++line) {
    const std::size_t newline = std::min(source.find('\n'), source.size());
    if (line >= first) text += sanitize(source.substr(0, newline), kMaxShownLineBytes) + "\n";
    source.remove_prefix(std::min(newline + 1, source.size()));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

Json check_json(const CheckRecord& check) {
  return {{"shape", check.workload},
          {"distribution", check.distribution},
          {"tensor", check.tensor},
          {"max_error", rounded(check.max_error)},
          {"tolerance", rounded(check.tolerance)},
          {"worst_index", check.worst_index},
          {"expected", rounded(check.worst_expected)},
          {"got", rounded(check.worst_got)}};
}

Json checks_json(const EvaluationResult& result) {
  Json failed = Json::array();
  std::size_t passed = 0;
  for (const CheckRecord& check : result.checks) {
    passed += check.passed ? 1 : 0;
    if (!check.passed && failed.size() < kMaxFailedChecks) failed.push_back(check_json(check));
  }
  Json json{{"passed", passed}, {"of", result.checks.size()}};
  if (!failed.empty()) json["first_failed"] = std::move(failed);
  return json;
}

Json measurement_json(const Measurement& m) {
  Json json{{"shape", m.workload}, {"what", m.role == MeasurementRole::candidate ? "kernel" : m.label}};
  if (m.prepared_bytes > 0)
    json["preparation"] = {{"us", rounded(m.prepare_ns / 1e3)}, {"bytes", m.prepared_bytes}};
  if (m.method == kEmulatedMethod) {
    json["emulated_cost_us"] = rounded(m.median_ns / 1e3);
    return json;
  }
  json["median_us"] = rounded(m.median_ns / 1e3);
  json["ci95_us"] = {rounded(m.ci_low_ns / 1e3), rounded(m.ci_high_ns / 1e3)};
  if (!m.cold) json["warm_l2"] = true;
  return json;
}

Json kernel_json(const KernelFacts& kernel) {
  return {{"kernel", sanitize(kernel.expression, kMaxShownLineBytes)},
          {"registers", kernel.registers},
          {"static_shared_bytes", kernel.static_shared_bytes},
          {"spill_bytes", kernel.spill_store_bytes + kernel.spill_load_bytes},
          {"stack_bytes", kernel.stack_bytes}};
}

}  // namespace

Json rounded(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  return parse_json(fmt::format("{:.6g}", value));
}

Json target_json(const app::Target& target) {
  Json json{{"arch", target.arch.sm()}, {"device", target.device ? Json(target.device->name) : Json("none")}};
  if (!target.notice.empty()) json["note"] = target.notice;
  return json;
}

Json findings(std::span<const Diagnostic> diagnostics, std::string_view source, int around) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics.first(std::min(diagnostics.size(), kMaxFindings))) {
    Json one{{"severity", d.severity}, {"message", sanitize(d.message, 2'000)}};
    if (d.line > 0) {
      one["line"] = d.line;
      one["source"] = lines_of(source, d.line - around, d.line + around);
    }
    Json details = try_parse_json(d.details);
    if (details.is_object()) one["details"] = std::move(details);
    list.push_back(std::move(one));
  }
  return list;
}

Json brief(const EvaluationResult& result, const app::Target& target, std::string_view source) {
  const Outcome& outcome = result.outcome;
  Json json{{"status", to_string(outcome.status)},
            {"meaning", info(outcome.status).meaning},
            {"stage", to_string(outcome.stage)}};
  if (outcome.gate) json["gate"] = to_string(*outcome.gate);
  if (!outcome.message.empty()) json["message"] = sanitize(outcome.message, 4'000);
  if (!outcome.diagnostics.empty()) json["findings"] = findings(outcome.diagnostics, source, 0);
  json["target"] = target_json(target);
  const bool emulated = target.kind == DeviceKind::emulator;
  if (result.score_ns) json[emulated ? "emulated_cost_us" : "score_us"] = rounded(*result.score_ns / 1e3);
  json["checks"] = checks_json(result);
  for (const Measurement& m : result.measurements) json["measurements"].push_back(measurement_json(m));
  if (result.build) {
    for (const KernelFacts& kernel : result.build->kernels) json["kernels"].push_back(kernel_json(kernel));
  }
  if (result.occupancy)
    json["occupancy"] = {{"ratio", result.occupancy->ratio}, {"limiter", result.occupancy->limiter}};
  return json;
}

}  // namespace ak::operations
