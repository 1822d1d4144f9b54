// SPDX-License-Identifier: Apache-2.0
// A mailbox as who answers meets it: sessions that are suspended, killed and copied, the CPU device, the whole program.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "core/text/file.h"
#include "core/text/json.h"
#include "db/sqlite.h"
#include "tests/support/patience.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

std::string sample(const std::string& name) { return AK_SOURCE_DIR "/tests/tools/llm/" + name + ".md"; }

/// A search that asks a mailbox, with everything that it has in one folder.
struct Asked {
  Asked() { fs::create_directories(folder()); }

  [[nodiscard]] fs::path folder() const { return box.folder / "work"; }
  [[nodiscard]] std::vector<std::string> start(const std::string& wait,
                                               const std::string& evaluations) const {
    return {"/usr/bin/env",
            "-C",
            folder().string(),
            AK_PROGRAM,
            "session",
            "start",
            "--foreground",
            "--algorithm",
            "vector_add",
            "--shape",
            "N=1000",
            "--device",
            "emulator",
            "--arch",
            "sm_80",
            "--deterministic",
            "--seed",
            "5",
            "--proposer",
            "llm",
            "--model",
            "mailbox:" + (folder() / "box").string(),
            "--mailbox-wait",
            wait,
            "--max-evaluations",
            evaluations,
            "--db",
            "ak.db",
            "--output",
            (folder() / "k.cu").string()};
  }
  /// Of `resume`, in this folder.
  [[nodiscard]] static std::vector<std::string> resume(const fs::path& place) {
    return {AK_PROGRAM, "session",     "resume", "1", "--foreground", "--db", (place / "ak.db").string(),
            "--folder", place.string()};
  }
  ProgramResult run(const std::vector<std::string>& argv) const { return run_program(argv, box.environment); }
  ProgramResult mailbox(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "mailbox");
    return box.run(arguments);
  }
  ProgramResult answer(const fs::path& place, int number, const std::string& name) {
    return mailbox({"answer", sample(name), "--by", "a person", "--question",
                    (place / "box" / ("000" + std::to_string(number))).string()});
  }
  std::string query(const fs::path& place, const std::string& sql) {
    const std::string csv =
        box.run({"query", "--db", (place / "ak.db").string(), "--format", "csv", sql}).out;
    return csv.substr(std::min(csv.size(), csv.find('\n') + 1));
  }
  static Json about(const fs::path& place, int number) {
    return parse_json(read_file(place / "box" / ("000" + std::to_string(number) + ".json")));
  }

  Sandbox box;
};

}  // namespace

TEST_CASE(
    "a session that only waits for answers is suspended, and goes on with them where it was copied to") {
  Asked asked;
  const ProgramResult first = asked.run(asked.start("session", "5"));
  INFO(first.out << first.err);
  REQUIRE(first.exit_code == code(ExitCode::suspended));
  CHECK_THAT(first.out, Contains("suspended") && Contains("0001-"));
  const ProgramResult listed = asked.mailbox({"list", (asked.folder() / "box").string()});
  CHECK_THAT(listed.out, Contains("open") && Contains("improve") && Contains("sm_80"));
  const ProgramResult shown = asked.mailbox({"show", (asked.folder() / "box" / "0001").string()});
  CHECK_THAT(shown.out,
             Contains("vector_add.cu") && Contains("0001.answer.md") && Contains("/* alphakernel"));
  CHECK(asked.query(asked.folder(), "SELECT status FROM llm_calls") == "sent\r\n");
  CHECK(asked.query(asked.folder(), "SELECT state, exit_code FROM session_searches") == "suspended,10\r\n");

  // A resume without an answer asks nothing new.
  CHECK(asked.run(Asked::resume(asked.folder())).exit_code == code(ExitCode::suspended));
  CHECK_FALSE(fs::exists(asked.folder() / "box" / "0002.json"));

  REQUIRE(asked.answer(asked.folder(), 1, "1_compile_error").exit_code == 0);
  const fs::path other = asked.box.folder / "another machine";
  fs::copy(asked.folder(), other, fs::copy_options::recursive);
  fs::remove_all(asked.folder());
  const ProgramResult second = asked.run(Asked::resume(other));
  INFO(second.out << second.err);
  REQUIRE(second.exit_code == code(ExitCode::suspended));
  CHECK_THAT(read_file(other / "box" / "0002.question.md"),
             Contains("identifier \"count\" is undefined") && Contains("It does not work"));
  CHECK(Asked::about(other, 1)["state"] == "answered");
  CHECK(Asked::about(other, 2)["arm"] == "repair");
  CHECK(asked.query(other,
                    "SELECT arm, status, tokens_reported, provider_request LIKE '% by a person' FROM "
                    "llm_calls") == "improve,ok,0,1\r\nrepair,sent,,\r\n");

  REQUIRE(asked.answer(other, 2, "4_fast").exit_code == 0);
  const ProgramResult third = asked.run(Asked::resume(other));
  REQUIRE(third.exit_code == code(ExitCode::suspended));
  REQUIRE(asked.answer(other, 3, "3_slow").exit_code == 0);
  REQUIRE(asked.run(Asked::resume(other)).exit_code == code(ExitCode::suspended));
  REQUIRE(asked.answer(other, 4, "1_compile_error").exit_code == 0);
  const ProgramResult last = asked.run(Asked::resume(other));
  INFO(last.out << last.err);
  CHECK(last.exit_code == 0);
  CHECK_FALSE(fs::exists(other / "box" / "0005.json"));  // no evaluation was left for its answer
  CHECK(asked.query(other, "SELECT DISTINCT model FROM llm_calls") ==
        "mailbox:" + (other / "box").string() + "\r\n");
  const std::string evaluated = asked.query(
      other,
      "SELECT group_concat(status, ' ') FROM (SELECT e.status FROM evaluations e JOIN proposals p ON p.id = "
      "e.proposal_id WHERE p.llm_call_id IS NOT NULL ORDER BY e.id)");
  CHECK(evaluated == "compile_error ok ok compile_error\r\n");
  CHECK(fs::exists(other / "k.cu"));
}

