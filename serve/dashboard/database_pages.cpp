// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/database_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/text/line_diff.h"
#include "dashboard_assets.h"
#include "dashboard_pages.h"
#include "db/read/reader.h"
#include "db/read/table_rows.h"
#include "serve/dashboard/cached_ptx.h"
#include "serve/dashboard/metrics.h"
#include "serve/pages/column.h"
#include "serve/pages/device_limits.h"
#include "serve/pages/html_document.h"
#include "serve/pages/page_html.h"
#include "serve/pages/page_text.h"
#include "serve/pages/quantity_text.h"

namespace ak::dashboard {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view kFirstPage = "overview";
constexpr std::size_t kMaxDiffLines = 2'000;
constexpr std::size_t kMaxTitleBytes = 120, kMaxSentenceBytes = 2'000;

/// What the dashboard adds to the scripts of every page, in the order in which it is loaded.
constexpr std::array<std::string_view, 5> kScripts{"address.js", "tables.js", "panes.js", "outline.js",
                                                   "dashboard.js"};

bool has_required(const pages::Page& page) {
  return std::ranges::any_of(page.parameters, &db::QueryParameter::required);
}

/// "name=value" texts of what was filled in: a form sends its empty fields, too.
std::vector<std::string> given_values(const PageRequest& request) {
  std::vector<std::string> given;
  for (const auto& [name, value] : request.query) {
    if (name != "fragment" && !value.empty()) given.push_back(fmt::format("{}={}", name, value));
  }
  return given;
}

db::QueryValues values_of(const pages::Page& page, const PageRequest& request) {
  const db::NamedQuery asked{
      .name = fmt::format("/{}", page.name), .title = page.title, .sql = "", .parameters = page.parameters};
  return db::query_values(asked, given_values(request));
}

std::string text_of(const db::Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return "";
}

/// "Search 12": what distinguishes tabs of a browser.
std::string title_of(const pages::Page& page, const db::QueryValues& values) {
  std::string title = page.title;
  for (const db::QueryParameter& parameter : page.parameters) {
    if (parameter.required) title += " " + text_of(values.at(parameter.name));
  }
  return pages::harmless(title, kMaxTitleBytes);
}

/// The page of a search was called "session" once, and links to it were kept.
std::optional<PageResponse> moved(const PageRequest& request) {
  if (request.path != "/session") return std::nullopt;
  const auto number = request.query.find("session");
  if (number == request.query.end() || number->second.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return PageResponse{.status = 308,
                      .type = "text/plain; charset=utf-8",
                      .body = "The page is at /search.\n",
                      .location = fmt::format("/search?search={}", number->second)};
}

/// Rows that have a page of their own, by the page's name: their `uid` is the same in every file they are copied to,
/// their number is not.
struct LastingRow {
  std::string_view page, table;
};
constexpr std::size_t kUidDigits = 32;  // of 16 bytes
constexpr std::array kLastingRows{LastingRow{"search", "searches"}, LastingRow{"variant", "variants"},
                                  LastingRow{"call", "llm_calls"}, LastingRow{"transcript", "searches"},
                                  LastingRow{"step", "variants"}};

/// The limits of devices take a look at every search: only for pages that ask for them.
bool asks_for_limits(const pages::Page& page) {
  return std::ranges::any_of(page.datasets, [](const pages::Dataset& dataset) {
    return dataset.sql.find("device_limits") != std::string::npos;
  });
}

void prepare(db::Reader& reader, const pages::Page& page, const std::filesystem::path& build_cache) {
  pages::define_quantity(reader);
  reader.define("cached_ptx", [build_cache](std::string_view build_key, std::string_view symbol) {
    return cached_ptx(build_cache, build_key, symbol);
  });
  reader.define("unified_diff", [](std::string_view before, std::string_view after) {
    return unified_diff(before, after, kMaxDiffLines);
  });
  if (asks_for_limits(page)) pages::keep_device_limits(reader);
}

}  // namespace

DatabasePages::DatabasePages(Parts parts)
    : parts_(std::move(parts)), pages_(pages::load_pages(dashboard_pages(), parts_.folder)) {
  for (const pages::Page& page : pages_) {
    if (std::ranges::find(page.parameters, page.name, &db::QueryParameter::name) != page.parameters.end())
      linked_.insert(page.name);
  }
}

const pages::Page* DatabasePages::find(std::string_view path) const {
  const std::string_view name = path == "/" ? kFirstPage : path.substr(1);
  const auto found = std::ranges::find(pages_, name, &pages::Page::name);
  return found == pages_.end() ? nullptr : &*found;
}

PageResponse DatabasePages::operator()(const PageRequest& request) const {
  if (request.path == kMetricsPath) return metrics(parts_.database, parts_.time_limit);
  const pages::Page* page = find(request.path);
  const bool fragment = request.query.contains("fragment");
  if (page == nullptr) {
    if (auto other = moved(request)) return *std::move(other);
    return error_page(404, "There is no page of this name.", fragment);
  }
  const auto begin = steady_clock::now();
  try {
    if (auto other = lasting(*page, request)) return *std::move(other);
    return show(*page, values_of(*page, request), fragment);
  } catch (const Error& error) {
    if (steady_clock::now() - begin >= parts_.time_limit)
      return error_page(
          503,
          fmt::format("The page took longer than {} s. Narrow what it shows, or start the dashboard with a "
                      "higher --timeout.",
                      std::chrono::duration<double>(parts_.time_limit).count()),
          fragment);
    const int status = error.code() == ExitCode::usage ? 400 : error.code() == ExitCode::database ? 503 : 500;
    return error_page(status, error.what(), fragment);
  }
}

/// "/variant?uid=0123..." leads to the page of the row with that uid in this file.
std::optional<PageResponse> DatabasePages::lasting(const pages::Page& page,
                                                   const PageRequest& request) const {
  const auto uid = request.query.find("uid");
  const auto row = std::ranges::find(kLastingRows, page.name, &LastingRow::page);
  if (uid == request.query.end() || row == kLastingRows.end()) return std::nullopt;
  const bool is_hexadecimal = uid->second.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!is_hexadecimal || uid->second.size() != kUidDigits)
    return error_page(400, "A uid is 32 hexadecimal digits.", false);
  db::Reader reader(parts_.database, parts_.time_limit);
  const db::Table found =
      reader.query(fmt::format("SELECT id FROM {} WHERE uid = x'{}'", row->table, uid->second), 1);
  if (found.rows.empty()) return error_page(404, "This database has no row of that uid.", false);
  return PageResponse{
      .status = 303,
      .type = "text/plain; charset=utf-8",
      .body = "The page is elsewhere.\n",
      .location = fmt::format("/{0}?{0}={1}", page.name, text_of(db::rows_of(found).front().cell("id")))};
}

