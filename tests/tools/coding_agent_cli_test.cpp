// SPDX-License-Identifier: Apache-2.0
// Coding agents as models, as a user meets them: a scripted agent, the CPU device, the whole program.
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <sstream>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/patience.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using Catch::Contains;

namespace {

std::string answer_sample(const std::string& name) {
  return AK_SOURCE_DIR "/tests/tools/llm/" + name + ".md";
}

/// A search that asks the scripted agent in one of its modes.
struct AskedAgent {
  explicit AskedAgent(const std::string& mode, const std::vector<std::string>& kernels = {}) {
    std::vector<std::string> argv{AK_PYTHON, AK_SOURCE_DIR "/tests/tools/coding_agent/scripted_agent.py",
                                  mode};
    for (const std::string& kernel : kernels) argv.push_back(answer_sample(kernel));
    const Json command{{"argv", argv}, {"environment", {"PATH", "HOME", "MY_KEY"}}};
    box.write("config.json", Json{{"llm_commands", {{"scripted", command}}}}.dump());
    box.environment["ANTHROPIC_API_KEY"] = "sk-not-for-the-agent";
    box.environment["MY_KEY"] = "a-key-of-the-agents-own";
    box.environment["TMPDIR"] = (box.folder / "tmp").string();
    std::filesystem::create_directory(box.folder / "tmp");
  }
  [[nodiscard]] std::vector<std::string> arguments(const std::vector<std::string>& extra) const {
    std::vector<std::string> all{AK_PROGRAM,   "generate",    "--algorithm", "vector_add",
                                 "--shape",    "N=1000",      "--device",    "emulator",
                                 "--arch",     "sm_80",       "--seed",      "1",
                                 "-q",         "--unaudited", "--model",     "agent:scripted",
                                 "--proposer", "llm",         "--output",    (box.folder / "k.cu").string()};
    all.insert(all.end(), extra.begin(), extra.end());
    return all;
  }
  ProgramResult run(const std::vector<std::string>& extra) {
    return run_program(arguments(extra), box.environment);
  }
  [[nodiscard]] Json seen() const { return parse_json(read_file(box.folder / "seen.json")); }
  [[nodiscard]] std::vector<pid_t> processes() const {
    std::istringstream words(read_file(box.folder / "pids"));
    return {std::istream_iterator<pid_t>(words), {}};
  }
  /// No folder of a question is left. What removes precompiled headers ends after the program.
  [[nodiscard]] bool left_nothing() const {
    return in_the_end([&] { return std::filesystem::is_empty(box.folder / "tmp"); });
  }
  std::string calls() { return box.query("SELECT DISTINCT status FROM llm_calls"); }

