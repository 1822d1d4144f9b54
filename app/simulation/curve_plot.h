// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ak::app {

/// Colours of pictures, which colour-blind readers can tell apart.
[[nodiscard]] std::span<const char* const> plot_colours();
/// Text as SVG holds it.
[[nodiscard]] std::string svg_escaped(const std::string& text);

struct Curve {
  std::string name;
  std::vector<double> values;     ///< at x = 1, 2, ...; from 0 to 1
  std::vector<double> half_band;  ///< drawn as a band around the curve; as many as values
};

/// An SVG picture of curves over the number of evaluations, with their bands, axes with units and a legend.
/// The y axis begins at the tenth below what is worth seeing: the lowest value from 5 % of the way on.
[[nodiscard]] std::string draw_curves(const std::string& title, const std::string& x_label,
                                      const std::string& y_label, const std::vector<Curve>& curves);

}  // namespace ak::app
