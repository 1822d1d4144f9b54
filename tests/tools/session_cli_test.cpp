// SPDX-License-Identifier: Apache-2.0
// Overnight sessions as a user meets them: the whole program, the CPU device.
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/patience.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using Catch::Contains;

namespace {

struct Night {
  ProgramResult session(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "session");
    return box.run(arguments);
  }
  Json status() { return parse_json(session({"status", "--json"}).out); }
  std::string manifest(const std::string& text) const { return box.write("night.json", text); }
  /// None where there is no database yet.
  std::int64_t evaluated() { return std::atoll(box.query("SELECT count(*) FROM evaluations").c_str()); }

  Sandbox box;
};

/// The names in the first column of the row of the table on docs/sessions.md that begins with this name.
std::vector<std::string> documented_fields(const std::string& first) {
  const std::string page = read_file(AK_SOURCE_DIR "/docs/sessions.md");
  const std::size_t begin = page.find("| `" + first + "`", page.find("## What a session shows"));
  REQUIRE(begin != std::string::npos);
  const std::string row = page.substr(begin, page.find('\n', begin) - begin);
  std::vector<std::string> fields;
  for (std::size_t at = row.find('`'); at < row.find(" | ") && at != std::string::npos;) {
    const std::size_t end = row.find('`', at + 1);
    fields.push_back(row.substr(at + 1, end - at - 1));
    at = row.find('`', end + 1);
  }
  return fields;
}

std::vector<std::string> fields_of(const Json& object) {
  std::vector<std::string> fields;
  for (const auto& [name, value] : object.items()) fields.push_back(name);
  std::ranges::sort(fields);
  return fields;
}

TEST_CASE("the searches of a manifest run by priority, and a status says how each ended") {
  Night night;
  const ProgramResult result =
      night.session({"start", AK_SOURCE_DIR "/experiments/sessions/short_night.json", "--foreground",
                     "--output-folder", night.box.folder.path().string()});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.out, Contains("[1/2] copy") && Contains("[2/2] vector_add") && Contains("finished"));
  CHECK(night.box.exists("copy.cu"));
  CHECK(night.box.exists("vector_add.cu"));
  CHECK(night.box.exists("vector_add.result.json"));
  const Json status = night.status();
  CHECK(status["state"] == "finished");
  CHECK(status["exit_code"] == 0);
  REQUIRE(status["searches"].size() == 2);
  const Json& copy = status["searches"][0];
  CHECK(copy["name"] == "copy");
  CHECK(copy["state"] == "finished");
  CHECK(copy["reason"] == "evaluation budget");
  CHECK(copy["evaluations"] == 3);
  CHECK(status["record"]["searches"][0]["emulated"] == true);
  CHECK(copy["emulated_cost_us"].get<double>() > 0);
  CHECK(copy["speedup"].get<double>() > 0);
  CHECK(night.box.query("SELECT count(*) FROM journal") == "0\r\n");
  CHECK(night.box.query(
            "SELECT s.budgets ->> 'max_compilations', s.status FROM searches s JOIN session_searches r ON "
            "r.search_id = s.id ORDER BY r.position") == "1000,finished\r\n1000,finished\r\n");
  const ProgramResult text = night.session({"status", "1"});
  CHECK_THAT(text.out, Contains("2 of 2 searches done") && Contains("best emulated cost") &&
                           Contains("times as fast as") && Contains("evaluation budget"));
  // docs/sessions.md names what is printed, and no more.
  std::vector<std::string> documented;
  for (const char* row : {"session", "spent_s", "job", "rounds", "searches"})
    for (std::string& field : documented_fields(row)) documented.push_back(std::move(field));
  std::ranges::sort(documented);
  CHECK(fields_of(status["record"]) == documented);
  documented = documented_fields("name");
  std::ranges::sort(documented);
  CHECK(fields_of(status["record"]["searches"][0]) == documented);
  for (const std::string& field : documented_fields("record")) CHECK(status.contains(field));
  const ProgramResult again = night.session({"resume", "1"});
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.out, Contains("is finished"));
}

/// Two searches that take turns, each one evaluation at a time.
const char* const kTurns = R"({
  "budgets": {"max_evaluations": 90, "steer": true},
  "defaults": {"device": "emulator", "arch": "sm_80", "deterministic": true, "seed": 1},
  "runs": [{"algorithm": "vector_add", "shape": {"N": 1000}}, {"algorithm": "copy", "shape": {"N": 1000}}]})";

