// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/package_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/kernel_library/package_reading.h"
#include "core/error.h"
#include "core/text/file.h"

namespace ak::app {
namespace {

constexpr std::string_view kFormat = "alphakernel.library_plan";
constexpr std::string_view kOther = "other";  // an operator that no algorithm computes

std::string param_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  fail(ExitCode::bad_input, "{}: {}; expected what `alphakernel library plan --json` writes", file.string(),
       what);
}

PackageEntry entry_of(const std::filesystem::path& file, const Json& row) {
  for (const char* key : {"operator", "algorithm"})
    if (!row.is_object() || !row.contains(key) || !row.at(key).is_string())
      refuse(file, fmt::format("an operator has no text \"{}\"", key));
  PackageEntry entry{.name = row.at("operator"), .kernel = "", .problem = row.at("algorithm")};
  if (const auto phase = row.find("phase"); phase != row.end() && phase->is_string())
    entry.phase = phase->get<std::string>();
  if (const auto params = row.find("params"); params != row.end() && params->is_object())
    for (const auto& [name, value] : params->items()) entry.params[name] = param_text(value);
  if (const auto axes = row.find("axes"); axes != row.end() && axes->is_object()) entry.axes.push_back(*axes);
  return entry;
}

void add(std::vector<PackageEntry>& entries, PackageEntry entry) {
  const auto known = std::ranges::find_if(entries, [&](const PackageEntry& one) {
    return one.name == entry.name && one.problem == entry.problem && one.params == entry.params;
  });
  if (known == entries.end()) {
    entries.push_back(std::move(entry));
    return;
  }
  for (const Json& axes : entry.axes)
    if (std::ranges::find(known->axes, axes) == known->axes.end()) known->axes.push_back(axes);
}

/// An operator that is another kernel in every phase, as attention is, has a name of each.
void tell_apart(std::vector<PackageEntry>& entries) {
  std::map<std::string, int> times;
  for (const PackageEntry& entry : entries) ++times[entry.name];
  std::map<std::string, int> taken;
  for (PackageEntry& entry : entries) {
    if (times[entry.name] > 1 && !entry.phase.empty()) entry.name += "_" + entry.phase;
    if (const int number = ++taken[entry.name]; number > 1) entry.name += fmt::format("_{}", number);
  }
}

}  // namespace

std::vector<PackageEntry> package_plan(const std::filesystem::path& file) {
  const Json json = try_parse_json(read_file(file));
  if (!json.is_object() || json.value("format", "") != kFormat)
    refuse(file, fmt::format("it is no \"{}\"", kFormat));
  if (json.value("version", 1) != 1)
    fail(ExitCode::bad_input, "{} has version {}; this AlphaKernel reads 1: update AlphaKernel",
         file.string(), json.at("version").dump());
  if (!json.contains("operators") || !json.at("operators").is_array())
    refuse(file, "it has no list \"operators\"");
  std::vector<PackageEntry> entries;
  for (const Json& row : json.at("operators")) {
    PackageEntry entry = entry_of(file, row);
    if (entry.problem != kOther) add(entries, std::move(entry));
  }
  tell_apart(entries);
  return entries;
}

Json tuning_manifest(const TuningOrder& order) {
  Json runs = Json::array();
  std::set<std::pair<std::string, std::map<std::string, std::string>>> known;
  for (const PackageEntry& entry : order.entries) {
    Json run{{"name", entry.name}, {"params", entry.params}};
    if (const std::filesystem::path folder = own_problem(order.problems, entry.problem); !folder.empty())
      run["problem"] = std::filesystem::absolute(folder).string();
    else
      run["algorithm"] = entry.problem;
    // A search has one shape or those of its problem, of which it makes a set.
    if (entry.axes.size() == 1) run["shape"] = entry.axes.front();
    if (entry.axes.size() > 1) run["per_shape"] = true;
    if (known.insert({entry.problem, entry.params}).second || entry.axes.size() == 1)
      runs.push_back(std::move(run));
  }
  Json manifest{{"budgets", {{"max_minutes", order.minutes}}}, {"runs", runs}};
  if (!order.arch.empty()) manifest["defaults"]["arch"] = order.arch;
  if (!order.device.empty()) manifest["defaults"]["device"] = order.device;
  if (order.unaudited) manifest["defaults"]["unaudited"] = true;
  return manifest;
}

}  // namespace ak::app
