// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serve/pages/cell_html.h"
#include "serve/pages/page_text.h"

namespace ak::pages {

/// How a page's HTML refers to others.
struct HtmlOptions {
  LinkedColumns linked{};
  /// Of {{form}}: parameters and their present values.
  std::span<const db::QueryParameter> parameters{};
  const db::QueryValues* values = nullptr;
};

/// The pieces of a page as HTML. Markdown is converted with raw HTML and dangerous links off (cmark-gfm); all
/// else is escaped here.
[[nodiscard]] std::string page_html(std::span<const Piece> pieces, const HtmlOptions& options);

}  // namespace ak::pages