std::string rounds_of(Night& night) {
  return night.box.query(
      "SELECT o.number, r.name, o.evaluations, o.closes, o.why FROM session_rounds o JOIN session_searches r "
      "ON r.id = o.session_search_id ORDER BY o.number");
}

TEST_CASE("searches take turns for the evaluations of their session, also when it is killed between") {
  Night calm;
  const std::vector<std::string> start{"start", calm.manifest(kTurns), "--foreground", "--output-folder",
                                       calm.box.folder.path().string()};
  const ProgramResult result = calm.session(start);
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.out, Contains("round 1: vector_add gets 22 more evaluations: the least that it gets") &&
                             Contains("it promises most") && Contains("verdict: "));
  const Json status = calm.status();
  CHECK(status["state"] == "finished");
  const Json& full = status["record"];
  std::int64_t all = 0;
  for (const Json& search : full["searches"]) {
    CHECK(search["state"] == "finished");
    CHECK(search["evaluations"] >= 22);
    CHECK_FALSE(search["verdict"].is_null());
    all += search["evaluations"].get<std::int64_t>();
  }
  CHECK(all == 90);
  CHECK(full["rounds"].size() >= 5);
  CHECK_THAT(calm.session({"status"}).out, Contains("round 1") && Contains("ends with"));
  CHECK(calm.box.query("SELECT count(*) FROM searches WHERE status = 'finished' AND verdict IS NOT NULL") ==
        "2\r\n");
  CHECK(calm.box.query("SELECT count(*) FROM journal") == "0\r\n");
  // Nothing is evaluated twice by a pause.
  CHECK(calm.box.query("SELECT count(*) FROM (SELECT 1 FROM proposals WHERE arm NOT IN ('held_out', "
                       "'examination', 'final') "
                       "GROUP BY search_id, variant_id HAVING count(*) > 1)") == "0\r\n");

  Night night;
  std::vector<std::string> arguments{AK_PROGRAM,
                                     "session",
                                     "start",
                                     night.manifest(kTurns),
                                     "--foreground",
                                     "--output-folder",
                                     night.box.folder.path().string()};
  for (const std::int64_t at : {5, 30, 60}) {
    const pid_t run = start_program(arguments, night.box.environment, night.box.folder.path());
    REQUIRE(in_the_end([&] { return night.evaluated() >= at || has_ended(run); }));
    kill(run, SIGKILL);
    int state = 0;
    REQUIRE(waitpid(run, &state, 0) == run);
    CHECK(WIFSIGNALED(state));
    arguments = {AK_PROGRAM, "session", "resume", "1", "--foreground"};
  }
  const ProgramResult resumed = night.session({"resume", "1", "--foreground"});
  INFO(resumed.out << resumed.err);
  REQUIRE(resumed.exit_code == 0);
  CHECK(rounds_of(night) == rounds_of(calm));
  CHECK(night.box.query("SELECT name, evaluations, state FROM session_searches ORDER BY id") ==
        calm.box.query("SELECT name, evaluations, state FROM session_searches ORDER BY id"));
}

