// SPDX-License-Identifier: Apache-2.0
// `alphakernel dashboard` as a user meets it: the real program on a database that a real run wrote.
#include <fmt/format.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <thread>

#include "core/text/file.h"
#include "core/text/json.h"
#include "db/sqlite.h"
#include "tests/serve/http_client.h"
#include "tests/serve/running_dashboard.h"
#include "tests/support/patience.h"
#include "tests/support/sandbox.h"

namespace ak::testing {
namespace {

using namespace std::chrono_literals;

/// Texts that would be something else where they are not escaped.
constexpr const char* kHostile =
    "</code></pre><script>alert(1)</script><img src=x onerror=alert(2)> [a](javascript:alert(3)) "
    "'; DROP TABLE variants; -- \" onmouseover=\"alert(4) \x1b[31m \xe2\x80\xae {{table variants}} &amp;";

void make_hostile(const Sandbox& box) {
  db::Connection connection(box.folder / "ak.db", db::OpenMode::create);
  for (const char* sql :
       {"UPDATE sources SET text = ?1 || char(10) || text", "UPDATE variants SET name = ?1 || id",
        "UPDATE evaluations SET message = ?1, status = 'incorrect', gate = ?1",
        "UPDATE searches SET reason = ?1, command = ?1, strategy = ?1",
        "UPDATE definitions SET name = ?1 || id", "UPDATE devices SET name = ?1 || id"}) {
    db::Statement statement(connection.get(), sql);
    statement.bind(1, kHostile).run();
  }
}

const std::vector<std::string>& page_paths() {
  static const std::vector<std::string> kPaths{"/",
                                               "/variants",
                                               "/variants?q=vector&status=compiled_only",
                                               "/failures",
                                               "/insights",
                                               "/search?search=1",
                                               "/variant?variant=1",
                                               "/definition?definition=vector_add_float32",
                                               "/device?device=sm_90a",
                                               "/call?call=1",
                                               "/sessions",
                                               "/sessions?session=1",
                                               "/pool",
                                               "/compare",
                                               "/compare?a=1&b=2",
                                               "/transcript?transcript=1",
                                               "/step?step=1"};
  return kPaths;
}

TEST_CASE("every page of a fresh run is shown, and what is asked wrongly is said") {
  Sandbox box;
  REQUIRE(box.generate({}).exit_code == 0);
  Dashboard dashboard(box);
  for (const std::string& path : page_paths()) {
    const HttpReply reply = dashboard.get(path);
    INFO(path << "\n" << reply.body.substr(0, 600));
    CHECK(reply.status == 200);
    CHECK_THAT(reply.body, Catch::StartsWith("<!DOCTYPE html>") && Catch::Contains("<main id=\"main\""));
  }
  CHECK_THAT(dashboard.get("/search?search=1&fragment=1").body, Catch::StartsWith("<main id=\"main\""));
  CHECK_THAT(dashboard.get("/variant?variant=1").body,
             Catch::Contains("vector_add") && Catch::Contains("__global__"));
  CHECK(dashboard.get("/search").status == 400);
  CHECK_THAT(dashboard.get("/search?search=one").body, Catch::Contains("search"));
  CHECK(dashboard.get("/search?search=one").status == 400);
  CHECK(dashboard.get("/searches").status == 404);
  const HttpReply moved = dashboard.get("/session?session=1");  // the former address
  CHECK(moved.status == 308);
  CHECK(moved.headers.at("location") == "/search?search=1");
  CHECK(dashboard.get("/session?session=//elsewhere").status == 404);
  CHECK(dashboard.get("/assets/dashboard.js").status == 200);
  CHECK(dashboard.get("/assets/plot.umd.min.js").status == 200);
}

TEST_CASE("texts of candidates, models and users show as text on every page") {
  Sandbox box;
  REQUIRE(box.generate({}).exit_code == 0);
  make_hostile(box);
  Dashboard dashboard(box);
  for (const std::string& path : page_paths()) {
    const std::string body = dashboard.get(path).body;
    INFO(path);
    for (const char* markup :
         {"<script>alert", "<img src=x", "href=\"javascript:", "\" onmouseover", "\x1b", "\xe2\x80\xae"})
      CHECK(body.find(markup) == std::string::npos);
  }
  CHECK_THAT(dashboard.get("/variant?variant=1").body, Catch::Contains("&lt;script&gt;alert(1)"));
}

TEST_CASE("a commit of another process reaches open pages, and the writer's log can be shortened") {
  Sandbox box;
  REQUIRE(box.generate({}).exit_code == 0);
  Dashboard dashboard(box);
  HttpClient stream = dashboard.stream();
  db::Connection writer(box.folder / "ak.db", db::OpenMode::create);
  // What is committed before its first look at the database is not a change to it.
  CHECK(in_the_end([&] {
    writer.execute("UPDATE searches SET reason = 'seen at once'");
    return stream.read_until("event: change", 2s).find("event: change") != std::string::npos;
  }));
  CHECK_THAT(dashboard.get("/search?search=1&fragment=1").body, Catch::Contains("seen at once"));
  // With a stream open and pages served before, nothing keeps the log.
  db::Statement checkpoint(writer.get(), "PRAGMA wal_checkpoint(TRUNCATE)");
  REQUIRE(checkpoint.step());
  CHECK(checkpoint.integer(0) == 0);
  CHECK(std::filesystem::file_size(box.folder / "ak.db-wal") == 0);
}

TEST_CASE("clients that send headers without end take no memory, and a visitor gets a page meanwhile") {
  Sandbox box;
  REQUIRE(box.generate({}).exit_code == 0);
  Dashboard dashboard(box);
  REQUIRE(dashboard.get("/").status == 200);
  const long before_kib = dashboard.peak_kib();
  const std::string lines = [] {
    std::string text;
    for (int i = 0; i < 8'000; ++i) text += fmt::format("X-{}: {}\r\n", i, std::string(100, 'a'));
    return text;
  }();
  std::vector<HttpClient> hostile;
  for (int i = 0; i < 200; ++i) {
    hostile.emplace_back(dashboard.port());
    hostile.back().send("GET / HTTP/1.1\r\n" + lines);  // nearly a megabyte, as far as the server takes it
  }
  CHECK(dashboard.get("/").status == 200);
  constexpr long kPagesKib = 64 << 10;  // of a second page, next to the first
  CHECK(dashboard.peak_kib() - before_kib < kPagesKib);
}

TEST_CASE("a page of the user's own is shown, and one that takes too long is given up with a sentence") {
  Sandbox box;
  REQUIRE(box.generate({}).exit_code == 0);
  std::filesystem::create_directory(box.folder / "dashboard");
  box.write("dashboard/endless.sql",
            "-- Endless\n--\n-- @n Numbers\nWITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            "SELECT count(*) AS n FROM c;\n");
  box.write("dashboard/endless.md", "{{table n}}\n");
  box.write("dashboard/mine.sql", "-- My own\n--\n-- @n Numbers\nSELECT 42 AS answer;\n");
  box.write("dashboard/mine.md", "The answer is {{n.answer}}.\n");
  Dashboard dashboard(box);
  CHECK_THAT(dashboard.get("/mine").body, Catch::Contains("The answer is 42.") && Catch::Contains("My own"));
  Dashboard impatient(box, {"--timeout", "0.3"});
  const HttpReply reply = impatient.get("/endless");
  CHECK(reply.status == 503);
  CHECK_THAT(reply.body, Catch::Contains("took longer than 0.3 s"));
  CHECK(impatient.get("/assets/dashboard.js").status ==
        200);  // which takes no query, however slow the machine
}

TEST_CASE("Ctrl-C and SIGTERM end it at once and cleanly, with pages open") {
  Sandbox box;
  REQUIRE(box.generate({}).exit_code == 0);
  for (const int signal_number : {SIGINT, SIGTERM}) {
    Dashboard dashboard(box);
    HttpClient stream = dashboard.stream();
    CHECK(dashboard.end(signal_number) == 0);
    CHECK(stream.is_closed());
  }
}

TEST_CASE("the pages of a file of an older schema are shown, and the file stays as it is") {
  Sandbox box;
  const std::string packed = AK_SOURCE_DIR "/experiments/results/2026-11-22_h200_llm_sessions/sessions.db.gz";
  REQUIRE(
      run_program({"/bin/sh", "-c", "gunzip -c '" + packed + "' > '" + (box.folder / "ak.db").string() + "'"})
          .exit_code == 0);
  const std::string before = read_file(box.folder / "ak.db");
  Dashboard dashboard(box);
  for (const char* path : {"/", "/search?search=1", "/definition?definition=softmax_bf16"}) {
    const HttpReply reply = dashboard.get(path);
    INFO(path);
    CHECK(reply.status == 200);
    CHECK_THAT(reply.body, Catch::Contains("softmax_bf16"));
  }
  CHECK((read_file(box.folder / "ak.db") == before));
}

TEST_CASE("what cannot be served is said at the start") {
  Sandbox box;
  const ProgramResult none = box.run({"dashboard"});
  CHECK(none.exit_code == code(ExitCode::database));
  CHECK_THAT(none.err, Catch::Contains("there is no database"));
  CHECK(box.run({"dashboard", "--port", "70000"}).exit_code == code(ExitCode::usage));
  CHECK_THAT(box.run({"dashboard", "--help"}).out, Catch::Contains("ssh -L"));
}

}  // namespace
}  // namespace ak::testing
