// SPDX-License-Identifier: Apache-2.0
// A language model in the loop as a user meets it: recorded answers, the CPU device, the whole program.
#include <catch2/catch.hpp>
#include <sstream>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

const std::vector<std::string> kAnswers{"1_compile_error", "2_wrong_result", "3_slow", "4_fast"};

/// The answers of tests/tools/llm/ as a recording.
std::string recording(const Sandbox& box) {
  std::string lines;
  for (const std::string& name : kAnswers) {
    const std::string text = read_file(std::string(AK_SOURCE_DIR "/tests/tools/llm/") + name + ".md");
    lines += Json{{"reply", {{"text", text}, {"input_tokens", 4000}, {"output_tokens", 500}}}}.dump() + "\n";
  }
  return box.write("answers.jsonl", lines);
}

std::vector<std::string> generate(const Sandbox& box, const std::vector<std::string>& extra) {
  std::vector<std::string> arguments{"generate", "-q",       "--algorithm", "vector_add",
                                     "--device", "emulator", "--arch",      "sm_80",
                                     "--seed",   "1",        "--output",    (box.folder / "k.cu").string()};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

/// The last message of every request that was recorded.
std::vector<std::string> questions(const Sandbox& box) {
  std::vector<std::string> texts;
  std::istringstream lines(read_file(box.folder / "record.jsonl"));
  for (std::string line; std::getline(lines, line);)
    texts.push_back(parse_json(line)["request"]["messages"].back()["text"]);
  return texts;
}

}  // namespace

TEST_CASE("a replayed model comes from a compile error over a wrong and a slow kernel to a fast one") {
  Sandbox box;
  const ProgramResult result =
      box.run(generate(box, {"--proposer", "llm", "--model", "replay:" + recording(box), "--record",
                             (box.folder / "record.jsonl").string()}));
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.find("18000 tokens") != std::string::npos);

  // Every question shows the result of the answer before it.
  const std::vector<std::string> asked = questions(box);
  REQUIRE(asked.size() == 5);
  CHECK(asked[0].find("vector_add.cu") != std::string::npos);
  CHECK(asked[1].find("identifier \"count\" is undefined") != std::string::npos);
  CHECK(asked[1].find("line 7:   if (i < count) c[i] = a[i] - b[i];") != std::string::npos);
  CHECK(asked[1].find("It does not work") != std::string::npos);
  CHECK(asked[2].find("// One element per thread.") != std::string::npos);
  CHECK(asked[2].find("Stopped by the gate 'tolerance'") != std::string::npos);
  const std::string slow_us = box.query(
      "SELECT printf('%.4g us', e.score_ns / 1000) FROM evaluations e JOIN variants v ON v.id = e.variant_id "
      "WHERE v.name = 'llm_3.cu' AND e.status = 'ok' LIMIT 1");
  CHECK(asked[3].find("llm_3.cu (none) [plain; 1 launch]: " + slow_us.substr(0, slow_us.find('\r'))) !=
        std::string::npos);
  CHECK(asked[4].find("llm_4.cu (BLOCK=128) [") != std::string::npos);
  // What limits the parent, from the CPU device's exact counts.
  CHECK(asked[0].find("What limits it on ") != std::string::npos);
  CHECK(asked[0].find("to try: ") != std::string::npos);

  // And everything is in the database.
  CHECK(box.query(
            "SELECT group_concat(status, ' ') FROM (SELECT e.status FROM evaluations e JOIN proposals p ON "
            "p.id = e.proposal_id WHERE p.llm_call_id IS NOT NULL ORDER BY e.id)") ==
        "compile_error incorrect ok ok\r\n");
  CHECK(
      box.query("SELECT arm, status, input_tokens, tokens_reported FROM llm_calls ORDER BY id") ==
      "improve,ok,4000,1\r\nrepair,ok,4000,1\r\nrepair,ok,4000,1\r\nexplore,ok,4000,1\r\ncrossover,exhausted,"
      "0,0\r\n");
  CHECK(box.query(
            "SELECT v.name, q.name FROM variant_parents JOIN variants v ON v.id = variant_id JOIN variants q "
            "ON q.id = parent_id WHERE v.name = 'llm_2.cu'") == "llm_2.cu,llm_1.cu\r\n");
  CHECK(
      box.query("SELECT max(e.score_ns) > 4 * min(e.score_ns) FROM evaluations e JOIN proposals p ON p.id = "
                "e.proposal_id WHERE p.llm_call_id IS NOT NULL") == "1\r\n");
  CHECK(box.query("SELECT sum(candidates), sum(verified) FROM llm_yield") == "4,2\r\n");
  CHECK(box.query("SELECT calls, input_tokens FROM spend") == "5,16000\r\n");
  // The three answers up to the first kernel that passed are one exchange.
  CHECK(box.query(
            "SELECT arm, exchanges, calls, output_tokens FROM llm_arms WHERE exchanges > 0 ORDER BY arm") ==
        "explore,1,1,500\r\nimprove,1,3,1500\r\n");

  // What the last one expected is kept next to what came of it, and goes out with all the rest.
  CHECK(box.query(
            "SELECT change, expected_speedup, measured_speedup > 0, status, arm FROM hypothesis_results") ==
        "add vectors of four elements,4,1,ok,explore\r\n");
  CHECK(box.query("SELECT hypotheses, compared FROM model_expectations") == "1,1\r\n");
  const std::string file = (box.folder / "trajectories.jsonl").string();
  const ProgramResult out = box.run({"exchange", "export", "--trajectories", file});
  INFO(out.out << out.err);
  CHECK(out.exit_code == 0);
  CHECK_THAT(out.out, Catch::Contains("4 answers of 1 searches, 4 candidates"));
  std::istringstream trajectories(read_file(file));
  std::vector<Json> of_answers;
  for (std::string text; std::getline(trajectories, text);) of_answers.push_back(parse_json(text));
  REQUIRE(of_answers.size() == 4);
  CHECK(of_answers[0]["candidates"][0]["verdict"]["status"] == "compile_error");
  CHECK(of_answers[1]["parents"][0]["name"] == "llm_1.cu");
  CHECK(of_answers[3]["candidates"][0]["hypothesis"]["change"] == "add vectors of four elements");
  CHECK_FALSE(of_answers[3]["candidates"][0]["counters"].empty());
  CHECK(read_file(file).find(box.folder.path().string()) == std::string::npos);
  CHECK_THAT(box.run({"exchange", "export", "--trajectories", file}).err, Catch::Contains("--force"));
  CHECK_THAT(box.run({"exchange", "export", "set/", "--trajectories", file}).err,
             Catch::Contains("leave folder"));
  CHECK_THAT(box.run({"exchange", "export"}).err, Catch::Contains("name the folder"));
  CHECK(box.run({"report", "--format", "markdown"}).out.find("add vectors of four elements") !=
        std::string::npos);

  // What was tried is remembered: it can be found by its words, and the next search learns it.
  const ProgramResult found = box.run({"knowledge", "--search", "vectors threads"});
  INFO(found.out << found.err);
  CHECK(found.out.find("vector_add for sm_80") != std::string::npos);
  CHECK(box.run({"knowledge"}).out.find("2 of 4 kernels by models") == std::string::npos);
  CHECK(box.query("SELECT tries, wins FROM insights WHERE kind = 'failure' AND subject = 'incorrect'") ==
        "4,0\r\n");
  std::filesystem::remove(box.folder / "record.jsonl");
  const ProgramResult next =
      box.run(generate(box, {"--proposer", "llm", "--model", "replay:" + recording(box), "--record",
                             (box.folder / "record.jsonl").string(), "--max-evaluations", "3"}));
  INFO(next.out << next.err);
  std::istringstream lines(read_file(box.folder / "record.jsonl"));
  std::string line;
  std::getline(lines, line);
  const std::string system = parse_json(line)["request"]["system"];
  CHECK(system.find("What earlier searches learned") != std::string::npos);
  CHECK(system.find("4 kernels by models ended as incorrect") != std::string::npos);
}

