// SPDX-License-Identifier: Apache-2.0
#include "core/sets/set_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ak {

std::string RuleRow::condition() const {
  std::vector<std::string> texts;
  for (const auto& [axis, size] : shape) texts.push_back(fmt::format("{} == {}", axis, size));
  return fmt::format("{}", fmt::join(texts, " and "));
}

}  // namespace ak