TEST_CASE("a question about a wrong kernel says where it is right, where not, and what its inputs were") {
  Asked asked;
  REQUIRE(asked.run(asked.start("session", "5")).exit_code == code(ExitCode::suspended));
  for (const auto& [number, answer] : {std::pair(1, "1_compile_error"), std::pair(2, "2_wrong_result")}) {
    REQUIRE(asked.answer(asked.folder(), number, answer).exit_code == 0);
    REQUIRE(asked.run(Asked::resume(asked.folder())).exit_code == code(ExitCode::suspended));
  }
  const std::string question = read_file(asked.folder() / "box" / "0003.question.md");
  INFO(question);
  CHECK_THAT(question, Contains("Checks ended at N=1000 (N=1000), with inputs "));
}

TEST_CASE("a session that was killed while it waited takes the answer that came meanwhile") {
  Asked asked;
  const pid_t run = start_program(asked.start("60m", "4"), asked.box.environment, asked.box.folder.path());
  const fs::path question = asked.folder() / "box" / "0001.question.md";
  REQUIRE(in_the_end([&] { return fs::exists(question) || has_ended(run); }));
  kill(run, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(run, &status, 0) == run);
  INFO(read_file(asked.box.folder / "err"));
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(asked.answer(asked.folder(), 1, "4_fast").exit_code == 0);

  // Killed again, at any instant while the answer is taken.
  const pid_t again =
      start_program(Asked::resume(asked.folder()), asked.box.environment, asked.box.folder.path());
  REQUIRE(
      in_the_end([&] { return Asked::about(asked.folder(), 1)["state"] == "answered" || has_ended(again); }));
  kill(again, SIGKILL);
  REQUIRE(waitpid(again, &status, 0) == again);

  std::vector<std::string> resume = Asked::resume(asked.folder());
  const pid_t third = start_program(resume, asked.box.environment, asked.box.folder.path());
  const fs::path next = asked.folder() / "box" / "0002.question.md";
  REQUIRE(in_the_end([&] { return fs::exists(next) || has_ended(third); }));
  REQUIRE_FALSE(has_ended(third));
  kill(third, SIGTERM);  // stopped: the question stays
  REQUIRE(waitpid(third, &status, 0) == third);
  CHECK(WEXITSTATUS(status) == code(ExitCode::interrupted));
  CHECK(fs::exists(next));
  CHECK(asked.query(asked.folder(), "SELECT count(*), sum(status = 'ok') FROM llm_calls") == "2,1\r\n");
  CHECK(asked.query(asked.folder(),
                    "SELECT count(*) FROM proposals p JOIN evaluations e ON e.proposal_id = p.id "
                    "WHERE p.llm_call_id = 1 AND e.status = 'ok'") == "1\r\n");
}

TEST_CASE("a hybrid search goes on meanwhile, and comes to its end without an answer") {
  Asked asked;
  std::vector<std::string> hybrid = asked.start("60m", "12");
  std::erase(hybrid, "--deterministic");
  *(std::ranges::find(hybrid, "llm")) = "hybrid";
  hybrid.insert(hybrid.end(), {"--target-performance", "1000ms"});  // reached by the first kernel
  const ProgramResult result = asked.run(hybrid);
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const ProgramResult second = asked.run([&] {
    std::vector<std::string> patient = asked.start("session", "12");
    std::erase(patient, "--deterministic");
    *(std::ranges::find(patient, "llm")) = "hybrid";
    return patient;
  }());
  INFO(second.out << second.err);
  REQUIRE(second.exit_code == code(ExitCode::suspended));
  CHECK(std::stoi(asked.query(asked.folder(),
                              "SELECT evaluations FROM session_searches WHERE session_id = 2")) > 3);
}

