// SPDX-License-Identifier: Apache-2.0
// What the dashboard's pages show of recorded searches and of a build, asked for over HTTP as a browser does.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "db/sqlite.h"
#include "tests/serve/running_dashboard.h"
#include "tests/support/sandbox.h"

namespace ak::testing {
namespace {

/// A sandbox whose database is one of experiments/results, unpacked by `tool`.
void unpack(Sandbox& box, const std::string& tool, const std::string& packed) {
  const std::string command = fmt::format("{} '{}/experiments/results/{}' > '{}'", tool, AK_SOURCE_DIR,
                                          packed, (box.folder / "ak.db").string());
  REQUIRE(run_program({"/bin/sh", "-c", command}).exit_code == 0);
  REQUIRE(box.run({"db", "upgrade", (box.folder / "ak.db").string()}).exit_code == 0);
}

Sandbox& recorded_models() {
  static Sandbox box;
  static const bool unpacked =
      (unpack(box, "gunzip -c", "2026-11-22_h200_llm_sessions/sessions.db.gz"), true);
  static_cast<void>(unpacked);
  return box;
}

std::string body_of(const Dashboard& dashboard, const std::string& path) {
  const HttpReply reply = dashboard.get(path);
  INFO(path << "\n" << reply.body.substr(0, 600));
  CHECK(reply.status == 200);
  return reply.body;
}

TEST_CASE("the overview has tiles, and a line for every search of how its best score fell") {
  const Dashboard dashboard(recorded_models());
  const std::string page = body_of(dashboard, "/");
  CHECK_THAT(page, Catch::Contains("<li class=\"tile ") &&
                       Catch::Contains("evaluations</span> <strong>454</strong>") &&
                       Catch::Contains("passed</span> <strong>100 %</strong>"));
  CHECK_THAT(page, Catch::Contains("data-label=\"best history\"><svg class=\"spark\""));
}

TEST_CASE("a search shows its speed-up, its space under two tunables of choice, its lineage and its models") {
  const Dashboard dashboard(recorded_models());
  const std::string page = body_of(dashboard, "/search?search=1");
  CHECK_THAT(page, Catch::Contains("<strong>2.31×</strong>") && Catch::Contains("against naive"));
  CHECK_THAT(page, Catch::Contains("horizontal axis is THREADS, the vertical one ITEMS") &&
                       Catch::Contains("\"kind\":\"heatmap\""));
  CHECK_THAT(page, Catch::Contains("<select name=\"x\">") && Catch::Contains("<option value=\"RESIDENT\">"));
  CHECK_THAT(page, Catch::Contains("data-address=\"step?step=29\"") && Catch::Contains("llm_3.cu (improve)"));
  CHECK_THAT(page, Catch::Contains("Two other ways: (1) a persistent kernel"));
  const std::string chosen = body_of(dashboard, "/search?search=1&x=LOAD_FIRST&y=THREADS");
  CHECK_THAT(chosen, Catch::Contains("horizontal axis is LOAD_FIRST, the vertical one THREADS") &&
                         Catch::Contains("<option value=\"LOAD_FIRST\" selected>"));
}

TEST_CASE("a step of a lineage has the model's reason and the change, old and new side by side") {
  const Dashboard dashboard(recorded_models());
  const std::string step = body_of(dashboard, "/step?step=29&fragment=1");
  CHECK_THAT(step, Catch::StartsWith("<main id=\"main\""));
  CHECK_THAT(step,
             Catch::Contains("<p class=\"prose\">Two other ways") && Catch::Contains("<summary>cuda, "));
  CHECK_THAT(step, Catch::Contains("variant 18 to 29") && Catch::Contains("<td class=\"ins\"><code><ins>"));
}

TEST_CASE("a transcript has every answer of a search with its tokens and what it brought") {
  const Dashboard dashboard(recorded_models());
  const std::string page = body_of(dashboard, "/transcript?transcript=1");
  CHECK_THAT(page, Catch::Contains("calls</span> <strong>8</strong>") && Catch::Contains("3 answered"));
  CHECK_THAT(page, Catch::Contains("improve: command:scribe") && Catch::Contains("output 3,680 tokens") &&
                       Catch::Contains("variant <a href=\"variant?variant=29\">29</a>"));
}

TEST_CASE("two variants are compared by tunables, times, pairs, sources and counters") {
  const Dashboard dashboard(recorded_models());
  const std::string page = body_of(dashboard, "/compare?a=34&b=38");
  CHECK_THAT(page, Catch::Contains("1.52 % faster in pairs") && Catch::Contains("stall/barrier"));
  const std::string sources = body_of(dashboard, "/compare?a=29&b=18");
  CHECK_THAT(sources,
             Catch::Contains("figure class=\"code sides\"") && Catch::Contains("never timed alternately"));
  CHECK_THAT(body_of(dashboard, "/compare?a=1&b=999999"), Catch::Contains("not in the database"));
}

TEST_CASE("a variant has its place under the roof, its history, and commands to copy") {
  const Dashboard dashboard(recorded_models());
  const std::string page = body_of(dashboard, "/variant?variant=38");
  CHECK_THAT(page,
             Catch::Contains("\"kind\":\"roofline\"") && Catch::Contains("champions of its definition"));
  CHECK_THAT(page, Catch::Contains("alphakernel export 38 --output kernel/"));
  CHECK_THAT(page, Catch::Contains("<tr id=\"L1\" data-line=\"1\">"));
}

TEST_CASE("a link by uid leads to the row in whatever file it is, and is refused where it is none") {
  const Dashboard dashboard(recorded_models());
  db::Connection connection(recorded_models().folder / "ak.db", db::OpenMode::read_only);
  db::Statement statement(connection.get(), "SELECT hex(uid) FROM variants WHERE id = 38");
  REQUIRE(statement.step());
  const std::string uid = statement.text(0);
  const HttpReply moved = dashboard.get("/variant?uid=" + uid);
  CHECK(moved.status == 303);
  CHECK(moved.headers.at("location") == "/variant?variant=38");
  CHECK_THAT(body_of(dashboard, "/variant?variant=38"), Catch::Contains("variant?uid=" + uid));
  CHECK(dashboard.get("/variant?uid=" + std::string(32, '0')).status == 404);
  CHECK(dashboard.get("/variant?uid=00'--").status == 400);
}

TEST_CASE("a session of the recorded week shows its searches and the commands that stop and resume one") {
  Sandbox box;
  unpack(box, "xz -dc", "2026-11-22_h200_week/week.db.xz");
  const Dashboard dashboard(box);
  CHECK_THAT(body_of(dashboard, "/sessions"), Catch::Contains("8 of 8") && Catch::Contains("h200_week") &&
                                                  Catch::Contains("alphakernel session status 1 --watch"));
  db::Connection(box.folder / "ak.db", db::OpenMode::create)
      .execute("UPDATE sessions SET status = 'stopped'");
  CHECK_THAT(body_of(dashboard, "/sessions"), Catch::Contains("alphakernel session resume 1"));
}

TEST_CASE("a session that shares out by headroom shows its rounds, and a search its verdict") {
  Sandbox box;
  unpack(box, "xz -dc", "2026-11-22_h200_week/week.db.xz");
  const Dashboard dashboard(box);
  CHECK_THAT(body_of(dashboard, "/sessions"), !Catch::Contains("Who went on"));
  CHECK_THAT(body_of(dashboard, "/search?search=1"), !Catch::Contains("Verdict: "));
  db::Connection connection(box.folder / "ak.db", db::OpenMode::create);
  connection.execute(
      "INSERT INTO session_rounds (session_search_id, number, minutes, closes, why) SELECT min(id), 1, 30, "
      "0, "
      "'the limit leaves <38> % of its time' FROM session_searches");
  connection.execute("UPDATE searches SET verdict = 'stuck', headroom = 0.38 WHERE id = 1");
  CHECK_THAT(body_of(dashboard, "/sessions"), Catch::Contains("Who went on in which round, and why") &&
                                                  Catch::Contains("leaves &lt;38&gt; %") &&
                                                  Catch::Contains(">stuck<"));
  CHECK_THAT(body_of(dashboard, "/search?search=1"),
             Catch::Contains("Verdict: stuck, at most 38 % of its time is left to gain."));
}

TEST_CASE("what models expected of their changes stands next to what came of it, by model and by change") {
  Sandbox box;
  unpack(box, "gunzip -c", "2026-11-22_h200_llm_sessions/sessions.db.gz");
  const Dashboard dashboard(box);
  CHECK_THAT(body_of(dashboard, "/insights"), Catch::Contains("No model has said what it expects"));
  CHECK_THAT(body_of(dashboard, "/search?search=1"), !Catch::Contains("What models expected"));
  db::Connection(box.folder / "ak.db", db::OpenMode::create)
      .execute(
          "INSERT INTO hypotheses (uid, proposal_id, change, reason, expected_speedup, measured_speedup) "
          "SELECT randomblob(16), p.id, 'wider <loads>', 'half of each sector is not used', 3, 1.5 FROM "
          "proposals p JOIN evaluations e ON e.proposal_id = p.id WHERE p.search_id = 1 AND "
          "p.llm_call_id IS NOT NULL AND e.status = 'ok' ORDER BY p.id LIMIT 1");
  const auto shows = [](const std::string& page) {
    CHECK_THAT(page, Catch::Contains("wider &lt;loads&gt;") && Catch::Contains(">partly<"));
  };
  const std::string page = body_of(dashboard, "/insights");
  shows(page);
  CHECK_THAT(page, Catch::Contains("data-label=\"measured over expected\">0.50×") &&
                       Catch::Contains("Measured over expected speedup") &&
                       !Catch::Contains("No model has said what it expects"));
  CHECK_THAT(body_of(dashboard, "/insights?q=tiles"), !Catch::Contains("wider &lt;loads&gt;"));
  shows(body_of(dashboard, "/search?search=1"));
}

/// A load of the PTX between a <span> that names the line and its end.
bool has_load_with_its_line(std::string_view page) {
  constexpr std::string_view kSpan = "<span data-line=\"";
  for (std::size_t at = page.find(kSpan); at != std::string_view::npos; at = page.find(kSpan, at + 1)) {
    const std::string_view span = page.substr(at, page.find("</span>", at) - at);
    if (span.find("ld.global") != std::string_view::npos) return true;
  }
  return false;
}

TEST_CASE(
    "next to a source is the PTX that the build cache has, with the lines it came from and stalls of "
    "lines") {
  Sandbox box;
  box.use_own_build_cache();
  REQUIRE(box.generate({}).exit_code == 0);
  const Dashboard dashboard(box);
  const std::string page = body_of(dashboard, "/variant?variant=1");
  CHECK_THAT(page, Catch::Contains("<div class=\"beside two\">") && Catch::Contains("PTX of "));
  CHECK(has_load_with_its_line(page));
  db::Connection(box.folder / "ak.db", db::OpenMode::create)
      .execute(
          "INSERT INTO metrics (uid, evaluation_id, workload_id, kernel, name, unit, value) "
          "SELECT randomblob(16), (SELECT max(id) FROM evaluations WHERE variant_id = 1), (SELECT min(id) "
          "FROM workloads), "
          "'k', column1, 'samples', column2 FROM (VALUES ('line/30/barrier', 30), ('line/30/wait', 10), "
          "('line/31/wait', 60))");
  CHECK_THAT(body_of(dashboard, "/variant?variant=1"),
             Catch::Contains("<tr id=\"L30\" data-line=\"30\" class=\"marked\">") &&
                 Catch::Contains("40.0 %<svg") && Catch::Contains("barrier 75 %, wait 25 %"));
  std::filesystem::remove_all(box.folder / "cache");
  CHECK_THAT(body_of(dashboard, "/variant?variant=1"), !Catch::Contains("beside two"));
}

}  // namespace
}  // namespace ak::testing
