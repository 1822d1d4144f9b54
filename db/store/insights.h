// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/store.h"
#include "core/text/json.h"

namespace ak::db {

/// Where something was learned. Times of a device and costs of the CPU device never meet.
struct InsightScope {
  std::string algorithm;    ///< problem family: "softmax"
  std::string arch;         ///< target of the compiler: "sm_90a"
  std::string device;       ///< product name
  std::string device_kind;  ///< "cuda" or "emulator"
};

/// One thing that measurements say, or that was tried.
struct Insight {
  RowId id = 0;
  InsightScope scope;
  std::string kind;  ///< "tunable", "template", "pattern", "attempt", "failure", "expectation", "bottleneck"
  std::string subject;          ///< what it is about; unique within scope and kind
  std::string text;             ///< a sentence; of an attempt partly a model's words
  std::string bottleneck;       ///< what limited the kernel that it began with; empty where not known
  std::optional<double> ratio;  ///< time with it over time without; nothing where there are no two times
  int tries = 0, wins = 0;      ///< comparisons or attempts, and those in its favour
  Json evidence;                ///< {"variants": [[faster, slower], ...], ...}: rows of `variants`
};

/// Makes `insights` those of their scope and kinds: rows of the same subject are updated, others of these
/// kinds are removed. One transaction. Throws Error(database).
void replace_insights(const std::filesystem::path& file, const InsightScope& scope,
                      std::span<const std::string> kinds, std::span<const Insight> insights);

/// What to look for; empty fields take all.
struct InsightFilter {
  std::string algorithm, arch, device_kind, bottleneck;
  std::vector<std::string> kinds;
  std::string words;       ///< any of them, by FTS5 with word stems; best matches first
  std::size_t limit = 50;  ///< 0: all
};
/// Those with most comparisons first unless words are looked for. An empty list where the file is not
/// there. Throws Error(database).
[[nodiscard]] std::vector<Insight> find_insights(const std::filesystem::path& file,
                                                 const InsightFilter& filter);

}  // namespace ak::db
