// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/pages/page_html.h"

namespace ak::pages {

/// A block of a page that shows rows in a form of its own: `{{NAME dataset ...}}`.
struct BlockKind {
  std::string_view name;
  /// Of each dataset that it takes, the columns that it needs. The first dataset must be given.
  std::vector<std::vector<std::string_view>> needed;
  std::string (*html)(const BlockPiece& piece, const HtmlOptions& options);
};

/// All of them.
[[nodiscard]] const std::vector<BlockKind>& block_kinds();

/// Null where there is none of that name.
[[nodiscard]] const BlockKind* find_block(std::string_view name);

/// Rows as a tree of nested lists. Columns: `id`, `parent` (NULL or not in the table: a root), `label`; optional
/// `status`, shown as a badge, and `address`, of a page that is shown when the reader opens the node ("step?step=12").
/// Other columns are facts behind the label. What refers to itself in a circle begins a tree of its own.
[[nodiscard]] std::string tree_html(const BlockPiece& piece, const HtmlOptions& options);

/// Messages of a conversation, one below the other. Columns: `title`, `text`, whose code between ``` lines can be
/// folded away; optional `status`; others are facts below the title.
[[nodiscard]] std::string transcript_html(const BlockPiece& piece, const HtmlOptions& options);

/// Unified diffs, old and new side by side. Columns: `title`, `text`.
[[nodiscard]] std::string sides_html(const BlockPiece& piece, const HtmlOptions& options);

/// A source with the numbers of its lines. Columns: `title`, `text` of its first row. The second dataset marks lines:
/// `line`, `share_pct` (NULL: no bar), `note` (NULL: none). The third is what was compiled from it, in PTX: `title`,
/// `text`, whose instructions refer to lines by .loc.
[[nodiscard]] std::string listing_html(const BlockPiece& piece, const HtmlOptions& options);

}  // namespace ak::pages
