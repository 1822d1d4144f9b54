// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "agent/search/builtin.h"
#include "agent/search/strategy.h"

namespace ak::agent {
namespace {

constexpr std::array kStrategies{
    StrategyEntry{"random", "every point once, in a random order", make_random},
    StrategyEntry{"exhaustive", "every point once, in the order of the template", make_exhaustive},
};

}  // namespace

std::span<const StrategyEntry> strategies() { return kStrategies; }

const StrategyEntry* find_strategy(std::string_view name) {
  const auto found = std::ranges::find(kStrategies, name, &StrategyEntry::name);
  return found == kStrategies.end() ? nullptr : &*found;
}

}  // namespace ak::agent