TEST_CASE("what is wrong with a session is reported before anything runs, and where") {
  Night night;
  struct Row {
    std::string manifest;
    ExitCode code;
    std::string words;
  };
  const std::string target = R"("device": "emulator", "arch": "sm_80")";
  const std::vector<Row> rows{
      {"{", ExitCode::bad_input, "not JSON"},
      {R"({"runs": []})", ExitCode::bad_input, "at least one run"},
      {R"({"run": []})", ExitCode::bad_input, "runs"},
      {R"({"runs": [{"algoritm": "softmax"}]})", ExitCode::bad_input, "did you mean 'algorithm'"},
      {R"({"runs": [{"params": {}}]})", ExitCode::bad_input, "expected 'algorithm' or 'problem'"},
      {R"({"runs": [{"algorithm": "copy", "max_evaluations": 0}]})", ExitCode::bad_input,
       "runs[0].max_evaluations: expected an integer from 1 to"},
      {R"({"defaults": {"seed": "x"}, "runs": [{"algorithm": "copy"}]})", ExitCode::bad_input,
       "defaults.seed"},
      {R"({"runs": [{"algorithm": "copy"}, {"algorithm": "copy"}]})", ExitCode::bad_input,
       "another run is called 'copy'"},
      {R"({"budgets": {"max_hours": 8}, "runs": [{"algorithm": "copy"}]})", ExitCode::bad_input,
       "max_minutes"},
      {R"({"budgets": {"steer": true}, "runs": [{"algorithm": "copy"}]})", ExitCode::bad_input,
       "give 'max_minutes'"},
      {R"({"runs": [{"algorithm": "sofmax"}]})", ExitCode::bad_input,
       "night.json: search 'sofmax': unknown algorithm 'sofmax'; did you mean 'softmax'"},
      {R"({"runs": [{"algorithm": "copy", "params": {"dtype": "float77"}, )" + target + "}]}",
       ExitCode::bad_input, "search 'copy'"},
      {R"({"runs": [{"algorithm": "copy", "model": "antropic:x", )" + target + "}]}", ExitCode::bad_input,
       "did you mean 'anthropic'"},
      {R"({"runs": [{"algorithm": "copy", "output": "a.cu", )" + target +
           R"(}, {"name": "two", "algorithm": "copy", "output": "a.cu", )" + target + "}]}",
       ExitCode::bad_input, "another search writes"},
      {R"({"runs": [{"algorithm": "copy", "device": "none", "arch": "sm_90a", "per_shape": true}]})",
       ExitCode::bad_input, "search 'copy': --per-shape compares times: it needs a device"},
      {R"({"budgets": {"min_free_mb": 1000000000}, "runs": [{"algorithm": "copy", )" + target + "}]}",
       ExitCode::database, "MB free"},
      {R"({"budgets": {"least_free_mb": 2000000000}, "runs": [{"algorithm": "copy", )" + target + "}]}",
       ExitCode::database, "a session needs 2000000000 (min_free_mb)"}};
  for (const Row& row : rows) {
    const ProgramResult result = night.session({"start", night.manifest(row.manifest)});
    INFO(row.manifest << "\n" << result.out << result.err);
    CHECK(result.exit_code == code(row.code));
    CHECK_THAT(result.err, Contains(row.words));
  }
  for (const char* folder : {"--output-folder", "-o"})
    CHECK_THAT(night.session({"start", "--algorithm", "sofmax", folder, "zz"}).err,
               Contains("did you mean 'softmax'"));
  CHECK_THAT(night.session({"start", "--algorithm", "copy", "--output", "k.cu", "--output-folder", "zz"}).err,
             Contains("give one of them"));
  CHECK_THAT(night.session({"start"}).err, Contains("name a manifest, or the search with --algorithm"));
  CHECK(night.session({"stat"}).exit_code == code(ExitCode::usage));
  CHECK_THAT(night.session({"stat"}).err, Contains("did you mean 'start'") || Contains("'status'"));
  CHECK_THAT(night.session({"status"}).err, Contains("there is no session yet"));
  CHECK_THAT(night.session({"resume", "7"}).err, Contains("there is no session 7"));
  CHECK_THAT(night.session({"--help"}).out, Contains("MANIFEST.json") && Contains("resume"));
}

