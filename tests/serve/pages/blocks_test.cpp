// SPDX-License-Identifier: Apache-2.0
// Blocks of pages: trees, transcripts, sources next to what they became, and texts side by side.
#include <catch2/catch.hpp>

#include "core/error.h"
#include "core/text/line_diff.h"
#include "serve/pages/page_html.h"
#include "serve/pages/page_markdown.h"

namespace ak::pages {
namespace {

constexpr const char* kBlockSql =
    "-- A page\n-- x: Across (text)\n--\n-- @rows The rows\nSELECT 1;\n-- @marks The marks\nSELECT 1;\n"
    "-- @assembly What was compiled\nSELECT 1;\n-- @x Tunables\nSELECT 1;\n";

std::string block_html(const std::string& tag, PageData data) {
  for (const char* name : {"rows", "marks", "assembly", "x"})
    data.try_emplace(name, db::Table{{"title", "text", "line", "share_pct", "note"}, {}});
  const Page page = parse_page("p", kBlockSql, tag + "\n");
  const db::QueryValues values{{"x", std::string("BM")}};
  return page_html(expand(page, data),
                   {.linked = {"variant"}, .parameters = page.parameters, .values = &values});
}

bool shows(const std::string& html, const std::string& part) { return html.find(part) != std::string::npos; }

db::Cell number(std::int64_t value) { return value; }
db::Cell text(const char* value) { return std::string(value); }
const db::Cell kNothing;

TEST_CASE("a tree nests children, opens pages of ours alone, and ends where rows go in circles") {
  const db::Table rows{
      {"id", "parent", "label", "status", "address", "best_us", "variant"},
      {{number(1), kNothing, text("root"), text("ok"), kNothing, 2.5, number(7)},
       {number(2), number(1), text("<child>"), text("incorrect"), text("step?step=2"), kNothing, number(8)},
       {number(3), number(2), text("far"), kNothing, text("javascript:alert(1)"), kNothing, number(9)},
       {number(4), number(5), text("circle a"), kNothing, text("//elsewhere"), kNothing, number(1)},
       {number(5), number(4), text("circle b"), kNothing, kNothing, kNothing, number(2)}}};
  const std::string html = block_html("{{tree rows}}", {{"rows", rows}});
  CHECK(shows(html, "<ul class=\"tree\" aria-label=\"The rows\">"));
  CHECK(shows(html,
              "<span class=\"badge good\">ok</span> <span class=\"label\">root</span> "
              "<span class=\"fact\">best 2.5 µs</span>"));
  CHECK(shows(html,
              "</div><ul>\n<li><div class=\"node\"><span class=\"badge bad\">incorrect</span> <span "
              "class=\"label\">&lt;child&gt;"));
  CHECK(shows(html, "<a href=\"variant?variant=8\">8</a>"));
  CHECK(shows(html, "data-address=\"step?step=2\""));
  CHECK_FALSE(shows(html, "javascript:"));
  CHECK_FALSE(shows(html, "elsewhere"));
  for (const char* once : {"circle a", "circle b"}) CHECK(html.find(once) == html.rfind(once));
}

TEST_CASE("a chain of thousands of steps stays a tree that a browser shows") {
  db::Table rows{{"id", "parent", "label"}, {}};
  for (std::int64_t i = 1; i <= 5'000; ++i) rows.rows.push_back({number(i), number(i - 1), text("step")});
  const std::string html = block_html("{{tree rows}}", {{"rows", rows}});
  std::size_t lists = 0;
  for (std::size_t at = html.find("<ul>"); at != std::string::npos; at = html.find("<ul>", at + 1)) ++lists;
  CHECK(lists < 20);  // browsers nest a few hundred elements
}

TEST_CASE("an answer is prose, and its code is folded away") {
  const db::Table rows{{"title", "text", "status", "cost_usd", "variant"},
                       {{text("improve"), text("First <b>\n\n```cuda\nint a;\nint b;\n```\nthen more\n"),
                         text("ok"), 0.25, number(3)},
                        {text("cut off"), text("```\nint c;"), text("malformed"), kNothing, kNothing}}};
  const std::string html = block_html("{{transcript rows}}", {{"rows", rows}});
  CHECK(shows(html, "<p class=\"prose\">First &lt;b&gt;"));
  CHECK(shows(html, "<summary>cuda, 2 lines</summary><pre tabindex=\"0\"><code>int a;\nint b;\n</code>"));
  CHECK(shows(html, "<p class=\"prose\">then more"));
  CHECK(shows(html, "<span class=\"fact\">cost 0.25 US$</span>"));
  CHECK(shows(html, "<summary>code, 0 lines</summary><pre tabindex=\"0\"><code>int c;</code>"));
}

TEST_CASE("what was removed is next to what was added, with the numbers of both sides") {
  std::string before, after;
  for (int i = 1; i <= 20; ++i) before += "line " + std::to_string(i) + "\n";
  after = before;
  after.replace(after.find("line 12\n"), 8, "line twelve\nand <more>\n");
  const db::Table rows{{"title", "text"}, {{text("a to b"), unified_diff(before, after, 100)}}};
  const std::string html = block_html("{{sides rows}}", {{"rows", rows}});
  CHECK(shows(html,
              "<td class=\"at\">12</td><td class=\"del\"><code><del>line 12</del></code></td>"
              "<td class=\"at\">12</td><td class=\"ins\"><code><ins>line twelve</ins></code></td>"));
  CHECK(shows(html,
              "<td class=\"none\"></td><td class=\"none\"></td><td class=\"at\">13</td><td class=\"ins\">"
              "<code><ins>and &lt;more&gt;</ins></code></td>"));
  CHECK(shows(html,
              "<td class=\"at\">13</td><td class=\"\"><code>line 13</code></td><td class=\"at\">14</td>"));
  CHECK(block_html("{{sides rows}}", {{"rows", {{"title", "text"}, {{text("same"), text("")}}}}}).empty());
}

TEST_CASE(
    "a source has marks at its lines, and next to it the instructions with the lines that they came from") {
  const db::Table rows{{"title", "text"}, {{text("k.cu"), text("a <b>\nb\nc\n")}}};
  const db::Table marks{{"line", "share_pct", "note"},
                        {{number(2), 37.25, text("barrier 90 %")},
                         {number(2), kNothing, text("error: <x>")},
                         {number(0), 60.0, text("nowhere")},
                         {9e300, 1.0, kNothing}}};
  const db::Table assembly{
      {"title", "text"},
      {{text("PTX of k"),
        text(".visible .entry k(\n)\n{\n\t.loc\t1 2 5\n\tadd.s32 %r1;\n\t.loc 2 77 1, function_name a, "
             "inlined_at 1 3 9\n\tmul.f32 %f1;\n\t.loc 2 78 1\n\tret;\n}\n")}}};
  const std::string html = block_html("{{listing rows marks assembly}}",
                                      {{"rows", rows}, {"marks", marks}, {"assembly", assembly}});
  CHECK(shows(html,
              "<tr id=\"L1\" data-line=\"1\"><td class=\"at\">1</td><td class=\"samples\"></td><td><code>a "
              "&lt;b&gt;"));
  CHECK(shows(html,
              "<tr id=\"L2\" data-line=\"2\" class=\"marked\"><td class=\"at\"><a href=\"#L2\">2</a></td>"));
  CHECK(shows(html, "37.2 %<svg") != shows(html, "37.3 %<svg"));
  CHECK(shows(html, "<span class=\"note\">barrier 90 %</span><span class=\"note\">error: &lt;x&gt;</span>"));
  CHECK_FALSE(shows(html, "nowhere"));
  CHECK(shows(html, "<span data-line=\"2\">\tadd.s32 %r1;</span>"));
  CHECK(shows(html, "<span data-line=\"3\">\tmul.f32 %f1;</span>"));  // inlined at line 3
  CHECK(shows(html, "\n\tret;\n"));                                   // of a header
  CHECK_FALSE(shows(html, ".loc"));
  CHECK_FALSE(shows(block_html("{{listing rows}}", {{"rows", rows}}), "assembly"));
}

TEST_CASE("a form offers the values of the dataset of that name, and keeps what is given") {
  const db::Table choices{{"key"}, {{text("BN")}, {text("\"><script>")}, {text("a\x1b[31m")}, {text("BN")}}};
  const std::string html = block_html("{{form}}", {{"x", choices}});
  CHECK(shows(html, "<select name=\"x\"><option value=\"\"></option>"));
  CHECK(shows(html, "<option value=\"BM\" selected>BM</option><option value=\"BN\">BN</option>"));
  CHECK(shows(html, "<option value=\"&quot;&gt;&lt;script&gt;\">"));
  CHECK_FALSE(shows(html, "<script>"));
  CHECK_FALSE(shows(html, "[31m"));
}

TEST_CASE("blocks say what they need, and are tables in Markdown") {
  const auto refused = [](const std::string& tag) {
    try {
      static_cast<void>(block_html(tag, {}));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(shows(refused("{{tree rows}}"), "'id' is not a column here"));
  CHECK(shows(refused("{{tree nothing}}"), "'nothing' is not a dataset"));
  CHECK(shows(refused("{{sides rows rows}}"), "takes 1 datasets at most"));
  const PageData data{
      {"rows", {{"title", "text"}, {{text("a"), text("b")}}}}, {"marks", {}}, {"assembly", {}}, {"x", {}}};
  CHECK(shows(page_markdown(expand(parse_page("p", kBlockSql, "{{transcript rows}}"), data)), "| a | b |"));
}

}  // namespace
}  // namespace ak::pages
