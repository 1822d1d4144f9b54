// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ak::pages {

/// A file that pages need in the browser: "page.css" and the scripts. Throws Error(bug) for another name.
[[nodiscard]] std::string_view page_asset(std::string_view name);

/// Names of the scripts, in the order in which a page loads them.
[[nodiscard]] std::span<const std::string_view> page_scripts();

/// Styles that Observable Plot puts into its pictures, as sources of a Content-Security-Policy's style-src.
[[nodiscard]] std::string plot_style_hashes();

/// One self-contained file: style, charts and licences in it, nothing fetched from anywhere. Its policy lets
/// only these scripts run, by their hashes.
/// @param title plain text
/// @param body HTML
[[nodiscard]] std::string self_contained_document(std::string_view title, std::string_view body);

}  // namespace ak::pages
