// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/text/file.h"
#include "db/read/row_error.h"
#include "serve/pages/column.h"

namespace ak::pages {
namespace {

namespace fs = std::filesystem;

/// "20_results" is "results".
std::string page_name(std::string_view stem) {
  const std::size_t digits = stem.find_first_not_of("0123456789");
  const bool numbered = digits != 0 && digits != std::string_view::npos && stem[digits] == '_';
  return std::string(numbered ? stem.substr(digits + 1) : stem);
}

/// What begins a dataset: "-- @name caption".
constexpr std::string_view kDatasetMark = "-- @";

std::size_t next_dataset(std::string_view sql, std::size_t from) {
  if (from == 0 && sql.starts_with(kDatasetMark)) return 0;
  const std::size_t at = sql.find("\n-- @", from);
  return at == std::string_view::npos ? sql.size() : at + 1;
}

Dataset parse_dataset(std::string_view page, std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view head = text.substr(kDatasetMark.size(), end - kDatasetMark.size());
  const std::size_t blank = std::min(head.find(' '), head.size());
  Dataset dataset{.name = std::string(head.substr(0, blank)),
                  .caption = std::string(head.substr(std::min(blank + 1, head.size()))),
                  .sql = std::string(text.substr(std::min(end + 1, text.size())))};
  if (dataset.name.empty() || dataset.caption.empty())
    fail(ExitCode::bad_input, "page {}: expected '-- @name caption' before a statement, got '-- @{}'", page,
         head);
  return dataset;
}

/// Parts of a page by the name of its files without the extension.
struct PageFiles {
  std::optional<std::string> sql, text;
};

void put(std::map<std::string, PageFiles>& pages, const fs::path& file, std::string text) {
  if (file.extension() == ".sql")
    pages[file.stem().string()].sql = std::move(text);
  else if (file.extension() == ".md")
    pages[file.stem().string()].text = std::move(text);
}

/// The rows before one that cannot be computed, and in its place a row that says so.
db::Table with_fault(const db::RowError& error) {
  db::Table table = error.before();
  const auto plain = std::ranges::find_if_not(table.columns, names_a_row);
  const auto column = plain == table.columns.end() ? 0 : plain - table.columns.begin();
  std::vector<db::Cell>& row = table.rows.emplace_back(table.columns.size());
  row[static_cast<std::size_t>(column)] = fmt::format("cannot be computed: {}", error.what());
  return table;
}

}  // namespace

Page parse_page(std::string_view name, std::string_view sql, std::string_view text) {
  Page page{
      .name = page_name(name), .title = "", .parameters = {}, .datasets = {}, .text = std::string(text)};
  std::size_t at = next_dataset(sql, 0);
  std::string_view head = sql.substr(0, at);
  while (head.ends_with("\n") || head.ends_with("--")) head.remove_suffix(head.ends_with("\n") ? 1 : 2);
  const db::NamedQuery described = db::parse_named_query(fmt::format("page {}", name), head);
  page.title = described.title;
  page.parameters = described.parameters;
  while (at < sql.size()) {
    const std::size_t end = next_dataset(sql, at);
    page.datasets.push_back(parse_dataset(name, sql.substr(at, end - at)));
    at = end;
  }
  return page;
}

std::vector<Page> load_pages(std::span<const EmbeddedFile> files, const fs::path& folder) {
  std::map<std::string, PageFiles> found;
  for (const EmbeddedFile& file : files) put(found, fs::path(file.name), std::string(file.text));
  if (!folder.empty() && fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".sql" || entry.path().extension() == ".md")
        put(found, entry.path(), read_file(entry.path()));
  std::vector<Page> pages;
  for (const auto& [stem, parts] : found) {
    if (!parts.sql || !parts.text)
      fail(ExitCode::bad_input, "page {}: expected both {}.sql and {}.md", stem, stem, stem);
    pages.push_back(parse_page(stem, *parts.sql, *parts.text));
  }
  return pages;
}

PageData read_page(db::Reader& reader, const Page& page, const db::QueryValues& values) {
  PageData data;
  for (const Dataset& dataset : page.datasets) {
    try {
      data[dataset.name] = reader.query(dataset.sql, kMaxRows, values);
    } catch (const db::RowError& error) {
      data[dataset.name] = with_fault(error);
    } catch (const Error& error) {
      fail(error.code(), "page {}, @{}: {}", page.name, dataset.name, error.what());
    }
  }
  return data;
}

}  // namespace ak::pages