TEST_CASE("a draft is checked as the search will, and what cannot be an answer is not given") {
  Asked asked;
  REQUIRE(asked.run(asked.start("session", "3")).exit_code == code(ExitCode::suspended));
  const std::string place = (asked.folder() / "box" / "0001").string();
  const ProgramResult good = asked.mailbox({"check", sample("4_fast"), "--question", place, "--json"});
  INFO(good.out << good.err);
  CHECK(good.exit_code == 0);
  CHECK(parse_json(good.out)["candidates"][0]["passed"] == true);
  CHECK(parse_json(good.out)["candidates"][0]["hypothesis"]["speedup"] == 4);
  const ProgramResult broken = asked.mailbox({"check", sample("1_compile_error"), "--question", place});
  CHECK(broken.exit_code == code(ExitCode::no_kernel));
  CHECK_THAT(broken.out, Contains("identifier \"count\" is undefined"));
  CHECK(asked.mailbox({"check", sample("2_wrong_result"), "--question", place}).exit_code ==
        code(ExitCode::no_kernel));

  struct Row {
    std::string name, text, words;
  };
  const std::vector<Row> rows{
      {"empty", "", "it is empty"},
      {"talk", "I would try larger blocks.", "the search cannot read this"},
      {"another", "answers: 0007-00000000\n" + read_file(sample("4_fast")), "answers 0007-00000000"}};
  for (const Row& row : rows) {
    INFO(row.name);
    const std::string draft = (asked.folder() / "box" / ("0001." + row.name + ".md")).string();
    write_file_atomically(draft, row.text);
    const ProgramResult refused = asked.mailbox({"answer", draft});
    CHECK(refused.exit_code == code(ExitCode::bad_input));
    CHECK_THAT(refused.err, Contains(row.words));
    CHECK_FALSE(fs::exists(asked.folder() / "box" / "0001.answer.md"));
  }
  for (const char* of_search : {"0001.parent.cu", "0001.question.md", "0001.json"}) {
    const ProgramResult refused = asked.mailbox({"answer", (asked.folder() / "box" / of_search).string()});
    CHECK(refused.exit_code == code(ExitCode::bad_input));
    CHECK_THAT(refused.err, Contains("has the name of a file that the search writes"));
  }
  const std::string foreign = (asked.folder() / "box" / "0001.foreign.md").string();
  write_file_atomically(
      foreign, "```\n" + read_file(AK_SOURCE_DIR "/templates/softmax/softmax_online.cu") + "\n```\n");
  const ProgramResult other = asked.mailbox({"check", foreign});
  INFO(other.out << other.err);
  CHECK(other.exit_code == code(ExitCode::no_kernel));  // its plan is for another problem
  CHECK(asked.mailbox({"answer", foreign}).exit_code == 0);
  CHECK(asked.mailbox({"answer", foreign}).exit_code == code(ExitCode::bad_input));
  CHECK(asked.mailbox({"answer", "nowhere/0001.md"}).exit_code == code(ExitCode::bad_input));
  CHECK(asked.mailbox({"list", "nowhere"}).exit_code == code(ExitCode::bad_input));
  CHECK(asked.mailbox({"show", "nowhere"}).exit_code == code(ExitCode::usage));
  const ProgramResult next = asked.run(Asked::resume(asked.folder()));
  INFO(next.out << next.err);
  CHECK(next.exit_code == code(ExitCode::suspended));  // refused, with its reason, and asked to repair
  CHECK(Asked::about(asked.folder(), 2)["arm"] == "repair");
  const std::string box = (asked.folder() / "box").string();
  const Json open = parse_json(asked.mailbox({"list", box, "--json"}).out);
  CHECK(open["questions"].size() == 1);
  CHECK(open["left_out"] == 1);
  CHECK(parse_json(asked.mailbox({"list", box, "--json", "--all"}).out)["questions"].size() == 2);
}

