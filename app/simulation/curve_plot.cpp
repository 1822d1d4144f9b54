// SPDX-License-Identifier: Apache-2.0
#include "app/simulation/curve_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ak::app {
namespace {

// Pixels: the picture, and the field of the plot inside it; the legend is to its right.
constexpr double kWidth = 860, kHeight = 460, kLeft = 70, kRight = 640, kTop = 40, kBottom = 400;

// Okabe and Ito's colours, which colour-blind readers can tell apart; a dash pattern once they are used up.
constexpr std::array kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                              "#E69F00", "#56B4E9", "#000000", "#8A8A00"};

struct Axes {
  double last_x = 1, lowest = 0;
  [[nodiscard]] double x(double value) const {
    return kLeft + (kRight - kLeft) * (value - 1) / std::max(1.0, last_x - 1);
  }
  [[nodiscard]] double y(double value) const {
    return kBottom - (kBottom - kTop) * (std::clamp(value, lowest, 1.0) - lowest) / (1 - lowest);
  }
};

Axes axes_for(const std::vector<Curve>& curves) {
  Axes axes;
  double lowest = 0.9;
  for (const Curve& curve : curves) {
    axes.last_x = std::max(axes.last_x, static_cast<double>(curve.values.size()));
    for (std::size_t i = curve.values.size() / 20; i < curve.values.size(); ++i)
      lowest = std::min(lowest, curve.values[i] - curve.half_band[i]);
  }
  axes.lowest = std::max(0.0, std::floor(lowest * 10) / 10);
  return axes;
}

std::string grid(const Axes& axes) {
  std::string svg;
  for (int tenth = static_cast<int>(std::lround(axes.lowest * 10)); tenth <= 10; ++tenth) {
    const double y = axes.y(tenth / 10.0);
    svg +=
        fmt::format("<line x1='{}' y1='{:.1f}' x2='{}' y2='{:.1f}' stroke='#ddd'/>\n", kLeft, y, kRight, y);
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{:.1f}</text>\n", kLeft - 8, y + 4,
                       tenth / 10.0);
  }
  const double rough = axes.last_x / 5;
  const double power = std::pow(10, std::floor(std::log10(std::max(rough, 1.0))));
  const double step = std::max(1.0, std::floor(rough / power) * power);
  const auto ticks = static_cast<int>(axes.last_x / step);
  for (int tick = 1; tick <= ticks; ++tick) {
    const double value = tick * step;
    svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{:.0f}</text>\n", axes.x(value),
                       kBottom + 18, value);
  }
  return svg;
}

std::string draw(const Curve& curve, const Axes& axes, std::size_t number) {
  const char* colour = kColours[number % kColours.size()];
  const char* dash = number < kColours.size() ? "" : " stroke-dasharray='6 3'";
  std::string line, upper, lower;
  for (std::size_t i = 0; i < curve.values.size(); ++i) {
    const double x = axes.x(static_cast<double>(i + 1)), value = curve.values[i], half = curve.half_band[i];
    line += fmt::format("{:.1f},{:.1f} ", x, axes.y(value));
    upper += fmt::format("{:.1f},{:.1f} ", x, axes.y(value + half));
    lower = fmt::format("{:.1f},{:.1f} ", x, axes.y(value - half)) + lower;
  }
  const double y = kTop + 10 + 18 * static_cast<double>(number);
  return fmt::format(
      "<polygon points='{}{}' fill='{}' fill-opacity='0.15'/>\n"
      "<polyline points='{}' fill='none' stroke='{}' stroke-width='1.6'{}/>\n"
      "<line x1='{}' y1='{}' x2='{}' y2='{}' stroke='{}' stroke-width='2'{}/>\n"
      "<text x='{}' y='{}'>{}</text>\n",
      upper, lower, colour, line, colour, dash, kRight + 15, y, kRight + 40, y, colour, dash, kRight + 46,
      y + 4, svg_escaped(curve.name));
}

}  // namespace

std::span<const char* const> plot_colours() { return kColours; }

std::string svg_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<') escaped += "&lt;";
    if (c == '&') escaped += "&amp;";
    if (c != '<' && c != '&') escaped += c;
  }
  return escaped;
}

std::string draw_curves(const std::string& title, const std::string& x_label, const std::string& y_label,
                        const std::vector<Curve>& curves) {
  const Axes axes = axes_for(curves);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
      "font-family='sans-serif' font-size='12'>\n<rect width='{0}' height='{1}' fill='white'/>\n"
      "<text x='{2}' y='24' font-size='14'>{3}</text>\n",
      kWidth, kHeight, kLeft, svg_escaped(title));
  svg += grid(axes);
  for (std::size_t i = 0; i < curves.size(); ++i) svg += draw(curves[i], axes, i);
  svg += fmt::format(
      "<path d='M{0} {1}V{2}H{3}' fill='none' stroke='black'/>\n"
      "<text x='{4}' y='{5}' text-anchor='middle'>{6}</text>\n"
      "<text transform='translate(20 {7}) rotate(-90)' text-anchor='middle'>{8}</text>\n</svg>\n",
      kLeft, kTop, kBottom, kRight, (kLeft + kRight) / 2, kBottom + 40, svg_escaped(x_label),
      (kTop + kBottom) / 2, svg_escaped(y_label));
  return svg;
}

}  // namespace ak::app
