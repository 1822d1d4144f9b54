// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/embedded_file.h"
#include "db/read/named_queries.h"
#include "db/read/reader.h"

namespace ak::pages {

/// A SELECT of a page whose rows its text shows.
struct Dataset {
  std::string name, caption, sql;
};

/// A section of the report or a page of the dashboard: two files, NAME.sql and NAME.md (docs/report.md says
/// how they are written). Adding one needs no code.
struct Page {
  std::string name;   ///< of the files, without the number that orders them
  std::string title;  ///< first line of the SQL file
  std::vector<db::QueryParameter> parameters;
  std::vector<Dataset> datasets;
  std::string text;  ///< Markdown with tags (serve/pages/page_text.h)
};

/// Rows by the name of the dataset.
using PageData = std::map<std::string, db::Table>;

/// Reads a page. Throws Error(bad_input) naming page, line and what was expected.
[[nodiscard]] Page parse_page(std::string_view name, std::string_view sql, std::string_view text);

/// Pages of the program, and in their place or alongside them those of `folder` if it exists; ordered by
/// the names of their files ("20_results.sql" is the page "results").
[[nodiscard]] std::vector<Page> load_pages(std::span<const EmbeddedFile> files,
                                           const std::filesystem::path& folder);

/// Rows a dataset may have: more are left out, and the table says so. A page of the dashboard or a section
/// with more is no longer read by people.
inline constexpr std::size_t kMaxRows = 5'000;

/// Runs the page's statements. Where one meets a row that it cannot take (text that is no JSON, say), its table
/// ends there with a row that says so, and the rest of the page is as ever. Throws as db::Reader::query(), naming
/// page and dataset.
[[nodiscard]] PageData read_page(db::Reader& reader, const Page& page, const db::QueryValues& values);

}  // namespace ak::pages