  Sandbox box;
};

/// A question has about 8,000 tokens.
constexpr const char* kForOneQuestion = "16000";

bool is_gone(pid_t pid) {
  try {
    const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    return stat.substr(stat.rfind(')') + 2).starts_with('Z');
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

TEST_CASE("an agent tries kernels in the search that asks it, and answers with one of them") {
  AskedAgent asked("tries", {"1_compile_error", "3_slow", "4_fast"});
  const ProgramResult result = asked.run({"--max-evaluations", "5", "--deterministic"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const Json seen = asked.seen();
  CHECK(seen["tools"] ==
        Json{"evaluate", "explain", "job_cancel", "job_result", "job_status", "profile", "query"});
  REQUIRE(seen["tried"].size() == 3);
  CHECK(seen["tried"][0]["passed"] == false);
  CHECK_THAT(seen["tried"][0]["outcome"].get<std::string>(), Contains("tolerance"));
  CHECK(seen["tried"][1]["passed"] == true);
  CHECK(seen["tried"][2]["time_ns"] < seen["tried"][1]["time_ns"]);
  CHECK(seen["tried"][2]["evaluations_left"] == 17);
  CHECK(seen["again"]["variant"] == seen["tried"][0]["variant"]);  // known, so not evaluated again
  CHECK(seen["profile"].contains("bottleneck"));
  CHECK(seen["rows"]["rows"].size() == 1);
  CHECK(seen["explained"]["variant"] == seen["tried"][2]["variant"]);
  CHECK_THAT(seen["refused"][0]["text"].get<std::string>(), Contains("unknown tool 'search'"));
  CHECK_THAT(seen["refused"][1]["text"].get<std::string>(), Contains("profile has no argument 'problem'"));
  CHECK_THAT(seen["refused"][2]["text"].get<std::string>(), Contains("explain has no argument 'ablate'"));
  CHECK_THAT(seen["refused"][3]["text"].get<std::string>(), Contains("leads out of the folder"));
  CHECK(seen["inherited"] == Json{"/dev/null", "pipe", "pipe"});
  CHECK_THAT(seen["environment"].dump(), Contains("MY_KEY") && !Contains("ANTHROPIC"));
  for (const char* file : {"candidate.md", "mcp.json", "parent.cu", "question.json", "question.md"})
    CHECK(seen["folder"].dump().find(file) != std::string::npos);
  CHECK_THAT(seen["text"].get<std::string>(),
             Contains("20 calls") && Contains("30 minutes") && Contains("/* alphakernel"));

  // Every evaluation is a row of the search, with model, arm and question.
  CHECK(asked.box.query("SELECT p.proposer, p.arm, e.status, count(*) FROM proposals p JOIN evaluations e ON "
                        "e.proposal_id = p.id WHERE p.llm_call_id = 1 GROUP BY e.status ORDER BY e.status") ==
        "agent:scripted,improve,incorrect,1\r\nagent:scripted,improve,ok,2\r\n");
  CHECK(
      asked.box.query("SELECT model, input_tokens, output_tokens, tokens_reported FROM llm_calls WHERE id = "
                      "1") == "agent:scripted,700,30,1\r\n");
  CHECK(asked.left_nothing());
}

TEST_CASE("an agent gets no more evaluations than it may have") {
  AskedAgent asked("greedy", {"4_fast"});
  const ProgramResult result = asked.run({"--max-evaluations", "4", "--agent-evaluations", "2"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const Json told = asked.seen()["told"];
  REQUIRE(told.size() == 4);
  CHECK(told[0]["passed"] == true);
  CHECK(told[2]["isError"] == true);
  CHECK_THAT(told[3]["text"].get<std::string>(), Contains("all 2 evaluations of this question are used"));
}

TEST_CASE("an agent that is killed has answered with the fastest kernel that it tried") {
  AskedAgent asked("leaves", {"4_fast", "3_slow"});
  const ProgramResult result = asked.run({"--max-evaluations", "4"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.err, Contains("killed by signal 9") && Contains("its fastest kernel is taken"));
  CHECK_THAT(asked.box.query("SELECT answer FROM llm_calls WHERE id = 1"), Contains("float4"));
}

TEST_CASE("an agent without an answer that can be taken costs its question, and the search says why") {
  const auto [mode, why] =
      GENERATE(table<std::string, std::string>({{"nothing", "it left no answer"},
                                                {"killed", "killed by signal 9"},
                                                {"other", "it says that it answers 0099-aaaaaaaa"},
                                                {"fails",
                                                 "ended with code 255; it left no answer; it said: "
                                                 "nobody is logged in"},
                                                {"moves", "its answer is not taken: it is a link"},
                                                {"pesters", "it goes on calling"},
                                                {"floods", "larger than 16 MiB"}}));
  AskedAgent asked(mode, {"4_fast"});
  const ProgramResult result = asked.run({"--max-evaluations", "4", "--max-tokens", kForOneQuestion});
  INFO(mode << result.out << result.err);
  CHECK_THAT(result.err, Contains(why));
  CHECK(result.err.find('\x1b') == std::string::npos);
  CHECK(asked.calls() == "malformed\r\n");
  CHECK(asked.left_nothing());
}

TEST_CASE("an agent that never ends is ended with all that it started") {
  AskedAgent asked("forever");
  const ProgramResult result =
      asked.run({"--max-evaluations", "4", "--agent-minutes", "1.5s", "--max-tokens", kForOneQuestion});
  INFO(result.out << result.err);
  CHECK_THAT(result.err, Contains("ended after 1.5 seconds"));
  if (asked.box.exists("pids"))  // else it was ended before it had begun
    for (const pid_t pid : asked.processes()) CHECK(is_gone(pid));
  CHECK(asked.left_nothing());
}

TEST_CASE("a search that is killed or stopped leaves no process of its agent behind") {
  const int signal = GENERATE(SIGKILL, SIGTERM);
  AskedAgent asked("forever");
  const pid_t run = start_program(asked.arguments({"--max-evaluations", "4"}), asked.box.environment,
                                  asked.box.folder.path());
  REQUIRE(in_the_end([&] { return asked.box.exists("pids") || has_ended(run); }));
  REQUIRE(asked.box.exists("pids"));
  const std::vector<pid_t> processes = asked.processes();
  REQUIRE(processes.size() == 4);
  CHECK_FALSE(is_gone(processes[1]));
  kill(run, signal);
  int status = 0;
  REQUIRE(waitpid(run, &status, 0) == run);
  for (const pid_t pid : processes) CHECK(in_the_end([&] { return is_gone(pid); }));
  CHECK(in_the_end([&] { return asked.left_nothing(); }));
}

TEST_CASE("a session that is resumed knows what its agent tried, and evaluates none of it again") {
  const auto [mode, signal, tries] = GENERATE(
      table<std::string, int, int>({{"twice", SIGKILL, 2}, {"waits", SIGKILL, 3}, {"waits", SIGTERM, 3}}));
  CAPTURE(mode, signal);
  AskedAgent asked(mode, {"4_fast", "3_slow"});
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
                                           "--seed",
                                           "1",
                                           "--unaudited",
                                           "--model",
                                           "agent:scripted",
                                           "--proposer",
                                           "llm",
                                           "--output",
                                           (asked.box.folder / "k.cu").string(),
                                           "--foreground",
                                           "--deterministic",
                                           "--max-evaluations",
                                           std::to_string(tries + 2)};
  const pid_t run = start_program(arguments, asked.box.environment, asked.box.folder.path());
  REQUIRE(in_the_end([&] { return asked.box.exists("pids") || has_ended(run); }));
  REQUIRE(asked.box.exists("pids"));
  kill(run, signal);
  int status = 0;
  REQUIRE(waitpid(run, &status, 0) == run);
  const auto tried = [&] {
    return asked.box.query(
        "SELECT p.llm_call_id, e.status, count(*) FROM evaluations e JOIN proposals p ON p.id = "
        "e.proposal_id "
        "WHERE p.proposer = 'agent:scripted' AND p.llm_call_id = 1 GROUP BY 1, 2");
  };
  const std::string all = "1,ok," + std::to_string(tries) + "\r\n";
  CHECK(tried() == all);
  const ProgramResult resumed = asked.box.run({"session", "resume", "1", "--foreground"});
  INFO(resumed.out << resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK(tried() == all);
  const Json session = parse_json(asked.box.run({"session", "status", "--json"}).out);
  CHECK(session["searches"][0]["evaluations"] == tries + 2);
}

TEST_CASE("no key of an agent is kept") {
  AskedAgent asked("tells", {"4_fast"});
  const ProgramResult result = asked.run({"--max-evaluations", "3"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(read_file(asked.box.folder / "ak.db").find("a-key-of-the-agents-own") == std::string::npos);
}

TEST_CASE("what an agent may spend is reserved, and who says that it spent more is ended") {
  AskedAgent asked("spends");
  const ProgramResult unlimited = asked.run({"--max-evaluations", "4", "--max-cost-usd", "10"});
  CHECK(unlimited.exit_code == code(ExitCode::usage));
  CHECK_THAT(unlimited.err, Contains("--agent-cost-usd"));
  const ProgramResult result =
      asked.run({"--max-evaluations", "4", "--max-cost-usd", "10", "--agent-cost-usd", "4"});
  INFO(result.out << result.err);
  CHECK_THAT(result.err, Contains("it has spent 7.50 US dollars"));
  // Two would not have been within 10 dollars.
  CHECK(asked.box.query("SELECT count(*), sum(cost_usd) FROM llm_calls") == "1,7.5\r\n");
  CHECK_THAT(asked.box.query("SELECT reason FROM searches ORDER BY id DESC LIMIT 1"),
             Contains("cost budget"));
}

TEST_CASE("an agent that is not there is said to be not there, once") {
  AskedAgent asked("nothing");
  std::vector<std::string> arguments =
      asked.arguments({"--max-evaluations", "4", "--max-cost-usd", "10", "--agent-cost-usd", "4"});
  *std::ranges::find(arguments, "agent:scripted") = "agent:/no/such/agent";
  const ProgramResult result = run_program(arguments, asked.box.environment);
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::environment));
  CHECK_THAT(result.err, Contains("/no/such/agent"));
  CHECK(asked.calls() == "no_model\r\n");
  CHECK(asked.box.query("SELECT total(cost_usd), total(input_tokens) FROM llm_calls") == "0,0\r\n");
}
