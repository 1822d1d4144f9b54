// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "serve/pages/page_text.h"

namespace ak::pages {

/// The pieces of a page as one Markdown text (GFM). Pictures become a line with their title: their numbers
/// are in the tables, or in the HTML.
[[nodiscard]] std::string page_markdown(std::span<const Piece> pieces);

}  // namespace ak::pages
