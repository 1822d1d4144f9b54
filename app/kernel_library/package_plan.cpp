// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/package_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "app/kernel_library/package_reading.h"
#include "core/error.h"
#include "core/sets/set_choice.h"
#include "core/text/file.h"
#include "core/text/format_version.h"

namespace ak::app {
namespace {

constexpr std::string_view kFormat = "alphakernel.library_plan";
constexpr std::string_view kOther = "other";  // an operator that no algorithm computes

std::string param_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  fail(ExitCode::bad_input, "{}: {}; expected what `alphakernel library plan --json` writes", place, what);
}

Json axes_of(const std::string& place, const Json& axes) {
  if (!axes.is_object()) refuse(place, "its \"axes\" are no object");
  for (const auto& [name, size] : axes.items())
    if (!size.is_number_integer() || size.get<std::int64_t>() < 1)
      refuse(place, fmt::format("its axis {} is {}, and no whole number from 1 on", name, size.dump()));
  return axes;
}

PackageEntry entry_of(const std::string& place, const Json& row) {
  for (const char* key : {"operator", "algorithm"})
    if (!row.is_object() || !row.contains(key) || !row.at(key).is_string())
      refuse(place, fmt::format("it has no text \"{}\"", key));
  PackageEntry entry{
      .name = row.at("operator"), .kernel = "", .problem = row.at("algorithm"), .place = place};
  if (const auto phase = row.find("phase"); phase != row.end() && phase->is_string())
    entry.phase = phase->get<std::string>();
  if (const auto params = row.find("params"); params != row.end() && params->is_object())
    for (const auto& [name, value] : params->items()) entry.params[name] = param_text(value);
  if (const auto axes = row.find("axes"); axes != row.end()) entry.axes.push_back(axes_of(place, *axes));
  if (const auto share = row.find("share"); share != row.end() && share->is_number())
    entry.share = std::clamp(share->get<double>(), 0.0, 1.0);
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
  known->share += entry.share;
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

/// Of all operators that the kernel of `entry` serves; of more than a set is learned from so many, evenly over the plan.
std::vector<Json> shapes_of_kernel(const std::vector<PackageEntry>& entries, const PackageEntry& entry) {
  std::vector<Json> shapes;
  for (const PackageEntry& other : entries) {
    if (other.problem != entry.problem || other.params != entry.params) continue;
    for (const Json& axes : other.axes)
      if (std::ranges::find(shapes, axes) == shapes.end()) shapes.push_back(axes);
  }
  if (shapes.size() <= kMaxSetShapes) return shapes;
  std::vector<Json> some;
  for (std::size_t i = 0; i < kMaxSetShapes; ++i) some.push_back(shapes[i * shapes.size() / kMaxSetShapes]);
  return some;
}

/// The first of each kernel, with the share of all operators that it serves, the largest first.
std::vector<PackageEntry> kernels_of(const std::vector<PackageEntry>& entries) {
  std::vector<PackageEntry> kernels;
  for (const PackageEntry& entry : entries) {
    const auto known = std::ranges::find_if(kernels, [&](const PackageEntry& one) {
      return one.problem == entry.problem && one.params == entry.params;
    });
    if (known == kernels.end())
      kernels.push_back(entry);
    else
      known->share += entry.share;
  }
  std::ranges::stable_sort(kernels, std::greater{}, &PackageEntry::share);
  return kernels;
}

/// What rounds to nothing would be no limit that a manifest may have.
constexpr double kLeastMinutes = 0.01;

/// Half of the time is for all alike, as a kernel that takes next to nothing has to be found, too (chosen); mean: 1.
double weight_of(const PackageEntry& kernel, const std::vector<PackageEntry>& kernels) {
  double all = 0;
  for (const PackageEntry& one : kernels) all += one.share;
  if (all <= 0) return 1;
  return 0.5 + 0.5 * kernel.share / all * static_cast<double>(kernels.size());
}

}  // namespace

std::vector<PackageEntry> package_plan(const std::filesystem::path& file) {
  const Json json = try_parse_json(read_file(file));
  if (!says_format(json, kFormat)) refuse(file.string(), fmt::format("it is no \"{}\"", kFormat));
  if (json.value("version", Json(1)) != Json(1))
    fail(ExitCode::bad_input, "{} has version {}; this AlphaKernel reads 1: update AlphaKernel",
         file.string(), json.at("version").dump());
  if (!json.contains("operators") || !json.at("operators").is_array())
    refuse(file.string(), "it has no list \"operators\"");
  std::vector<PackageEntry> entries;
  std::size_t number = 0;
  for (const Json& row : json.at("operators")) {
    PackageEntry entry = entry_of(fmt::format("{}: operators[{}]", file.string(), number++), row);
    if (entry.problem != kOther) add(entries, std::move(entry));
  }
  tell_apart(entries);
  return entries;
}

Json tuning_manifest(const TuningOrder& order) {
  Json runs = Json::array();
  const std::vector<PackageEntry> kernels = kernels_of(order.entries);
  for (const PackageEntry& entry : kernels) {
    const double minutes = order.minutes * weight_of(entry, kernels) / static_cast<double>(kernels.size());
    Json run{{"name", entry.name},
             {"params", entry.params},
             {"max_minutes", std::max(kLeastMinutes, std::round(100 * minutes) / 100)}};
    if (const std::filesystem::path folder = own_problem(order.problems, entry.problem); !folder.empty())
      run["problem"] = std::filesystem::absolute(folder).string();
    else
      run["algorithm"] = entry.problem;
    const std::vector<Json> shapes = shapes_of_kernel(order.entries, entry);
    if (shapes.size() == 1) run["shape"] = shapes.front();
    if (shapes.size() > 1) {
      run["shape"] = shapes;
      run["per_shape"] = true;
    }
    runs.push_back(std::move(run));
  }
  Json manifest{{"runs", runs}};
  if (!order.arch.empty()) manifest["defaults"]["arch"] = order.arch;
  if (!order.device.empty()) manifest["defaults"]["device"] = order.device;
  if (order.unaudited) manifest["defaults"]["unaudited"] = true;
  return manifest;
}

}  // namespace ak::app
