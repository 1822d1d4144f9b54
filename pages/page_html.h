// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "pages/page_text.h"

namespace ak::pages {

/// How a page's HTML refers to others.
struct HtmlOptions {
  std::set<std::string, std::less<>> linked{};  ///< columns whose values link to the page of that name
  /// Of {{form}}: parameters and their present values.
  std::span<const db::QueryParameter> parameters{};
  const db::QueryValues* values = nullptr;
};

/// Text for HTML: nothing in it can be a tag or end an attribute.
[[nodiscard]] std::string html_escape(std::string_view text);

/// The pieces of a page as HTML. Markdown is converted with raw HTML and dangerous links off (cmark-gfm); all
/// else is escaped here.
[[nodiscard]] std::string page_html(std::span<const Piece> pieces, const HtmlOptions& options);

}  // namespace ak::pages