/// A page that is open already shows the sentence in its own line.
PageResponse DatabasePages::error_page(int status, std::string_view sentence, bool fragment) const {
  if (fragment) return {.status = status, .type = "text/plain; charset=utf-8", .body = std::string(sentence)};
  return {
      .status = status,
      .body = document(
          nullptr, reason_of(status),
          fmt::format("<main id=\"main\" tabindex=\"-1\">\n<h1>{}</h1>\n<p>{}</p>\n</main>\n",
                      reason_of(status), pages::html_escape(pages::harmless(sentence, kMaxSentenceBytes))))};
}

PageResponse DatabasePages::show(const pages::Page& page, const db::QueryValues& values,
                                 bool fragment) const {
  pages::PageData data;
  {
    db::Reader reader(parts_.database, parts_.time_limit);
    prepare(reader, page, parts_.build_cache);
    data = pages::read_page(reader, page, values);
  }  // the snapshot ends here: making HTML of it may take as long as it wants
  const std::vector<pages::Piece> pieces = pages::expand(page, data);
  std::vector<db::QueryParameter> fields = page.parameters;
  const std::string title = title_of(page, values);
  const std::string html =
      pages::page_html(pieces, {.linked = linked_, .parameters = fields, .values = &values});
  const std::string main = fmt::format("<main id=\"main\" tabindex=\"-1\">\n<h1>{}</h1>\n{}</main>\n",
                                       pages::html_escape(title), html);
  return {.body = fragment ? main : document(&page, title, main)};
}

std::string DatabasePages::navigation(const pages::Page* page) const {
  std::string links;
  for (const pages::Page& other : pages_) {
    if (has_required(other)) continue;
    links += fmt::format("<li><a href=\"/{}\"{}>{}</a></li>\n", other.name == kFirstPage ? "" : other.name,
                         &other == page ? " aria-current=\"page\"" : "", pages::html_escape(other.title));
  }
  return fmt::format(
      "<header><nav aria-label=\"Pages\"><a class=\"brand\" "
      "href=\"/\">AlphaKernel</a><ul>\n{}</ul></nav></header>\n",
      links);
}

std::string DatabasePages::document(const pages::Page* page, std::string_view title,
                                    std::string_view main) const {
  std::string scripts;
  const auto add = [&](std::string_view name) {
    scripts += fmt::format("<script defer src=\"/assets/{}\"></script>\n", name);
  };
  std::ranges::for_each(pages::page_scripts(), add);
  std::ranges::for_each(kScripts, add);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{} – AlphaKernel</title>\n<link rel=\"icon\" href=\"data:,\">\n"
      "<link rel=\"stylesheet\" href=\"/assets/page.css\">\n<link rel=\"stylesheet\" "
      "href=\"/assets/dashboard.css\">\n"
      "{}</head>\n<body>\n"
      "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n{}{}</body>\n</html>\n",
      pages::html_escape(title), scripts, navigation(page), main);
}

Assets dashboard_assets() {
  constexpr std::string_view kScript = "text/javascript; charset=utf-8", kStyle = "text/css; charset=utf-8";
  Assets assets;
  const auto add = [&](std::string_view name, std::string_view text) {
    assets.emplace(name, Asset{.type = std::string(name.ends_with(".css") ? kStyle : kScript), .body = text});
  };
  for (const std::string_view name : pages::page_scripts()) add(name, pages::page_asset(name));
  add("page.css", pages::page_asset("page.css"));
  for (const EmbeddedFile& file : dashboard_files()) add(file.name, file.text);
  return assets;
}

}  // namespace ak::dashboard
