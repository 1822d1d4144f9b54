// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/experiment/experiment_report.h"

namespace ak::app {
namespace {

std::string text(const Json& value) {
  if (value.is_null()) return "-";
  std::string words = value.is_string() ? value.get<std::string>() : value.dump();
  std::ranges::replace(words, '\n', ' ');
  for (std::size_t bar = words.find('|'); bar != std::string::npos; bar = words.find('|', bar + 2))
    words.insert(bar, 1, '\\');
  return words;
}

/// Three or four digits distinguish times and rates.
std::string number(const Json& value, const char* unit = "") {
  if (!value.is_number()) return "-";
  const double real = value.get<double>();
  return fmt::format(
      "{}{}", real >= 1000 && real < 1e6 ? fmt::format("{:.0f}", real) : fmt::format("{:.4g}", real), unit);
}

std::string row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string head(const std::vector<std::string>& titles) {
  return row(titles) + row(std::vector<std::string>(titles.size(), "---"));
}

std::string bound(const Json& expectation) {
  std::vector<std::string> parts;
  const std::pair<const char*, const char*> kinds[] = {
      {"at_least", "at least"}, {"at_most", "at most"}, {"equals", "exactly"}};
  for (const auto& [key, words] : kinds) {
    if (expectation.contains(key)) parts.push_back(fmt::format("{} {}", words, number(expectation[key])));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string point(const Json& tunables) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : tunables.items()) parts.push_back(fmt::format("{}={}", name, text(value)));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string time_of(const Json& result) {
  if (result["latency_ms"].is_number())
    return fmt::format("{:.4g} us", 1000 * result["latency_ms"].get<double>());
  if (result["emulated_cost_us"].is_number())
    return number(result["emulated_cost_us"], " us (emulated cost)");
  return "-";
}

std::string environment_section(const Json& environment) {
  std::string out = "## Environment\n\n" + head({"what", "value"});
  for (const Json& device : environment["devices"])
    out += row({"device", fmt::format("{} ({} SMs, {} GB/s by data sheet)", text(device["name"]),
                                      text(device["sm_count"]), number(device["peak_bandwidth_gbps"]))});
  for (const Json& host : environment["hosts"])
    out += row({"host", fmt::format("{}, {}, CUDA driver API {}", text(host["host"]),
                                    text(host["operating_system"]), text(host["driver_version"]))});
  out += row({"NVRTC", text(environment["nvrtc_version"])});
  out +=
      row({"build", fmt::format("{}, commit {}", text(environment["version"]), text(environment["commit"]))});
  const Json& timing = environment["while_timing"];
  if (!timing["most_sm_clock_mhz"].is_null()) {
    out += row(
        {"while timing", fmt::format("SM clock {} to {} MHz, memory {} MHz, at most {} C, throttled: {}",
                                     text(timing["least_sm_clock_mhz"]), text(timing["most_sm_clock_mhz"]),
                                     text(timing["memory_clock_mhz"]), text(timing["most_temperature_c"]),
                                     text(timing["throttle_reasons"]))});
  }
  return out + row({"command", "`" + text(environment["command"]) + "`"}) + "\n";
}

std::string results_section(const Json& report) {
  std::string out = "## Best results\n\n";
  if (report["copy_bandwidth_gbps"].is_number())
    out += fmt::format("Copy bandwidth measured in this experiment: {}.\n\n",
                       number(report["copy_bandwidth_gbps"], " GB/s"));
  out += head({"run", "workload", "time", "GB/s", "of copy", "of peak", "TFLOP/s", "speed-up over naive",
               "registers", "shared bytes", "kernel"});
  for (const Json& r : report["results"]) {
    out +=
        row({text(r["run"]), text(r["workload"]), time_of(r), number(r["memory_bandwidth_gbs"]),
             number(r["pct_of_copy"], " %"), number(r["pct_of_peak"], " %"), number(r["throughput_tflops"]),
             number(r["speedup_vs_naive"]), text(r["register_usage"]), text(r["shared_mem_usage"]),
             fmt::format("{} {}", text(r["template"]), point(r["tunables"]))});
  }
  return out + "\n";
}

std::string expectations_section(const Json& report) {
  if (report["expectations"].empty()) return "";
  std::string out = "## Expectations\n\n" + head({"expected", "bound", "value", "unit", "result"});
  for (const Json& e : report["expectations"]) {
    const std::string status = e["status"];
    out += row({text(e["name"]), bound(e), number(e["value"]), text(e["unit"]),
                status == "skipped"    ? "skipped: needs a GPU"
                : status == "no_value" ? "no value"
                                       : status});
  }
  return out + "\n";
}

std::string runs_section(const Json& report) {
  std::string out = "## What was evaluated\n\n" + head({"run", "definition", "device", "target", "search",
                                                        "evaluated", "passed", "ended", "s"});
  for (const Json& r : report["runs"]) {
    out += row({text(r["run"]), text(r["definition"]), text(r["device"]), text(r["arch"]),
                fmt::format("{}, seed {}", text(r["strategy"]), text(r["seed"])), text(r["evaluations"]),
                text(r["verified"]), text(r["reason"]), number(r["seconds"])});
  }
  if (report["failures"].empty()) return out;
  out += "\n" + head({"run", "status", "variants", "for example"});
  for (const Json& f : report["failures"])
    out += row({text(f["run"]), text(f["status"]), text(f["variants"]), text(f["message"]).substr(0, 200)});
  return out;
}

/// "Complete: 2 of 3 expectations met, 1 skipped."
std::string outcome_line(const Json& report) {
  std::string line = report["status"];
  if (!report["reason"].get<std::string>().empty()) line += " (" + text(report["reason"]) + ")";
  line += fmt::format(": {} of {} expectations met", count_expectations(report, "met"),
                      report["expectations"].size());
  if (const int skipped = count_expectations(report, "skipped"))
    line += fmt::format(", {} skipped because nothing ran on a GPU", skipped);
  return line;
}

}  // namespace

std::string report_text(const Json& report, const Json& environment) {
  std::string out = fmt::format("# {}\n\n{}\n\nOutcome: {}.\n\n", text(report["experiment"]),
                                text(report["question"]), outcome_line(report));
  return out + expectations_section(report) + results_section(report) + runs_section(report) + "\n" +
         environment_section(environment);
}

}  // namespace ak::app
