// SPDX-License-Identifier: Apache-2.0
#include "app/session/notification.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "core/error.h"
#include "core/text/file.h"
#include "tests/agent/llm/fake_server.h"
#include "tests/support/sandbox.h"

namespace ak::app {
namespace {

using agent::test::FakeServer;
using agent::test::response;
using testing::Sandbox;

NotifySettings settings_from(const std::string& text) {
  const Json json = parse_json(text);
  return notify_from(JsonReader(json, "notify"));
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(settings_from(text));
  } catch (const JsonInputError& error) {
    return error.what();
  }
  return "";
}

/// A notifier that keeps what it says of undelivered texts.
struct Trial {
  explicit Trial(NotifySettings settings)
      : notify(std::move(settings), [this](const std::string& line) { notes.push_back(line); }) {}
  std::vector<std::string> notes;
  Notifier notify;
};

TEST_CASE("a session names an address or a command, and the events it tells of") {
  CHECK(settings_from(R"({"url": "http://127.0.0.1:1/x"})").on.size() == 3);
  CHECK(settings_from(R"({"command": ["true"], "on": ["end"]})").on == std::vector{NotifyEvent::end});
  CHECK_THAT(error_of("{}"), Catch::Contains("notify: expected 'url' or 'command'"));
  CHECK_THAT(error_of(R"({"url": "http://localhost/", "command": ["true"]})"),
             Catch::Contains("one of them"));
  CHECK_THAT(error_of(R"({"url": "http://localhost/", "on": ["ende"]})"),
             Catch::Contains("did you mean 'end'"));
  CHECK_THAT(error_of(R"({"command": []})"), Catch::Contains("a list of"));
  CHECK_THAT(error_of(R"({"urls": "x"})"), Catch::Contains("urls"));
}

TEST_CASE("an address that cannot be used is refused before anything runs, without being shown") {
  for (const char* wrong : {"ftp://example.org/x", "http://example.org/hook"})
    CHECK_THROWS_WITH(check_notify({.url = wrong, .command = {}, .environment = {}, .on = {}}),
                      Catch::StartsWith("notify.url: "));
  unsetenv("AK_TEST_HOOK");
  CHECK_THROWS_WITH(check_notify({.url = "$AK_TEST_HOOK", .command = {}, .environment = {}, .on = {}}),
                    Catch::Contains("AK_TEST_HOOK is not set"));
}

TEST_CASE("a webhook gets the text and the facts as JSON, for the events that were asked for") {
  const FakeServer server({agent::test::Script{.pieces = {{response(200, "ok", "", "text/plain")}}}});
  Trial trial({.url = server.url() + "/hook", .command = {}, .environment = {}, .on = {NotifyEvent::end}});
  trial.notify(NotifyEvent::failure, "not sent", Json::object());
  trial.notify(NotifyEvent::end, "a \"text\" with µs", {{"session", 3}});
  REQUIRE(server.requests().size() == 1);
  CHECK_THAT(server.requests()[0], Catch::StartsWith("POST /hook "));
  const Json body = parse_json(agent::test::body_of(server.requests()[0]));
  CHECK(body["event"] == "end");
  CHECK(body["session"] == 3);
  CHECK(body["text"] == "a \"text\" with µs");
  CHECK(trial.notes.empty());
}

TEST_CASE("what was not delivered is a line without the address") {
  const FakeServer server(
      {agent::test::Script{.pieces = {{response(404, "no such hook: /hook/s3cr3t-t0ken-0123456789")}}}});
  setenv("AK_TEST_HOOK", (server.url() + "/hook/s3cr3t-t0ken-0123456789").c_str(), 1);
  Trial refused({.url = "$AK_TEST_HOOK", .command = {}, .environment = {}, .on = {NotifyEvent::end}});
  refused.notify(NotifyEvent::end, "text", Json::object());
  setenv("AK_TEST_HOOK", "http://127.0.0.1:1/hook/s3cr3t-t0ken-0123456789", 1);
  refused.notify(NotifyEvent::end, "text", Json::object());
  unsetenv("AK_TEST_HOOK");
  refused.notify(NotifyEvent::end, "text", Json::object());
  REQUIRE(refused.notes.size() == 3);
  CHECK_THAT(refused.notes[0], Catch::Contains("not delivered: the server answered with status 404"));
  CHECK_THAT(refused.notes[2], Catch::Contains("$AK_TEST_HOOK is not set"));
  for (const std::string& note : refused.notes) CHECK_THAT(note, !Catch::Contains("s3cr3t"));
}

TEST_CASE("a command gets the text on its standard input") {
  const testing::TemporaryFolder folder;
  const std::string file = (folder / "said.txt").string();
  Trial trial({.url = "", .command = {"tee", file}, .environment = {}, .on = {NotifyEvent::breakthrough}});
  trial.notify(NotifyEvent::breakthrough, "two\nlines", Json::object());
  CHECK(read_file(file) == "two\nlines\n");
  CHECK(trial.notes.empty());
  Trial missing({.url = "", .command = {"false"}, .environment = {}, .on = {NotifyEvent::end}});
  missing.notify(NotifyEvent::end, "text", Json::object());
  REQUIRE(missing.notes.size() == 1);
  CHECK_THAT(missing.notes[0], Catch::Contains("the command failed"));
}

TEST_CASE("a breakthrough is faster than the baseline and than all that was known, beyond the noise") {
  db::SessionSearch run;
  CHECK_FALSE(is_breakthrough(run, {}));
  run.stats.best_ns = 100;
  CHECK_FALSE(is_breakthrough(run, {}));
  run.stats.baseline_ns = 110;
  CHECK(is_breakthrough(run, {}));
  CHECK(is_breakthrough(run, 103));
  CHECK_FALSE(is_breakthrough(run, 101));
  run.stats.baseline_ns = 101;
  CHECK_FALSE(is_breakthrough(run, {}));
  run.stats.baseline_ns = 110;
  run.emulated = true;
  CHECK_FALSE(is_breakthrough(run, {}));
}

TEST_CASE("a session tells its end, keeps its address to itself, and is none the worse when no one listens") {
  Sandbox box;
  const FakeServer server({agent::test::Script{.pieces = {{response(200, "ok", "", "text/plain")}}}});
  const auto manifest = [&](const std::string& url) {
    return box.write("night.json", R"({"notify": {"url": ")" + url +
                                       R"("}, "runs": [{"algorithm": "vector_add", "arch": "sm_90a",
      "device": "none", "max_evaluations": 1}]})");
  };
  const auto start = [&](const std::string& url) {
    return box.run(
        {"session", "start", manifest(url), "--foreground", "--output-folder", box.folder.path().string()});
  };
  box.environment["AK_TEST_HOOK"] = server.url() + "/hook/s3cr3t-t0ken-0123456789";
  const testing::ProgramResult reported = start("$AK_TEST_HOOK");
  CAPTURE(reported.out, reported.err);
  REQUIRE(server.requests().size() == 1);
  const Json body = parse_json(agent::test::body_of(server.requests()[0]));
  CHECK(body["event"] == "end");
  CHECK(body["state"] == "finished");
  CHECK_THAT(body["text"].get<std::string>(),
             Catch::StartsWith("AlphaKernel session 1 (night): finished\nvector_add: finished"));
  CHECK_THAT(reported.out + reported.err, !Catch::Contains("s3cr3t"));
  CHECK_THAT(box.run({"session", "status", "--json", "--all"}).out, !Catch::Contains("notify"));

  box.environment["AK_TEST_HOOK"] = "http://127.0.0.1:1/hook/s3cr3t-t0ken-0123456789";
  const testing::ProgramResult alone = start("$AK_TEST_HOOK");
  CHECK(alone.exit_code == reported.exit_code);
  CHECK_THAT(alone.err,
             Catch::Contains("note: the notification was not delivered: ") && !Catch::Contains("s3cr3t"));
  CHECK_THAT(start("$AK_NO_SUCH_HOOK").err, Catch::Contains("AK_NO_SUCH_HOOK is not set"));
}

}  // namespace
}  // namespace ak::app
