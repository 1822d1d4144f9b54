// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/report/report.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "db/sqlite.h"
#include "tests/db/synthetic_database.h"
#include "tests/support/sandbox.h"

namespace ak::pages {
namespace {

using testing::code;
using testing::Sandbox;
using testing::TemporaryFolder;

const std::string& database() {
  static const TemporaryFolder folder;
  static const std::string file = [] {
    const auto path = folder / "year.db";
    db::test::make_synthetic_database(path);
    return path.string();
  }();
  return file;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST_CASE("an ISO week is Monday to Sunday") {
  const Period week = week_period("2026-W47");
  CHECK(week.since == "2026-11-16T00:00:00.000Z");
  CHECK(week.until == "2026-11-23T00:00:00.000Z");
  CHECK(week.title == "week 2026-W47: 2026-11-16 to 2026-11-22");
  CHECK(week_period("2026-W01").since == "2025-12-29T00:00:00.000Z");
  CHECK(week_period("2026-W53").since == "2026-12-28T00:00:00.000Z");
  for (const char* wrong : {"2025-W53", "2026-W00", "2026-W54", "2026W47", "2026-47", "2026-W4x", "", "week"})
    CHECK(error_of([&] { static_cast<void>(week_period(wrong)); }).find("like 2026-W47") !=
          std::string::npos);
}

TEST_CASE("a period has days or times at its ends") {
  const auto now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 22) + std::chrono::hours(7);
  CHECK(date_period("2026-11-01", "2026-11-15", now).until == "2026-11-16T00:00:00.000Z");
  CHECK(date_period("2026-11-01T22:30", "", now).since == "2026-11-01T22:30:00.000Z");
  CHECK(date_period("", "2026-11-15T22:30:01Z", now).until == "2026-11-15T22:30:01.000Z");
  CHECK(date_period("", "", now).since.empty());
  CHECK(last_seven_days(now).since == "2026-11-16T00:00:00.000Z");
  for (const char* wrong : {"2026-13-01", "2026-02-30", "yesterday", "2026-11-01T25:00", "2026-11-01 10:00"})
    CHECK(error_of([&] { static_cast<void>(date_period(wrong, "", now)); }).find("expected a day") !=
          std::string::npos);
  CHECK(error_of([&] {
          static_cast<void>(date_period("2026-11-15", "2026-11-01", now));
        }).find("not before") != std::string::npos);
}

/// Numbers on their own become "#", so that the text is compared and not the figures.
std::string with_holes(const std::string& text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  const auto within = [&](std::size_t at) {
    return is_digit(at) || (at < text.size() && (text[at] == '.' || text[at] == ',') && is_digit(at + 1));
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins =
        is_digit(i) && (i == 0 || std::string_view(" *(/$").find(text[i - 1]) != std::string_view::npos);
    if (!begins) {
      out += text[i];
      continue;
    }
    while (within(i)) ++i;
    if (text.compare(i, 2, "e-") == 0 && is_digit(i + 2))
      for (i += 2; is_digit(i);) ++i;
    out += '#';
    --i;
  }
  return out;
}

TEST_CASE("the report of a year of searches reads as the golden one does") {
  const Report report = read_report(
      {.database = database(), .period = week_period("2026-W47"), .searches = {}, .own_sections = {}});
  const std::string text = with_holes(report_markdown(report));
  if (const char* update = std::getenv("AK_UPDATE_GOLDEN"); update && *update == '1')
    std::ofstream(AK_GOLDEN "/report.md") << text;
  CHECK(text == read_file(AK_GOLDEN "/report.md"));
}

TEST_CASE("every section has rows to show in a year of searches, and every format holds them") {
  const Report report = read_report({.database = database(),
                                     .period = date_period("", "2026-11-22", {}),
                                     .searches = {},
                                     .own_sections = {}});
  REQUIRE(report.sections.size() == 11);
  const Json document = parse_json(report_json(report));
  for (const ReportSection& section : report.sections) {
    std::size_t rows = 0;
    for (const auto& [name, table] : section.data) rows += table.rows.size();
    CAPTURE(section.page.name);
    CHECK(rows > 0);
  }
  CHECK(document["sections"][0]["tables"]["totals"]["rows"][0]["searches"] > 10);
  CHECK(report_csv(report).at("experiments.searches.csv").starts_with("search,definition,device"));
  const std::string html = report_html(report);
  CHECK(html.size() < 3'000'000);
  for (const char* kind : {"line", "bars", "roofline", "waterfall", "scatter", "heatmap", "tree"})
    CHECK(html.find(std::string("\"kind\":\"") + kind + "\"") != std::string::npos);
}

TEST_CASE("a report covers the searches it was asked for") {
  const Report report = read_report({.database = database(),
                                     .period = date_period("", "2026-11-22", {}),
                                     .searches = {3, 5},
                                     .own_sections = {}});
  const db::Table& searches = report.sections[1].data.at("searches");
  REQUIRE(searches.rows.size() == 2);
  CHECK(std::get<std::int64_t>(searches.rows[0][0]) == 5);
  CHECK(error_of([] {
          static_cast<void>(
              read_report({.database = database(), .period = {}, .searches = {3, 4711}, .own_sections = {}}));
        }).find("there is no search 4711") != std::string::npos);
}

TEST_CASE("what a search of a session waited between its processes is no time of a search") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "waited.db";
  std::filesystem::copy_file(database(), file);
  {
    db::Connection waited(file, db::OpenMode::create);
    waited.execute(R"(
      UPDATE searches SET started_at = '2026-11-20T08:00:00.000Z', ended_at = '2026-11-22T08:00:00.000Z' WHERE id = 3;
      INSERT INTO sessions (uid, name, command, folder, budgets, status, reason, stop_requested, started_at)
        VALUES (randomblob(16), 'night', '', '/', '{}', 'finished', '', 0, '2026-11-20T08:00:00.000Z');
      INSERT INTO session_searches (uid, session_id, position, name, priority, share, arguments, search_id, state, reason,
                                    evaluations, verified, in_flight, tokens, cost_usd, spent_ms)
        VALUES (randomblob(16), last_insert_rowid(), 1, 'one', 0, 1.0, '[]', 3, 'finished', '', 0, 0, 0, 0, 0, 540000);)");
  }
  const Report report = read_report(
      {.database = file, .period = date_period("", "2026-11-22", {}), .searches = {3}, .own_sections = {}});
  const Json document = parse_json(report_json(report));
  CHECK(document["sections"][0]["tables"]["totals"]["rows"][0]["duration"] == "9 min");
  CHECK(document["sections"][1]["tables"]["searches"]["rows"][0]["took_minutes"] == 9.0);
  CHECK_THAT(report_brief_text(report), Catch::Contains("9 min"));
}

TEST_CASE("a time without searches gives a report that says so") {
  const Report report = read_report(
      {.database = database(), .period = week_period("2019-W01"), .searches = {}, .own_sections = {}});
  CHECK(report_markdown(report).find("Nothing ran in this time.") != std::string::npos);
  CHECK(report_html(report).find("<script type=\"application/json\">") == std::string::npos);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Every text that a candidate, a model or a user can put into the database.
void corrupt(const std::string& file) {
  db::Connection connection(file, db::OpenMode::create);
  connection.execute(
      "UPDATE variants SET name = '<script>alert(1)</script>' || id, tunables = '{\"<img src=x "
      "onerror=alert(1)>\": 1, \"B\": 2}' WHERE id % 2;"
      "UPDATE evaluations SET message = char(27) || '[31m</td><script>alert(1)</script>' || x'FF' WHERE "
      "status <> 'ok';"
      "UPDATE searches SET reason = '[x](javascript:alert(1))', strategy = '\"><script>alert(1)</script>';"
      "UPDATE insights SET text = '</script><script>alert(1)</script>' || text;"
      "UPDATE llm_calls SET model = '<svg/onload=alert(1)>', message = 'x' || char(8238) || 'y', status = "
      "'malformed';"
      "UPDATE definitions SET name = name || '</script><b id=x>';"
      "UPDATE environments SET host = '<iframe>';"
      "UPDATE sources SET text = text || char(10) || '</code></pre><script>alert(1)</script>' || id;"
      "UPDATE sources SET text = printf('%.*c', 10000000, 'x') WHERE id = 1;");
}

TEST_CASE("hostile names, sources, answers and messages are shown harmlessly") {
  const TemporaryFolder folder;
  const std::string file = (folder / "hostile.db").string();
  std::filesystem::copy_file(database(), file);
  corrupt(file);
  const Report report = read_report(
      {.database = file, .period = date_period("", "2026-11-22", {}), .searches = {}, .own_sections = {}});
  const std::string html = report_html(report);
  const std::string body = html.substr(html.find("<body>"), html.find("<!--\n") - html.find("<body>"));
  for (const char* tag : {"<script>", "<img", "<svg/", "<iframe", "<b id", "href=\"javascript", "\x1b"})
    CHECK(body.find(tag) == std::string::npos);
  CHECK(count(body, "<svg") ==
        count(body, "<svg class=\"spark\" width=\"112\""));  // the report's own sparklines
  CHECK(body.find("&lt;iframe&gt;") != std::string::npos);
  CHECK(html.size() < 3'000'000);
}

TEST_CASE("the command writes what it was asked for where it was asked to") {
  Sandbox box;
  std::filesystem::copy_file(database(), box.folder / "ak.db");
  const std::string html = (box.folder / "r.html").string();
  CHECK(box.run({"report", "--week", "2026-W47", "--output", html}).exit_code == 0);
  CHECK(read_file(html).starts_with("<!DOCTYPE html>"));
  CHECK(box.run({"report", "--since", "2026-11-01"}).out.starts_with("# AlphaKernel report, 2026-11-01 to "));
  CHECK(parse_json(box.run({"report", "--week", "2026-W47", "--format", "json"}).out)["title"] ==
        "week 2026-W47: 2026-11-16 to 2026-11-22");
  const std::string folder = (box.folder / "tables").string();
  CHECK(box.run({"report", "--search", "3", "--format", "csv", "--output", folder}).exit_code == 0);
  CHECK(read_file(folder + "/results.best.csv").starts_with("definition,device"));
}

TEST_CASE("what the command is given wrongly is said plainly") {
  Sandbox box;
  const testing::ProgramResult missing = box.run({"report"});
  CHECK(missing.exit_code == code(ExitCode::database));
  CHECK(missing.err.find("there is no database") != std::string::npos);
  std::filesystem::copy_file(database(), box.folder / "ak.db");
  CHECK(box.run({"report", "--format", "htm"}).err.find("did you mean 'html'") != std::string::npos);
  CHECK(box.run({"report", "--week", "2026-W47", "--since", "2026-11-01"}).exit_code ==
        code(ExitCode::usage));
  CHECK(box.run({"report", "--week", "47"}).exit_code == code(ExitCode::usage));
}

/// The first fenced block of `language` in a document.
std::string block_of(const std::string& document, const std::string& fence, const std::string& language) {
  const std::size_t begin = document.find(fence + language + "\n") + fence.size() + language.size() + 1;
  return document.substr(begin, document.find("\n" + fence + "\n", begin) + 1 - begin);
}

TEST_CASE("the section that the documentation shows works as it is written there") {
  Sandbox box;
  std::filesystem::copy_file(database(), box.folder / "ak.db");
  std::filesystem::create_directory(box.folder / "report");
  const std::string document = read_file(AK_SOURCE_DIR "/docs/report.md");
  box.write("report/25_tensor_cores.sql", block_of(document, "```", "sql"));
  box.write("report/25_tensor_cores.md", block_of(document, "````", "markdown"));
  const testing::ProgramResult result = box.run({"report", "--since", "2020-01-01"});
  CHECK(result.err.empty());
  CHECK(result.out.find("## Use of the matrix units") != std::string::npos);
  CHECK(result.out.find("The first of them uses **") != std::string::npos);
}

TEST_CASE("a section of one's own needs two files and no code") {
  Sandbox box;
  std::filesystem::copy_file(database(), box.folder / "ak.db");
  std::filesystem::create_directory(box.folder / "report");
  box.write("report/15_mine.sql",
            "-- My own section\n-- @count Searches\nSELECT count(*) AS searches FROM report_searches;\n");
  box.write("report/15_mine.md", "I count {{count.searches}}.\n");
  const std::string text = box.run({"report", "--search", "3", "--search", "4"}).out;
  CHECK(text.find("## My own section\n\nI count 2.\n") != std::string::npos);
  CHECK(text.find("## My own section") < text.find("## Experiments conducted"));
  box.write("report/15_mine.sql", "-- Mine\n-- @count Searches\nSELECT wrong FROM report_searches;\n");
  const testing::ProgramResult wrong = box.run({"report"});
  CHECK(wrong.exit_code == code(ExitCode::bad_input));
  CHECK(wrong.err.find("page mine, @count: query: no such column: wrong") != std::string::npos);
  box.write("report/15_mine.sql", "-- Mine\n-- @count Searches\nDELETE FROM searches;\n");
  CHECK(box.run({"report"}).err.find("only SELECT is allowed") != std::string::npos);
}

}  // namespace
}  // namespace ak::pages
