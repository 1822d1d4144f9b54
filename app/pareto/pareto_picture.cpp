// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "app/pareto/pareto_front.h"
#include "app/simulation/curve_plot.h"

namespace ak::app {
namespace {

// Pixels: panels below one another, each with its field; the legend is to the right of the first.
constexpr double kWidth = 900, kLeft = 90, kRight = 620, kTop = 50, kPanel = 300, kField = 230;
constexpr double kMargin = 0.06;  // of a field, around its points

/// Logarithmic where all values are above 0.
class Scale {
 public:
  Scale(const ParetoFront& front, std::size_t objective, double from, double to) : from_(from), to_(to) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const FrontPoint& point : front.points)
      least = std::min(least, point.values[objective]), most = std::max(most, point.values[objective]);
    logarithmic_ = least > 0;
    low_ = placed(least), high_ = placed(most);
    if (!(high_ > low_)) low_ -= 0.5, high_ += 0.5;
    const double margin = kMargin * (high_ - low_);
    low_ -= margin, high_ += margin;
  }
  [[nodiscard]] double at(double value) const { return pixel((placed(value) - low_) / (high_ - low_)); }
  /// Of so many places along the axis.
  [[nodiscard]] double pixel(double share) const { return from_ + (to_ - from_) * share; }
  [[nodiscard]] std::string label(double share) const {
    const double value = low_ + (high_ - low_) * share;
    return fmt::format("{:.3g}", logarithmic_ ? std::pow(10, value) : value);
  }

 private:
  [[nodiscard]] double placed(double value) const { return logarithmic_ ? std::log10(value) : value; }
  double from_, to_, low_ = 0, high_ = 1;
  bool logarithmic_ = false;
};

std::vector<std::string> definitions_of(const ParetoFront& front) {
  std::vector<std::string> names;
  for (const FrontPoint& point : front.points)
    if (std::ranges::find(names, point.definition) == names.end()) names.push_back(point.definition);
  return names;
}

std::string axes_of(const Scale& x, const Scale& y, double top, const ParetoFront& front,
                    std::size_t objective) {
  const double bottom = top + kField;
  std::string svg =
      fmt::format("<path d='M{0} {1}V{2}H{3}' fill='none' stroke='black'/>\n", kLeft, top, bottom, kRight);
  constexpr int kTicks = 4;
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double share = static_cast<double>(tick) / kTicks;
    svg += fmt::format("<line x1='{}' y1='{:.1f}' x2='{}' y2='{:.1f}' stroke='#ddd'/>\n", kLeft,
                       y.pixel(share), kRight, y.pixel(share));
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>\n", kLeft - 8, y.pixel(share) + 4,
                       y.label(share));
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>\n", x.pixel(share),
                       bottom + 16, x.label(share));
  }
  return svg + fmt::format(
                   "<text x='{}' y='{:.1f}' text-anchor='middle'>{}</text>\n"
                   "<text transform='translate(22 {:.1f}) rotate(-90)' text-anchor='middle'>{}</text>\n",
                   (kLeft + kRight) / 2, bottom + 34, svg_escaped(std::string(front.objectives[0]->title)),
                   top + kField / 2, svg_escaped(std::string(front.objectives[objective]->title)));
}

std::string dots_of(const ParetoFront& front, const Scale& x, const Scale& y, std::size_t objective,
                    const std::vector<std::string>& definitions, bool on_front) {
  std::string svg;
  for (const FrontPoint& point : front.points) {
    if (point.on_front != on_front) continue;
    const auto number =
        static_cast<std::size_t>(std::ranges::find(definitions, point.definition) - definitions.begin());
    const auto colours = plot_colours();
    svg += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='{}' fill='{}' fill-opacity='{}'><title>{} {} "
        "{}</title></circle>\n",
        x.at(point.values[0]), y.at(point.values[objective]), on_front ? 5 : 2.5,
        colours[number % colours.size()], on_front ? 1 : 0.25, point.variant, svg_escaped(point.definition),
        svg_escaped(point.source));
  }
  return svg;
}

}  // namespace

std::string front_picture(const ParetoFront& front) {
  const std::vector<std::string> definitions = definitions_of(front);
  const std::size_t panels = front.objectives.size() - 1;
  const double height = kTop + kPanel * static_cast<double>(panels);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
      "font-family='sans-serif' font-size='12'>\n<rect width='{0}' height='{1}' fill='white'/>\n"
      "<text x='{2}' y='28' font-size='14'>Variants of {3}; large: no other is as good everywhere and better "
      "somewhere</text>\n",
      kWidth, height, kLeft, svg_escaped(front.problem));
  for (std::size_t panel = 0; panel < panels && !front.points.empty(); ++panel) {
    const double top = kTop + kPanel * static_cast<double>(panel);
    const Scale x(front, 0, kLeft, kRight), y(front, panel + 1, top + kField, top);
    svg += axes_of(x, y, top, front, panel + 1);
    for (const bool on_front : {false, true}) svg += dots_of(front, x, y, panel + 1, definitions, on_front);
  }
  const auto colours = plot_colours();
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    const double y = kTop + 10 + 18 * static_cast<double>(i);
    svg +=
        fmt::format("<circle cx='{}' cy='{}' r='5' fill='{}'/>\n<text x='{}' y='{}'>{}</text>\n", kRight + 20,
                    y, colours[i % colours.size()], kRight + 32, y + 4, svg_escaped(definitions[i]));
  }
  return svg + "</svg>\n";
}

}  // namespace ak::app
