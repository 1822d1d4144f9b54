// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/store.h"

namespace ak::db {

// What `alphakernel compare` reads of language models and prompts. All throw Error(database).

/// What one side of a comparison of language models is chosen by: a column of `llm_calls`.
enum class CallColumn : std::uint8_t { model, prompt_version };
/// Its values.
[[nodiscard]] std::vector<std::string> call_values(const std::filesystem::path& file, CallColumn column);

/// A search in which a model, or a version of the prompts, was asked.
struct AskedSearch {
  RowId search = 0;
  bool alone = true;  ///< no other model, or version, was asked in it
};
[[nodiscard]] std::vector<AskedSearch> asked_searches(const std::filesystem::path& file, CallColumn column,
                                                      const std::string& value);

/// What all calls of a model, or of a version of the prompts, came to.
struct CallStats {
  std::int64_t searches = 0, calls = 0, candidates = 0, verified = 0, exchanges = 0, took_the_lead = 0;
  std::int64_t input_tokens = 0, output_tokens = 0;
  std::optional<double> cost_usd;  ///< nothing where the price of a call is not known
  /// Of searches that asked no one else and began with a start that passed: their cost, and the sum of what
  /// the best gained on the start, in percent. Nothing where the price of a call of theirs is not known.
  std::optional<double> cost_of_gains_usd = 0;
  double percent_gained = 0;
};
[[nodiscard]] CallStats call_stats(const std::filesystem::path& file, CallColumn column,
                                   const std::string& value);

}  // namespace ak::db
