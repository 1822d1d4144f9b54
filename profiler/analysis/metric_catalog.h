// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"
#include "core/result.h"

namespace ak::profiler {

/// How much is measured: one pass over the kernel, eight, or everything the catalogue lists.
enum class MetricSet : std::uint8_t { quick, standard, full };
[[nodiscard]] std::string_view to_string(MetricSet set);

/// One hardware metric. The CPU device's exact counts have the same names where they mean
/// the same (docs/timing.md).
struct MetricInfo {
  std::string_view name;   ///< ours, a key of ak::Metrics: "dram/bytes_read"
  std::string_view cupti;  ///< what CUPTI's profiler host API is asked for on sm_90
  std::string_view unit;   ///< "ns", "percent", "bytes", "sectors", ...
  std::string_view meaning;
  MetricSet set;  ///< smallest set that has it
};

/// Every metric known, grouped by what it describes.
[[nodiscard]] std::span<const MetricInfo> catalog();

/// In the catalogue's order; a set holds the smaller ones.
[[nodiscard]] std::vector<const MetricInfo*> metrics_of(MetricSet set);

/// By our name or CUPTI's; nullptr when neither is known.
[[nodiscard]] const MetricInfo* find_metric(std::string_view name);

/// The profile with its metrics under our names, and their units. What is not in the catalogue
/// keeps its name.
[[nodiscard]] Profile named(Profile profile);

/// "quick", "standard", "full", or names (ours or CUPTI's) between commas, each once in the order given. An
/// unknown name is an error that suggests the nearest.
[[nodiscard]] Result<std::vector<const MetricInfo*>> parse_metrics(std::string_view text);

}  // namespace ak::profiler
