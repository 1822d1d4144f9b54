// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/setup/arguments.h"

namespace ak::tools {

/// `problem new DIR --describe TEXT`.
struct DescribeFlags {
  std::string description, paper, model, record;
  std::int64_t rounds;  ///< as app::kDraftRounds where nobody says otherwise
  std::optional<double> limit_s = {};
  std::optional<std::int64_t> max_tokens = {};
  std::optional<double> max_cost_usd = {};
};

[[nodiscard]] int make_from_description(const std::string& folder, const DescribeFlags& flags, bool json);

/// `problem judge DIR`.
[[nodiscard]] int judge_problem(const app::Arguments& arguments);
/// `problem confirm DIR`.
[[nodiscard]] int confirm_problem(const app::Arguments& arguments);

}  // namespace ak::tools
