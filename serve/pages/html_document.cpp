// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/html_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text/hash.h"
#include "page_assets.h"

namespace ak::pages {
namespace {

/// What the scripts are, in the order they are needed.
constexpr std::array<std::string_view, 5> kScripts{"d3.min.js", "plot.umd.min.js", "charts.js", "folding.js",
                                                   "layout.js"};

// Observable Plot 0.6.17 puts these, word for word, into a picture, a legend of values and one of names.
constexpr std::array<std::string_view, 3> kPlotStyles{
    ":where(.plot-d6a7b5) {\n  --plot-background: white;\n  display: block;\n  height: auto;\n  height: "
    "intrinsic;\n"
    "  max-width: 100%;\n}\n:where(.plot-d6a7b5 text),\n:where(.plot-d6a7b5 tspan) {\n  white-space: pre;\n}",
    ":where(.plot-d6a7b5-ramp) {\n  display: block;\n  height: auto;\n  height: intrinsic;\n  max-width: "
    "100%;\n"
    "  overflow: visible;\n}\n:where(.plot-d6a7b5-ramp text) {\n  white-space: pre;\n}",
    ":where(.plot-d6a7b5-swatches) {\n  font-family: system-ui, sans-serif;\n  font-size: 10px;\n  "
    "margin-bottom: 0.5em;\n}\n"
    ":where(.plot-d6a7b5-swatch > svg) {\n  margin-right: 0.5em;\n  overflow: visible;\n}\n"
    ":where(.plot-d6a7b5-swatches-wrap) {\n  display: flex;\n  align-items: center;\n  min-height: 33px;\n"
    "  flex-wrap: wrap;\n}\n:where(.plot-d6a7b5-swatches-wrap .plot-d6a7b5-swatch) {\n  display: "
    "inline-flex;\n"
    "  align-items: center;\n  margin-right: 1em;\n}"};

/// The digest as a Content-Security-Policy names it.
std::string hash_source(std::string_view text) {
  const std::string hex = sha256_hex(text);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return fmt::format("'sha256-{}'", base64_encode(bytes));
}

}  // namespace

std::string_view page_asset(std::string_view name) {
  const auto files = page_assets();
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  AK_ASSERT(found != files.end(), "the asset is one of serve/pages/assets");
  return found->text;
}

std::span<const std::string_view> page_scripts() { return kScripts; }

std::string plot_style_hashes() {
  std::string out;
  for (const std::string_view style : kPlotStyles) out += (out.empty() ? "" : " ") + hash_source(style);
  return out;
}

std::string self_contained_document(std::string_view title, std::string_view body) {
  std::string sources, scripts;
  for (const std::string_view name : kScripts) {
    const std::string_view text = page_asset(name);
    sources += " " + hash_source(text);
    scripts += fmt::format("<script>{}</script>\n", text);
  }
  const std::string_view style = page_asset("page.css");
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src{}; style-src {} "
      "{}; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n{}\n<!--\n{}\n{}\n-->\n{}</body>\n</html>\n",
      sources, hash_source(style), plot_style_hashes(), html_escape(title), style, body,
      page_asset("d3.LICENSE"), page_asset("plot.LICENSE"), scripts);
}

}  // namespace ak::pages