TEST_CASE("a session runs apart from its terminal, is stopped cleanly, and continues where it was stopped") {
  Night night;
  const ProgramResult start = night.session(
      {"start", "--algorithm", "vector_add", "--shape", "N=200000", "--device", "emulator", "--arch", "sm_80",
       "--max-evaluations", "60", "--seed", "3", "--output", (night.box.folder / "k.cu").string()});
  INFO(start.out << start.err);
  REQUIRE(start.exit_code == 0);
  CHECK_THAT(start.out, Contains("session 1 runs") && Contains("session stop 1"));
  struct stat log = {};
  REQUIRE(::stat((night.box.folder / "ak.db-session-1.log").c_str(), &log) == 0);
  CHECK((log.st_mode & 0777) == 0600);
  CHECK(night.session({"resume", "1"}).exit_code == code(ExitCode::usage));  // it runs
  REQUIRE(in_the_end([&] { return night.evaluated() >= 5; }));
  const ProgramResult stop = night.session({"stop", "1"});
  INFO(stop.out << stop.err << read_file(night.box.folder / "ak.db-session-1.log"));
  REQUIRE(stop.exit_code == 0);
  CHECK(night.box.exists("k.cu"));
  Json status = night.status();
  REQUIRE(status["state"] == "stopped");
  CHECK(status["exit_code"] == code(ExitCode::interrupted));
  const std::int64_t before = night.evaluated();
  REQUIRE(before < 60);
  CHECK_THAT(night.session({"stop", "1"}).out, Contains("does not run"));

  REQUIRE(night.session({"resume", "1"}).exit_code == 0);
  const ProgramResult followed = night.session({"log", "1", "--follow"});
  INFO(followed.out);
  CHECK_THAT(followed.out, Contains("session 1: stopped") && Contains("session 1: finished"));
  REQUIRE(in_the_end([&] { return night.status()["state"] == "finished"; }));
  status = night.status();
  CHECK(status["exit_code"] == 0);
  CHECK(status["searches"][0]["evaluations"] == 60);
  CHECK(night.box.query("SELECT count(*), min(status) FROM searches") == "1,finished\r\n");
  CHECK(night.box.query(
            "SELECT count(*) FROM (SELECT 1 FROM proposals GROUP BY iteration HAVING count(*) > 1)") ==
        "0\r\n");
  CHECK(night.box.query("SELECT count(*) FROM (SELECT 1 FROM proposals WHERE arm NOT IN ('held_out', "
                        "'examination') GROUP BY "
                        "variant_id HAVING count(*) > 1)") == "0\r\n");
}

/// A model that answers without a kernel once `answer` is there, and again once `again` is.
std::string model_that_waits(const Night& night) {
  const std::string folder = night.box.folder.path().string();
  return night.box.write("model.sh",
                         "cd " + folder +
                             "; cat > /dev/null; wanted=answer; [ -e answered ] && wanted=again\n"
                             "while [ ! -e $wanted ]; do sleep 0.02; done; touch answered; echo none\n");
}

TEST_CASE("tokens of an answer without a kernel are in the status while the next one is awaited") {
  Night night;
  night.box.write("config.json",
                  Json{{"llm_commands",
                        {{"slow", {{"argv", {"sh", model_that_waits(night)}}, {"environment", {"PATH"}}}}}}}
                      .dump());
  const ProgramResult start =
      night.session({"start", "--algorithm", "vector_add", "--shape", "N=1000", "--device", "emulator",
                     "--arch", "sm_80", "--proposer", "llm", "--model", "command:slow", "--max-evaluations",
                     "3", "--output", (night.box.folder / "k.cu").string()});
  INFO(start.out << start.err);
  REQUIRE(start.exit_code == 0);
  CHECK(in_the_end([&] { return night.evaluated() >= 1; }));
  CHECK(night.status()["tokens"] == 0);
  night.box.write("answer", "");
  CHECK(in_the_end([&] { return night.status()["tokens"] > 0; }));
  CHECK(night.status()["state"] == "running");
  night.box.write("again", "");
  static_cast<void>(night.session({"stop", "1"}));
  CHECK(in_the_end([&] { return night.status()["state"] != "running"; }));
}

TEST_CASE("a session whose process was killed is called so, and resumes") {
  Night night;
  const std::vector<std::string> arguments{AK_PROGRAM,
                                           "session",
                                           "start",
                                           "--algorithm",
                                           "vector_add",
                                           "--shape",
                                           "N=1000",
                                           "--device",
                                           "emulator",
                                           "--arch",
                                           "sm_80",
                                           "--max-evaluations",
                                           "30",
                                           "--seed",
                                           "3",
                                           "--output",
                                           (night.box.folder / "k.cu").string(),
                                           "--foreground"};
  const pid_t run = start_program(arguments, night.box.environment, night.box.folder.path());
  REQUIRE(in_the_end([&] { return night.evaluated() >= 3 || has_ended(run); }));
  kill(run, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(run, &status, 0) == run);
  REQUIRE(WIFSIGNALED(status));
  CHECK(night.status()["state"] == "killed");
  CHECK(night.status()["searches"][0]["state"] == "killed");
  const ProgramResult resumed = night.session({"resume", "1", "--foreground"});
  INFO(resumed.out << resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK(night.status()["searches"][0]["evaluations"] == 30);
}

}  // namespace
