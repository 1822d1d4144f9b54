// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/blocks/block.h"

#include <algorithm>

namespace ak::pages {

const std::vector<BlockKind>& block_kinds() {
  static const std::vector<BlockKind> kKinds{
      {.name = "tree", .needed = {{"id", "parent", "label"}}, .html = tree_html},
      {.name = "transcript", .needed = {{"title", "text"}}, .html = transcript_html},
      {.name = "sides", .needed = {{"title", "text"}}, .html = sides_html},
      {.name = "listing",
       .needed = {{"title", "text"}, {"line", "share_pct", "note"}, {"title", "text"}},
       .html = listing_html}};
  return kKinds;
}

const BlockKind* find_block(std::string_view name) {
  const auto found = std::ranges::find(block_kinds(), name, &BlockKind::name);
  return found == block_kinds().end() ? nullptr : &*found;
}

}  // namespace ak::pages
