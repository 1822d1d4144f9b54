// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/text/json.h"
#include "serve/pages/page.h"

namespace ak::pages {

/// A picture's specification, a JSON object of the page's text, with what charts.js needs to draw it:
///   kind     line, scatter, roofline, bars, intervals, waterfall, heatmap or tree
///   title    in words
///   data     the dataset; each of x, y, series, facet, color, label, low, high, limit, tone, id, parent,
///            detail, front names a column of it
///   roofs    roofline: a dataset with the columns facet, label, peak_tflops, peak_gbps
///   x_label, y_label, color_label   where the column's name has no unit;
///   x_name, y_name                  columns whose first value names the axis, where only the data know
///   x_scale, y_scale                "linear" or "log"
/// Added are `columns` and `rows` of the dataset (only those named), and `headings` with units. JSON null
/// where the dataset is empty. Throws Error(bad_input) for an unknown kind, dataset or column, and for an
/// axis without a unit or a label: a chart without them is not drawn.
[[nodiscard]] Json chart_of(std::string_view specification, const Page& page, const PageData& data);

}  // namespace ak::pages