TEST_CASE("in a hybrid run the tunables of a model's kernel are searched, and its lineage is kept") {
  Sandbox box;
  const ProgramResult result = box.run(generate(
      box, {"--model", "replay:" + recording(box), "--strategy", "exhaustive", "--max-evaluations", "24"}));
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(box.query("SELECT proposer FROM searches") == "hybrid\r\n");
  CHECK(box.query(
            "SELECT count(DISTINCT v.id) > 1 FROM variants v JOIN proposals p ON p.variant_id = v.id WHERE "
            "v.name = 'llm_4.cu'") == "1\r\n");
}

TEST_CASE("what is wrong with the choice of a model is said before anything runs") {
  Sandbox box;
  struct Row {
    std::vector<std::string> flags;
    ExitCode code;
    std::string words;
  };
  const std::vector<Row> rows{
      {{"--proposer", "llm"}, ExitCode::usage, "--model"},
      {{"--proposer", "oracle"}, ExitCode::usage, "search, llm, hybrid"},
      {{"--proposer", "search", "--model", "anthropic:x"}, ExitCode::usage, "does not ask a model"},
      {{"--model", "antropic:x"}, ExitCode::usage, "did you mean 'anthropic'"},
      {{"--model", "local:http://example.com/v1"}, ExitCode::usage, "this machine only"},
      {{"--model", "command:mine"}, ExitCode::usage, "llm_commands"},
      {{"--model", "replay:" + recording(box), "--max-cost-usd", "1"}, ExitCode::usage, "no price"},
      {{"--model", "replay:/none"}, ExitCode::bad_input, "/none"}};
  for (const Row& row : rows) {
    const ProgramResult result = box.run(generate(box, row.flags));
    INFO(row.words << "\n" << result.err);
    CHECK(result.exit_code == code(row.code));
    CHECK(result.err.find(row.words) != std::string::npos);
  }
  box.write("config.json", R"({"llm_commands": {"mine": {"argv": []}}})");
  CHECK(box.run(generate(box, {})).err.find("llm_commands.mine.argv: expected a program") !=
        std::string::npos);
}

TEST_CASE("a command of the configuration writes a kernel, and doctor knows the model") {
  Sandbox box;
  const std::string answer = AK_SOURCE_DIR "/tests/tools/llm/4_fast.md";
  box.write("config.json",
            Json{{"model", "command:mine"},
                 {"llm_commands", {{"mine", {{"argv", {"cat", answer}}, {"environment", {"PATH"}}}}}}}
                .dump());
  const ProgramResult result = box.run(generate(box, {"--proposer", "llm", "--max-evaluations", "3"}));
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(
      box.query(
          "SELECT count(*) > 0 FROM evaluations e JOIN proposals p ON p.id = e.proposal_id WHERE p.proposer "
          "= 'command:mine' AND e.status IN ('ok', 'duplicate')") == "1\r\n");
  CHECK(box.run({"doctor"}).out.find("command:mine") != std::string::npos);
}