TEST_CASE("two sessions share a mailbox, and each takes its own answers") {
  Asked one;
  REQUIRE(one.run(one.start("session", "3")).exit_code == code(ExitCode::suspended));
  REQUIRE(one.run(one.start("session", "3")).exit_code == code(ExitCode::suspended));
  CHECK(Asked::about(one.folder(), 1)["search"] != Asked::about(one.folder(), 2)["search"]);
  REQUIRE(one.answer(one.folder(), 2, "4_fast").exit_code == 0);
  CHECK(one.run(Asked::resume(one.folder())).exit_code ==
        code(ExitCode::suspended));  // session 1 has no answer yet
  CHECK(Asked::about(one.folder(), 1)["state"] == "open");
  CHECK(Asked::about(one.folder(), 2)["state"] == "open");

  // One that is given up withdraws its own questions.
  const auto abandon = [&](const std::string& number) {
    return one.box.run({"session", "abandon", number, "--db", (one.folder() / "ak.db").string()});
  };
  const ProgramResult given_up = abandon("1");
  INFO(given_up.out << given_up.err);
  CHECK(given_up.exit_code == 0);
  CHECK_THAT(given_up.out, Contains("finished") && Contains("skipped") && Contains("given up"));
  CHECK(Asked::about(one.folder(), 1)["state"] == "withdrawn");
  CHECK(Asked::about(one.folder(), 1)["reason"] == "its session was given up");
  CHECK(Asked::about(one.folder(), 2)["state"] == "open");
  CHECK(one.query(one.folder(), "SELECT status FROM searches ORDER BY id") == "stopped\r\nsuspended\r\n");
  CHECK_THAT(one.run(Asked::resume(one.folder())).out, Contains("is finished"));
  CHECK_THAT(abandon("1").err, Contains("nothing to give up"));
  CHECK_THAT(abandon("9").err, Contains("there is no session 9"));
}

TEST_CASE(
    "a mailbox that refuses questions suspends a search, and the end of its session's time withdraws them") {
  Asked asked;
  const fs::path manifest = asked.folder() / "night.json";
  Json night = parse_json(R"({"budgets": {"max_minutes": 480}, "runs": [{"algorithm": "vector_add",
      "shape": {"N": 1000}, "device": "emulator", "arch": "sm_80", "deterministic": true, "seed": 5,
      "proposer": "llm", "mailbox_wait": "session", "max_evaluations": 9}]})");
  night["runs"][0]["model"] = "mailbox:" + (asked.folder() / "box").string();
  write_file_atomically(manifest, night.dump());
  const std::string database = (asked.folder() / "ak.db").string();
  const auto resume = [&] {
    return asked.box.run({"session", "resume", "1", "--foreground", "--db", database});
  };
  const ProgramResult start = asked.box.run({"session", "start", manifest.string(), "--foreground", "--db",
                                             database, "--output-folder", asked.folder().string()});
  INFO(start.out << start.err);
  REQUIRE(start.exit_code == code(ExitCode::suspended));
  REQUIRE(asked.answer(asked.folder(), 1, "4_fast").exit_code == 0);
  // Stands for a disk that was filled up meanwhile.
  const fs::path in_the_way = asked.folder() / "box" / "0002.parent.cu";
  fs::create_directories(in_the_way / "full");
  const ProgramResult refused = resume();
  INFO(refused.out << refused.err);
  CHECK(refused.exit_code == code(ExitCode::suspended));
  CHECK_THAT(refused.err, Contains("a question waits until the mailbox can be written"));
  CHECK_THAT(refused.out, Contains("no question of it lies in"));
  CHECK(asked.query(asked.folder(), "SELECT status FROM llm_calls ORDER BY id") == "ok\r\nsent\r\n");
  fs::remove_all(in_the_way);
  REQUIRE(resume().exit_code == code(ExitCode::suspended));
  REQUIRE(Asked::about(asked.folder(), 2)["state"] == "open");

  db::Connection(database, db::OpenMode::create)
      .execute("UPDATE session_searches SET spent_ms = 480 * 60000");
  const ProgramResult late = resume();
  INFO(late.out << late.err);
  CHECK(late.exit_code == 0);
  CHECK(Asked::about(asked.folder(), 2)["state"] == "withdrawn");
  CHECK(Asked::about(asked.folder(), 2)["reason"] == "the session had no time left");
  CHECK(asked.query(asked.folder(), "SELECT state FROM session_searches") == "skipped\r\n");
  CHECK(asked.query(asked.folder(), "SELECT status FROM searches") == "stopped\r\n");
}

TEST_CASE("a search outside of a session cannot be suspended") {
  Sandbox box;
  const ProgramResult result =
      box.generate({"--model", "mailbox:" + (box.folder / "box").string(), "--mailbox-wait", "1m"});
  CHECK(result.exit_code == code(ExitCode::usage));
  CHECK_THAT(result.err, Contains("session start"));
  CHECK_THAT(box.generate({"--mailbox-wait", "soon"}).err, Contains("--mailbox-wait"));
}
