// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/sparkline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/text/json.h"
#include "serve/pages/quantity_text.h"

namespace ak::pages {
namespace {

// In CSS pixels: as high as a line of text, so that a row of a table does not grow.
constexpr double kWidth = 112, kHeight = 24, kMargin = 3;
// More points than pixels show nothing more.
constexpr std::size_t kMaxPoints = 200, kMaxBlocks = 40;

std::vector<double> numbers_of(std::string_view json, std::size_t most) {
  const Json list = try_parse_json(json);
  std::vector<double> numbers;
  if (!list.is_array()) return numbers;
  for (const Json& value : list)
    if (value.is_number() && std::isfinite(value.get<double>())) numbers.push_back(value.get<double>());
  if (numbers.size() > most)
    numbers.erase(numbers.begin(), numbers.end() - static_cast<std::ptrdiff_t>(most));
  return numbers;
}

/// Where each number lies between the least (0) and the greatest (1); 0.5 where all are the same.
std::vector<double> shares_of(const std::vector<double>& numbers) {
  const auto [low, high] = std::ranges::minmax(numbers);
  std::vector<double> shares;
  for (const double number : numbers) shares.push_back(high > low ? (number - low) / (high - low) : 0.5);
  return shares;
}

}  // namespace

bool holds_history(std::string_view column) { return column == "history" || column.ends_with("_history"); }

std::string sparkline_svg(std::string_view json) {
  const std::vector<double> numbers = numbers_of(json, kMaxPoints);
  if (numbers.size() < 2) return "";
  const std::vector<double> shares = shares_of(numbers);
  std::string points;
  double x = 0, y = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    x = kMargin + (kWidth - 2 * kMargin) * static_cast<double>(i) / static_cast<double>(shares.size() - 1);
    y = kMargin + (kHeight - 2 * kMargin) * (1 - shares[i]);
    points += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x, y);
  }
  return fmt::format(
      "<svg class=\"spark\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-label=\"from {2} to {3} in "
      "{4} steps\"><polyline points=\"{5}\"/><circle cx=\"{6:.1f}\" cy=\"{7:.1f}\" r=\"2.5\"/></svg>",
      kWidth, kHeight, number_text(numbers.front()), number_text(numbers.back()), numbers.size() - 1, points,
      x, y);
}

std::string sparkline_text(std::string_view json) {
  constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::vector<double> numbers = numbers_of(json, kMaxBlocks);
  if (numbers.size() < 2) return "";
  std::string out;
  for (const double share : shares_of(numbers))
    out += kBlocks[static_cast<std::size_t>(std::lround(share * 7))];
  return out;
}

}  // namespace ak::pages
