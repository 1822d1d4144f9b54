// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/evaluate/figure_texts.h"
#include "app/kernel_library/library_plan.h"
#include "app/simulation/curve_plot.h"

namespace ak::app {
namespace {

// Pixels: left of the bars their names, right of them their times; below all the legend.
constexpr double kWidth = 980, kLeft = 200, kRight = 800, kTop = 50, kBar = 16, kStepGap = 34;
constexpr double kLegendLine = 20, kLegendColumns = 4;

/// Operators in the order in which steps first have them: each has one colour.
std::vector<std::string> operators_of(const LibraryPlan& plan) {
  std::vector<std::string> names;
  for (const PlanStep& step : plan.steps)
    for (const PlanRow& row : step.rows)
      if (std::ranges::find(names, row.line.name) == names.end()) names.push_back(row.line.name);
  return names;
}

/// Colours come again, lighter, when they are used up.
std::string fill_of(std::size_t number) {
  const auto colours = plot_colours();
  return fmt::format("fill='{}' fill-opacity='{}'", colours[number % colours.size()],
                     number < colours.size()       ? "1"
                     : number < 2 * colours.size() ? "0.5"
                                                   : "0.25");
}

/// One way of doing a step.
struct Bar {
  const char* name;
  double (*us)(const PlanRow& row);
  double total_us;
};

std::array<Bar, 3> bars_of(const PlanStep& step) {
  return {Bar{"now", [](const PlanRow& row) { return row.times.now.us; }, step.now_us},
          Bar{"with the library", [](const PlanRow& row) { return row.best_us(); }, step.library_us},
          Bar{"at the floor", [](const PlanRow& row) { return std::min(row.times.floor_us, row.best_us()); },
              step.floor_us}};
}

/// @param longest us of the step's longest bar, which fills the width
std::string draw_bar(const PlanStep& step, const Bar& bar, double longest, double y,
                     const std::vector<std::string>& names) {
  std::string svg =
      fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>\n", kLeft - 8, y + kBar - 4, bar.name);
  double x = kLeft;
  for (const PlanRow& row : step.rows) {
    const double us = row.calls() * bar.us(row);
    const double width = (kRight - kLeft) * us / longest;
    if (!(width > 0)) continue;
    const auto number = static_cast<std::size_t>(std::ranges::find(names, row.line.name) - names.begin());
    svg += fmt::format(
        "<rect x='{:.2f}' y='{:.1f}' width='{:.2f}' height='{}' {}><title>{}: {}</title></rect>\n", x, y,
        width, kBar - 2, fill_of(number), svg_escaped(row.line.name), format_ns(us * kNsPerUs));
    x += width;
  }
  return svg + fmt::format("<text x='{:.1f}' y='{:.1f}'>{}</text>\n", x + 6, y + kBar - 4,
                           format_ns(bar.total_us * kNsPerUs));
}

std::string legend(const std::vector<std::string>& names, double y) {
  std::string svg;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto columns = static_cast<std::size_t>(kLegendColumns);
    const double x = 40 + static_cast<double>(i % columns) * (kWidth - 80) / kLegendColumns;
    const double line = y + kLegendLine * static_cast<double>(i / columns);
    svg += fmt::format(
        "<rect x='{:.1f}' y='{:.1f}' width='12' height='12' {}/>\n<text x='{:.1f}' y='{:.1f}'>{}</text>\n", x,
        line - 10, fill_of(i), x + 18, line, svg_escaped(names[i]));
  }
  return svg;
}

}  // namespace

std::string plan_picture(const LibraryPlan& plan) {
  const std::vector<std::string> names = operators_of(plan);
  std::string bars;
  double y = kTop;
  for (const PlanStep& step : plan.steps) {
    bars +=
        fmt::format("<text x='{}' y='{:.1f}' font-weight='bold'>{}</text>\n", kLeft, y + 12, step.heading());
    y += 18;
    const double longest = std::max({step.now_us, step.library_us, step.floor_us, 1e-9});
    for (const Bar& bar : bars_of(step)) {
      bars += draw_bar(step, bar, longest, y, names);
      y += kBar;
    }
    y += kStepGap - kBar;
  }
  const double rows = static_cast<double>((names.size() + 3) / static_cast<std::size_t>(kLegendColumns));
  const double height = y + kLegendLine * (rows + 1);
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
      "font-family='sans-serif' font-size='12'>\n<rect width='{0}' height='{1}' fill='white'/>\n"
      "<text x='40' y='28' font-size='14'>Steps of {2} on {3}; each step has a scale of its "
      "own</text>\n{4}{5}"
      "</svg>\n",
      kWidth, height, svg_escaped(plan.geometry.name), svg_escaped(plan.device.name), bars,
      legend(names, y + kLegendLine));
}

}  // namespace ak::app
