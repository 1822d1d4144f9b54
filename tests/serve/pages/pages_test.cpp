// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "core/error.h"
#include "serve/pages/cell_html.h"
#include "serve/pages/column.h"
#include "serve/pages/html_document.h"
#include "serve/pages/page_html.h"
#include "serve/pages/page_markdown.h"
#include "serve/pages/page_text.h"
#include "serve/pages/quantity_text.h"
#include "serve/pages/sparkline.h"
#include "serve/pages/status_tone.h"
#include "tests/support/fuzz_iterations.h"
#include "tests/support/run_program.h"

namespace ak::pages {
namespace {

using testing::TemporaryFolder;

constexpr const char* kSql =
    "-- A page\n-- search: number of the search (integer, required)\n--\n"
    "-- @kernels The kernels\nSELECT 1 AS variant, 'softmax' AS name, 2.5 AS best_us;\n"
    "-- @nothing What is not there\nSELECT 1 AS variant WHERE 0;\n";

PageData data_of(const std::string& name) {
  db::Table kernels{{"variant", "name", "best_us"},
                    {{std::int64_t{1}, name, 2.5}, {std::int64_t{2}, std::string("gemm"), std::monostate{}}}};
  return {{"kernels", std::move(kernels)}, {"nothing", {{"variant"}, {}}}};
}

std::string markdown_of(const std::string& text, const std::string& name = "softmax") {
  const PageData data = data_of(name);
  return page_markdown(expand(parse_page("10_page", kSql, text), data));
}

std::string html_of(const std::string& text, const std::string& name = "softmax",
                    const HtmlOptions& options = {}) {
  const PageData data = data_of(name);
  return page_html(expand(parse_page("10_page", kSql, text), data), options);
}

std::string input_error(const std::string& text) {
  try {
    static_cast<void>(markdown_of(text));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("a page is read from its two files") {
  const Page page = parse_page("10_page", kSql, "text");
  CHECK(page.name == "page");
  CHECK(page.title == "A page");
  REQUIRE(page.parameters.size() == 1);
  CHECK(page.parameters[0].required);
  REQUIRE(page.datasets.size() == 2);
  CHECK(page.datasets[0].name == "kernels");
  CHECK(page.datasets[0].caption == "The kernels");
  CHECK(has(page.datasets[0].sql, "2.5 AS best_us"));
  CHECK_FALSE(has(page.datasets[0].sql, "nothing"));
}

TEST_CASE("a dataset without a caption is refused, and so is a page with one file") {
  CHECK_THROWS_WITH(parse_page("p", "-- A page\n-- @kernels\nSELECT 1;\n", ""),
                    Catch::Contains("-- @name caption"));
  const TemporaryFolder folder;
  std::ofstream(folder / "own.sql") << "-- Own\n-- @a A\nSELECT 1 AS x;\n";
  CHECK_THROWS_WITH(load_pages({}, folder.path()), Catch::Contains("own.md"));
}

TEST_CASE("a user's pages are shown next to the program's, and in place of those of the same name") {
  const TemporaryFolder folder;
  for (const char* name : {"10_first", "20_own"}) {
    std::ofstream(folder / (std::string(name) + ".sql"))
        << "-- Title of " << name << "\n-- @a A\nSELECT 1 AS x;\n";
    std::ofstream(folder / (std::string(name) + ".md")) << "{{table a}}\n";
  }
  const std::vector<EmbeddedFile> shipped{{"10_first.sql", "-- Shipped\n-- @a A\nSELECT 2 AS x;\n"},
                                          {"10_first.md", ""},
                                          {"30_last.sql", "-- Last\n-- @a A\nSELECT 2 AS x;\n"},
                                          {"30_last.md", ""}};
  const std::vector<Page> pages = load_pages(shipped, folder.path());
  REQUIRE(pages.size() == 3);
  CHECK(pages[0].title == "Title of 10_first");
  CHECK(pages[1].name == "own");
  CHECK(pages[2].title == "Last");
}

TEST_CASE("tags show values, rows, and what there is to say without rows") {
  CHECK(markdown_of("{{kernels.name}} takes {{kernels.best_us}} µs") == "softmax takes 2.5 µs");
  CHECK(markdown_of("{{#kernels}}\n- {{variant}}: {{best_us}}\n{{/kernels}}\n") == "- 1: 2.5\n- 2: –\n");
  CHECK(markdown_of("{{?kernels}}some{{/kernels}}{{^kernels}}none{{/kernels}}") == "some");
  CHECK(markdown_of("{{?nothing}}some{{/nothing}}{{^nothing}}none{{/nothing}}") == "none");
  CHECK(markdown_of("{{nothing.variant}}") == "");
  CHECK(markdown_of("{{#kernels}}{{?nothing}}x{{/nothing}}{{#nothing}}y{{/nothing}}z{{/kernels}}") == "zz");
}

TEST_CASE("a tag that means nothing is reported with its line") {
  CHECK(has(input_error("a\n{{wrong.name}}"), "line 2: 'wrong' is not a dataset"));
  CHECK(has(input_error("{{kernels.wrong}}"), "expected one of variant, name, best_us"));
  CHECK(has(input_error("{{#kernels}}"), "not closed"));
  CHECK(has(input_error("{{/kernels}}"), "closes nothing"));
  CHECK(has(input_error("{{#kernels}}{{/nothing}}"), "open is 'kernels'"));
  CHECK(has(input_error("{{name}}"), "outside"));
  CHECK(has(input_error("{{picture kernels}}"), "expected table, tiles, cards, fold, code, diff or form"));
  CHECK(has(input_error("{{code kernels}}"), "'title' is not a column"));
  CHECK(has(input_error("{{kernels.name"), "without '}}'"));
}

TEST_CASE("a chart says its units or is refused") {
  const std::string good =
      "```chart\n{\"kind\": \"bars\", \"title\": \"T\", \"data\": \"kernels\", \"y\": \"name\", \"x\": "
      "\"best_us\"}\n```\n";
  CHECK(has(markdown_of(good), "picture in the HTML report: T"));
  CHECK(has(html_of(good), "\"headings\":{\"x\":\"best (\\u00b5s)\",\"y\":\"name\"}"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return input_error(text.replace(text.find(from), from.size(), to));
  };
  CHECK(has(with("best_us", "variant"), "does not name a unit; expected x_label"));
  CHECK(has(with("best_us", "wrong"), "expected one of"));
  CHECK(has(with("bars", "pie"), "kind is 'pie', expected line, scatter"));
  CHECK(has(with("\"T\"", "\"\""), "expected a title"));
  CHECK(has(with("\"y\": \"name\", ", ""), "a bars needs y"));
  CHECK(has(with("\"title\"", "\"tilte\""), "'tilte' is unknown"));
  CHECK(has(with("kernels", "wrong"), "not a dataset"));
  CHECK(markdown_of("```chart\n{\"kind\": \"bars\", \"title\": \"T\", \"data\": \"nothing\", \"y\": "
                    "\"variant\", \"x\": \"variant\", \"x_label\": \"number\"}\n```\n") == "");
}

TEST_CASE("an axis has the name that the data give it") {
  const std::string chart =
      "```chart\n{\"kind\": \"bars\", \"title\": \"T\", \"data\": \"kernels\", \"y\": \"variant\", "
      "\"y_name\": "
      "\"name\", \"x\": \"best_us\"}\n```\n";
  CHECK(has(html_of(chart), "\"y\":\"softmax\""));
  CHECK(has(html_of(chart, "<script>"), "\"y\":\"\\u003cscript"));
  CHECK(has(input_error(std::string(chart).replace(chart.find("\"name\""), 6, "\"wrong\"")),
            "expected one of"));
}

TEST_CASE("tables show units in their heads, leave empty columns out and link rows") {
  const std::string html = html_of("{{table kernels}}", "a name", {.linked = {"variant", "name"}});
  CHECK(has(html, "<caption>The kernels</caption>"));
  CHECK(has(html, ">best (µs)</th>"));
  CHECK(has(html, "<a href=\"variant?variant=1\">1</a>"));
  CHECK(has(html, "<a href=\"name?name=a%20name\">a name</a>"));
  const db::Table sparse{{"a", "b"},
                         {{std::monostate{}, std::int64_t{1}}, {std::monostate{}, std::int64_t{2}}}};
  CHECK(filled_columns(sparse) == std::vector<std::size_t>{1});
}

TEST_CASE("values read as people write them") {
  CHECK(shown(1234567.0, "x") == "1,234,567");
  CHECK(shown(32.6399989, "best_us") == "32.64");
  CHECK(shown(0.0000123, "error") == "1.230e-05");
  CHECK(shown(2.0, "x") == "2");
  CHECK(shown(std::int64_t{-1234567}, "count") == "-1,234,567");
  CHECK(shown(std::int64_t{1234567}, "variant") == "1234567");
  CHECK(shown(std::string("2026-11-22T05:24:48.131Z"), "started_at") == "2026-11-22 05:24");
  CHECK(shown(std::monostate{}, "x") == "–");
  CHECK(column_heading("score_us") == "score (µs)");
  CHECK(column_heading("busy_hours") == "busy (h)");
  CHECK(column_heading("template") == "template");
}

TEST_CASE("a quantity has the unit that suits its size") {
  CHECK(quantity_text(32741, "ns") == "32.74 µs");
  CHECK(quantity_text(0.07, "hours") == "4.2 min");
  CHECK(quantity_text(249.78, "seconds") == "4.16 min");
  CHECK(quantity_text(90, "seconds") == "90 s");
  CHECK(quantity_text(30, "hours") == "30 h");
  CHECK(quantity_text(168, "hours") == "7 d");
  CHECK(quantity_text(62914560, "bytes") == "60 MiB");
  CHECK(quantity_text(1234.5, "usd") == "US$ 1,234.50");
  CHECK(quantity_text(0.9999, "usd") == "US$ 1.00");
  CHECK(quantity_text(0.00314, "usd") == "US$ 0.0031");
  CHECK(quantity_text(-3, "usd") == "US$ -3.00");
  CHECK(quantity_text(87.25, "pct") == "87.2 %");
  CHECK(quantity_text(2.317, "ratio") == "2.32×");
  CHECK(quantity_text(60.09, "ratio") == "60.1×");
  CHECK(quantity_text(1234567, "count") == "1.235 million");
  CHECK(quantity_text(680, "count") == "680");
  CHECK_THROWS_WITH(quantity_text(1, "furlong"), Catch::Contains("the unit is 'furlong', expected ns, us"));
}

TEST_CASE("versions and sizes read as their makers write them") {
  CHECK(shown(std::int64_t{13000}, "driver_version") == "13.0");
  CHECK(shown(std::int64_t{12080}, "driver_version") == "12.8");
  CHECK(shown(std::int64_t{62914560}, "l2_bytes") == "60 MiB");
  CHECK(table_heading("l2_bytes") == "l2");
  CHECK(column_heading("l2_bytes") == "l2 (B)");
}

TEST_CASE("tiles, cards and folds show what their columns say") {
  const std::string sql =
      "-- A page\n-- @t Tiles\nSELECT 1;\n-- @c Cards\nSELECT 1;\n-- @f Rows\nSELECT 1;\n";
  const PageData data{
      {"t",
       {{"label", "value", "note", "tone"},
        {{std::string("hours"), std::string("<4>"), std::monostate{}, std::string("good")}}}},
      {"c",
       {{"title", "value", "history", "search", "status"},
        {{std::string("softmax"), std::string("2.3×"), std::string("[3, 2, 1]"), std::int64_t{7},
          std::string("failed")}}}},
      {"f", {{"name", "x"}, {{std::string("a"), 1.0}, {std::string("b"), 2.0}, {std::string("a"), 3.0}}}}};
  const Page page = parse_page("p", sql, "{{tiles t}}\n{{cards c}}\n{{fold f name}}\n");
  const auto pieces = expand(page, data);
  const std::string html = page_html(pieces, {.linked = {"search"}});
  CHECK(has(html,
            "<li class=\"tile good\"><span class=\"label\">hours</span> <strong>&lt;4&gt;</strong></li>"));
  CHECK(has(html, "<h3>softmax</h3>"));
  CHECK(has(html, "aria-label=\"from 3 to 1 in 2 steps\""));
  CHECK(has(html, "<dd><a href=\"search?search=7\">7</a></dd>"));
  CHECK(has(html, "<span class=\"badge bad\">failed</span>"));
  CHECK(has(html, "<summary>a <span class=\"note\">(2 rows)</span></summary>"));
  CHECK(has(html, "<summary>b <span class=\"note\">(1 row)</span></summary>"));
  const std::string text = page_markdown(pieces);
  CHECK(has(text, "- hours: **\\<4\\>**"));
  CHECK(has(text, "**softmax**: 2.3× █▅▁"));
  const auto refused = [&](const std::string& tag) { return has(input_error(tag), "is not a column here"); };
  CHECK(refused("{{tiles kernels}}"));
  CHECK(refused("{{cards kernels}}"));
  CHECK(refused("{{fold kernels wrong}}"));
}

TEST_CASE("a long name breaks where a part of it ends, and nothing else does") {
  CHECK(breakable("reduce_sum/reduce_sum_single_pass.cu") ==
        "reduce_<wbr>sum/<wbr>reduce_<wbr>sum_<wbr>single_<wbr>pass.cu");
  CHECK(breakable("m8192_n8192_k8192, m64_n64_k64") == "m8192_n8192_k8192, m64_n64_k64");
  CHECK(breakable("<a href=\"a_page?of_a_very_long_address=1\">a_b</a>") ==
        "<a href=\"a_page?of_a_very_long_address=1\">a_b</a>");
}

TEST_CASE("a sparkline is drawn of numbers alone") {
  for (const char* nothing : {"", "[]", "[1]", "[\"a\", null, 3]", "{\"a\": 1}", "no JSON"})
    CHECK(sparkline_svg(nothing).empty());
  CHECK(has(sparkline_svg("[1, null, 1e9, \"<script>\"]"), "in 1 steps"));
  CHECK(sparkline_text("[5, 5, 5]") == "▅▅▅");
}

TEST_CASE("every status of an evaluation has the tone that its fault says") {
  CHECK(status_tone("ok") == "good");
  CHECK(status_tone("incorrect") == "bad");
  CHECK(status_tone("infrastructure_error") == "warn");
  CHECK(status_tone("pruned").empty());
  CHECK(status_tone("<b>").empty());
}

TEST_CASE("what disturbs a reader is made visible") {
  CHECK(harmless("a\x1b[31mb", 100) == "a\uFFFD[31mb");
  CHECK(harmless("\u202Egnp.exe", 100) == "\uFFFDgnp.exe");
  CHECK(harmless("\xff\xc0\x80µ", 100) == "\uFFFD\uFFFD\uFFFDµ");
  CHECK(harmless(std::string_view("a\0b", 3), 100) == "a\uFFFDb");
  CHECK(harmless(std::string(50, 'x'), 10) == "xxxxxxxxxx … (40 more bytes)");
}

// What a model could answer, a file could be called or a compiler could say.
const std::vector<std::string> kHostile{
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://example.org/x.png)",
    "</script><script>alert(1)</script>",
    "\"onmouseover=\"alert(1)",
    "'; DROP TABLE variants; --",
    "{{kernels.name}}",
    "{{#nothing}}",
    "```chart\n{}\n```",
    "# heading",
    "| a | b |",
    "<http://example.org>",
    "&lt;script&gt;",
    "\\[x](y)",
    "1. one",
    "- item",
    "<!-- x",
    "**bold** _it_ `code` ~~no~~",
    "a\nb\n\n    code",
    "]]>",
    "<svg/onload=alert(1)>",
    "$(touch x)",
    "\xC2\x85\xE2\x80\xA8",
};

/// Nothing of the data became markup: with all text between tags removed, the same skeleton is left as for
/// a harmless name.
std::string skeleton(const std::string& html) {
  std::string out;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (inside) out += c;
    if (c == '>') inside = false;
  }
  return out;
}

TEST_CASE("hostile values stay text in every block") {
  const std::string page =
      "{{kernels.name}}\n\n- {{kernels.name}}\n\n{{#kernels}}\n| {{name}} "
      "|\n{{/kernels}}\n\n**{{kernels.name}}**\n\n{{table kernels}}\n";
  const std::string expected =
      skeleton(html_of(page, "harmless and rather long, longer than what is called short"));
  for (const std::string& name : kHostile) {
    CAPTURE(name);
    CHECK(skeleton(html_of(page, name + std::string(60, 'x'))) == expected);
    CHECK(html_of(page, name).find("alert(1)>") == std::string::npos);
  }
}

TEST_CASE("hostile values stay data in a chart") {
  const std::string page =
      "```chart\n{\"kind\": \"bars\", \"title\": \"T\", \"data\": \"kernels\", \"y\": \"name\", \"x\": "
      "\"best_us\"}\n```\n";
  for (const std::string& name : kHostile) {
    CAPTURE(name);
    const std::string html = html_of(page, name);
    const std::size_t begin = html.find("json\">") + 6, end = html.find("</script>");
    const std::string inside = html.substr(begin, end - begin);
    CHECK(inside.find_first_of("<>&") == std::string::npos);
    CHECK(parse_json(inside)["rows"].size() == 2);
    CHECK(html.find("</script>", end + 1) == std::string::npos);
  }
}

TEST_CASE("code and diffs are shown to the letter, and cut where they are endless") {
  const PageData data{
      {"kernels", {{"title", "text"}, {{std::string("k <1>"), std::string("-a < b\n+c\n@@ 1 @@\n")}}}},
      {"nothing", {{"title", "text"}, {{std::string("big"), std::string(10 << 20, 'x')}}}}};
  const Page page = parse_page("p", kSql, "{{diff kernels}}\n{{code nothing}}\n");
  const auto pieces = expand(page, data);
  const std::string html = page_html(pieces, {});
  CHECK(has(html, "<del>-a &lt; b</del>"));
  CHECK(has(html, "<ins>+c</ins>"));
  CHECK(has(html, "k &lt;1&gt;"));
  CHECK(html.size() < 300'000);
  CHECK(has(html, "more bytes)"));
  CHECK(has(page_markdown(pieces), "```diff\n-a < b"));
}

TEST_CASE("a fence in Markdown is longer than any in the text") {
  const PageData data{{"kernels", {{"title", "text"}, {{std::string("t"), std::string("a\n`````\nb")}}}},
                      {"nothing", {{"x"}, {}}}};
  CHECK(has(page_markdown(expand(parse_page("p", kSql, "{{code kernels}}"), data)), "``````cuda\na"));
}

TEST_CASE("no text of a page breaks its reader") {
  std::mt19937 random(7);
  const std::vector<std::string> parts{"{{",      "}}", "#",    "/",      "^",       "?",
                                       "kernels", ".",  "name", " ",      "\n",      "```chart\n",
                                       "```",     "{",  "}",    "table ", "\"kind\""};
  for (int i = 0; i < test::fuzz_iterations(3000); ++i) {
    std::string text;
    for (auto k = random() % 12; k > 0; --k) text += parts[random() % parts.size()];
    try {
      static_cast<void>(html_of(text));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
    }
  }
}

TEST_CASE("a self-contained document runs its own scripts only and fetches nothing") {
  const std::string html = self_contained_document("<T>", "<main></main>");
  CHECK(has(html, "<title>&lt;T&gt;</title>"));
  CHECK(has(html, "default-src 'none'; script-src 'sha256-"));
  CHECK_FALSE(has(html, "unsafe"));
  CHECK_FALSE(has(html, " src="));
  CHECK_FALSE(has(html, "<link"));
}

}  // namespace
}  // namespace ak::pages
