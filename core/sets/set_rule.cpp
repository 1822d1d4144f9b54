// SPDX-License-Identifier: Apache-2.0
#include "core/sets/set_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

namespace ak {
namespace {

bool is_within(const CellBound& bound, const Environment& sizes) {
  const Result<Expression> quantity = Expression::parse(bound.quantity);
  AK_ASSERT(quantity.ok(), "a rule is made of expressions");
  const Result<std::int64_t> value = quantity->evaluate_integer(sizes);
  AK_ASSERT(value.ok(), "a rule asks for sizes that every shape has");
  return bound.above == (*value > bound.limit);
}

}  // namespace

std::string CellBound::text() const {
  const bool divides = limit == 0 && !above;
  return fmt::format("{} {} {}", quantity, divides ? "==" : above ? ">" : "<=", limit);
}

std::string RuleCell::condition() const {
  std::vector<std::string> texts;
  for (const CellBound& bound : bounds) texts.push_back(bound.text());
  return fmt::format("{}", fmt::join(texts, " and "));
}

std::size_t SetRule::cell_of(const Environment& sizes) const {
  const auto found = std::ranges::find_if(cells, [&](const RuleCell& cell) {
    return std::ranges::all_of(cell.bounds, [&](const CellBound& bound) { return is_within(bound, sizes); });
  });
  AK_ASSERT(found != cells.end(), "the cells of a rule hold every shape");
  return static_cast<std::size_t>(found - cells.begin());
}

}  // namespace ak
