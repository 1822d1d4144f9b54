// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <map>

#include "serve/pages/blocks/block.h"
#include "serve/pages/blocks/block_parts.h"

namespace ak::pages {
namespace {

// Nodes below are indented no further: chains of hundreds of steps stay on the page.
constexpr int kDeepest = 12;
constexpr std::array<std::string_view, 5> kTreeColumns{"id", "parent", "label", "status", "address"};

/// An address of a page of ours, by its characters: nothing with a scheme or of another host.
bool is_page_address(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_?=&%.-";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

class TreeWriter {
 public:
  TreeWriter(const BlockPiece& piece, const HtmlOptions& options)
      : table_(*piece.tables.front()), linked_(options.linked), written_(table_.rows.size()) {
    std::map<std::string, std::size_t> known;
    for (std::size_t row = 0; row < table_.rows.size(); ++row) known.emplace(fields(row).text("id"), row);
    children_.resize(table_.rows.size());
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      const auto parent = known.find(fields(row).text("parent"));
      if (parent == known.end())
        roots_.push_back(row);
      else
        children_[parent->second].push_back(row);
    }
  }

  std::string html() {
    for (const std::size_t root : roots_) write(root, 0);
    for (std::size_t row = 0; row < table_.rows.size(); ++row) write(row, 0);  // what is left goes in circles
    return std::move(out_);
  }

 private:
  void write(std::size_t row, int depth) {
    if (written_[row]) return;
    written_[row] = true;
    out_ += "<li>" + node(row);
    const bool nested = depth < kDeepest && !children_[row].empty();
    out_ += nested ? "<ul>\n" : "</li>\n";
    for (const std::size_t child : children_[row]) write(child, depth + 1);
    if (nested) out_ += "</ul></li>\n";
  }

  std::string node(std::size_t row) const {
    const RowFields row_fields = fields(row);
    const std::string label = fmt::format("{}<span class=\"label\">{}</span> {}", badge_html(row_fields),
                                          html_escape(row_fields.text("label")),
                                          facts_html(table_, table_.rows[row], kTreeColumns, linked_));
    const std::string address = row_fields.text("address");
    if (!is_page_address(address)) return fmt::format("<div class=\"node\">{}</div>", label);
    const std::string escaped = html_escape(address);
    return fmt::format(
        "<div class=\"node\">{}</div><details class=\"fetched\" data-address=\"{}\"><summary>What changed "
        "and why</summary><p><a href=\"{}\">Show it on a page of its own</a></p></details>",
        label, escaped, escaped);
  }

  RowFields fields(std::size_t row) const { return {table_, table_.rows[row]}; }

  const db::Table& table_;
  const LinkedColumns& linked_;
  std::vector<std::size_t> roots_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<bool> written_;
  std::string out_;
};

}  // namespace

std::string tree_html(const BlockPiece& piece, const HtmlOptions& options) {
  return fmt::format("<ul class=\"tree\" aria-label=\"{}\">\n{}</ul>\n", html_escape(piece.caption),
                     TreeWriter(piece, options).html());
}

}  // namespace ak::pages
