// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/search/strategy.h"
#include "core/text/suggest.h"
#include "strategy_table.h"

namespace ak::agent {

std::span<const Strategy* const> strategies() { return kStrategyTable; }

const Strategy* find_strategy(std::string_view name) {
  const auto found = std::ranges::find(kStrategyTable, name, &Strategy::name);
  return found == kStrategyTable.end() ? nullptr : *found;
}

std::vector<std::string_view> strategy_names() {
  std::vector<std::string_view> names;
  for (const Strategy* strategy : kStrategyTable) names.push_back(strategy->name);
  return names;
}

std::string unknown_strategy(std::string_view name) {
  const auto known = strategy_names();
  const std::vector<std::string> names(known.begin(), known.end());
  return fmt::format("unknown strategy '{}'{}; known: {}", sanitize(name), did_you_mean(name, names),
                     fmt::join(names, ", "));
}

}  // namespace ak::agent
