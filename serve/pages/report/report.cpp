// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/report/report.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text/line_diff.h"
#include "db/read/table_rows.h"
#include "report_brief.h"
#include "report_sections.h"
#include "serve/pages/device_limits.h"
#include "serve/pages/html_document.h"
#include "serve/pages/page_html.h"
#include "serve/pages/page_markdown.h"
#include "serve/pages/quantity_text.h"
#include "serve/pages/report/copied_command.h"
#include "serve/pages/report/report_tables.h"

namespace ak::pages {
namespace {

// A diff in a report is looked at, not applied.
constexpr std::size_t kMaxDiffLines = 120;

/// A list of searches as SQLite reads it.
std::string json_list(const std::vector<std::int64_t>& searches) { return Json(searches).dump(); }

void choose_searches(db::Reader& reader, const ReportRequest& request) {
  const db::QueryValues values{{"since", request.period.since},
                               {"until", request.period.until},
                               {"chosen", json_list(request.searches)}};
  if (request.searches.empty()) {
    reader.keep("report_searches",
                "SELECT id FROM searches WHERE started_at >= :since AND started_at < :until", values);
    return;
  }
  const db::Table missing = reader.query(
      "SELECT value FROM json_each(:chosen) WHERE value NOT IN (SELECT id FROM searches)", 1, values);
  if (!missing.rows.empty())
    fail(ExitCode::usage, "--search: there is no search {}; alphakernel query searches lists them",
         db::rows_of(missing).front().integer("value"));
  reader.keep("report_searches", "SELECT value AS id FROM json_each(:chosen)", values);
}

Json json_rows(const db::Table& table) { return parse_json(db::render(table, db::TableFormat::json)); }

}  // namespace

Report read_report(const ReportRequest& request) {
  db::Reader reader(request.database, request.time_limit);
  reader.define("unified_diff", [](std::string_view before, std::string_view after) {
    return unified_diff(before, after, kMaxDiffLines);
  });
  define_quantity(reader);
  define_search_command(reader);
  choose_searches(reader, request);
  keep_device_limits(reader);
  keep_report_tables(reader);
  const db::QueryValues values{{"since", request.period.since}, {"until", request.period.until}};
  Report report{request.period, {}, {}};
  const auto read = [&](Page& page) {
    PageData data = read_page(reader, page, values);
    return ReportSection{std::move(page), std::move(data)};
  };
  for (Page& page : load_pages(report_sections(), request.own_sections))
    report.sections.push_back(read(page));
  report.brief = read(load_pages(report_brief(), {}).front());
  return report;
}

std::string report_html(const Report& report) {
  std::string body = "<a class=\"skip\" href=\"#main\">Skip to the report</a>\n", contents, sections;
  for (const ReportSection& section : report.sections) {
    const std::string name = html_escape(section.page.name), title = html_escape(section.page.title);
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", name, title);
    sections += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
        name, title, page_html(expand(section.page, section.data), {}));
  }
  const std::string title = fmt::format("AlphaKernel report, {}", report.period.title);
  body += fmt::format(
      "<header><h1>{}</h1><nav aria-label=\"Sections\"><ul>\n{}</ul></nav></header>\n<main "
      "id=\"main\">\n{}</main>",
      html_escape(title), contents, sections);
  return self_contained_document(title, body);
}

std::string report_markdown(const Report& report) {
  std::string out = fmt::format("# AlphaKernel report, {}\n", markdown_escape(report.period.title));
  for (const ReportSection& section : report.sections)
    out +=
        fmt::format("\n## {}\n\n{}", section.page.title, page_markdown(expand(section.page, section.data)));
  return out;
}

std::string report_json(const Report& report) {
  Json sections = Json::array();
  for (const ReportSection& section : report.sections) {
    Json tables = Json::object();
    for (const Dataset& dataset : section.page.datasets)
      tables[dataset.name] = {{"caption", dataset.caption},
                              {"rows", json_rows(section.data.at(dataset.name))}};
    sections.push_back(
        {{"name", section.page.name}, {"title", section.page.title}, {"tables", std::move(tables)}});
  }
  const Json document{{"since", report.period.since},
                      {"until", report.period.until},
                      {"title", report.period.title},
                      {"sections", std::move(sections)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::map<std::string, std::string> report_csv(const Report& report) {
  std::map<std::string, std::string> files;
  for (const ReportSection& section : report.sections)
    for (const auto& [name, table] : section.data)
      files[fmt::format("{}.{}.csv", section.page.name, name)] = db::render(table, db::TableFormat::csv);
  return files;
}

}  // namespace ak::pages
