// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/answer.h"

#include <catch2/catch.hpp>
#include <random>

#include "agent/llm/prompts.h"
#include "core/error.h"

namespace ak::agent {
namespace {

const std::string kSource =
    "/* alphakernel\n"
    "{\"tunables\": {\"BLOCK\": {\"values\": [128, 256], \"default\": 128}},\n"
    " \"launches\": [{\"kernel\": \"k\", \"grid\": [\"ceil_div(N, BLOCK)\"], \"block\": [\"BLOCK\"], "
    "\"args\": [\"a\"]}]}\n"
    "*/\n"
    "__global__ void k(float* a) {\n"
    "  a[0] = 1;   \n"
    "  a[1] = 1;\n"
    "}\n";

Candidate parent() { return parse_candidate("parent.cu", kSource).value(); }

std::vector<ProposedCandidate> read_all(const std::string& answer, std::size_t most = 1) {
  const auto read = read_answer(answer, parent(), "new", most);
  INFO(answer);
  REQUIRE(read);
  return *read;
}

ProposedCandidate read_one(const std::string& answer) {
  const auto all = read_all(answer);
  REQUIRE(all.size() == 1);
  REQUIRE(all.front().candidate);
  return all.front();
}

std::string input_error_of(const std::string& answer) {
  const auto read = read_answer(answer, parent(), "new", 1);
  if (!read) return read.error().message;
  REQUIRE_FALSE(read->front().candidate);
  return read->front().candidate.error().message;
}

TEST_CASE("a whole candidate is read from the last fenced block that begins with a plan") {
  const std::string other = "```cuda\n/* alphakernel\n{\"launches\": []}\n*/\n```\n";
  for (const std::string& answer :
       {"Faster.\n```cuda\n" + kSource + "```\nDone.", other + "No, better:\n````\n" + kSource + "````",
        "<think>\n```\n/* alphakernel\n{}\n*/\n```\n</think>\n```c++\n\n" + kSource +
            "```\n```\nsome note\n```",
        kSource, "```cuda\r\n" + kSource + "```"}) {
    INFO(answer);
    const ProposedCandidate read = read_one(answer);
    CHECK(read.form == "source");
    CHECK(read.candidate->source == kSource);
    CHECK(read.candidate->name == "new.cu");
  }
}

TEST_CASE("edits replace text that occurs once, also where white space at the ends of lines was lost") {
  const ProposedCandidate read = read_one(
      "```\n<<<<<<< SEARCH\n  a[0] = 1;\n=======\n  a[0] = 2;\n>>>>>>> REPLACE\n```\n"
      "<<<<<<< SEARCH\n  a[1] = 1;\n}\n=======\n}\n>>>>>>> REPLACE\n");
  CHECK(read.form == "edit");
  CHECK(read.candidate->source.find("  a[0] = 2;\n}\n") != std::string::npos);
  const std::string head = "<<<<<<< SEARCH\n", tail = "=======\nx\n>>>>>>> REPLACE\n";
  CHECK_THAT(input_error_of(head + "  a[7] = 1;\n" + tail),
             Catch::Contains("nowhere") && Catch::Contains("a[7]"));
  CHECK_THAT(input_error_of(head + "  a[\n" + tail), Catch::Contains("nowhere"));
  CHECK_THAT(input_error_of(head + "BLOCK" + "\n" + tail), Catch::Contains("nowhere"));
  CHECK_THAT(input_error_of(head + "  a[0] = 1;\n=======\n  a[0] = 2;\n"), Catch::Contains("not complete"));
  CHECK_THAT(input_error_of(head + tail), Catch::Contains("no text to search"));
}

TEST_CASE("tunables are taken from JSON and checked against the plan") {
  const ProposedCandidate read = read_one("Larger blocks.\n```json\n{\"tunables\": {\"BLOCK\": 256}}\n```");
  CHECK(read.form == "tunables");
  CHECK(read.candidate->tunables.at("BLOCK") == 256);
  CHECK(read.candidate->source == kSource);
  CHECK_THAT(input_error_of("```json\n{\"tunables\": {\"BLOCK\": 300}}\n```"),
             Catch::Contains("expected one of 128, 256"));
  CHECK_THAT(input_error_of("```json\n{\"tunables\": {\"BLOK\": 128}}\n```"),
             Catch::Contains("no tunable 'BLOK'"));
  CHECK_THAT(input_error_of("```json\n{\"tunables\": 3}\n```"), Catch::Contains("object"));
}

TEST_CASE("an answer that is none of these says what is missing") {
  CHECK_THAT(input_error_of("I cannot help with that."), Catch::Contains("no fenced block"));
  CHECK_THAT(input_error_of("```cuda\n__global__ void k() {}\n```"),
             Catch::Contains("begins with a launch plan"));
  CHECK_THAT(input_error_of("```cuda\n" + kSource), Catch::Contains("was cut"));
  CHECK_THAT(input_error_of("```cuda\n/* alphakernel\n{\"launches\": [}\n*/\n```"),
             Catch::Contains("line 2"));
  CHECK(read_all("x\n```\n/* alphakernel\n{oops\n*/\n```").front().source == "/* alphakernel\n{oops\n*/\n");
}

TEST_CASE("where several candidates are asked for, the last whole ones are taken, each with its own error") {
  const std::string broken = "/* alphakernel\n{\"launches\": [}\n*/\n";
  const std::string answer =
      "```cuda\n" + kSource + "```\nand\n```cuda\n" + broken + "```\nand\n```\n" + kSource + "// b\n```\n";
  CHECK(read_all(answer, 1).size() == 1);
  CHECK(read_all(answer, 2).size() == 2);
  const auto all = read_all(answer + "```cuda\n/* alphakernel\n{\"lau", 5);  // the cut one is left out
  REQUIRE(all.size() == 3);
  CHECK(all[0].candidate->name == "new_1.cu");
  CHECK(all[0].candidate->source == kSource);
  CHECK_FALSE(all[1].candidate);
  CHECK(all[1].source == broken);
  CHECK(all[2].candidate->source.ends_with("// b\n"));
}

TEST_CASE("several points of the parent are taken from JSON, the first ones") {
  const std::string answer =
      "```json\n{\"points\": [{\"BLOCK\": 256}, {\"BLOCK\": 3}, {\"BLOCK\": 128}]}\n```";
  const auto all = read_all(answer, 8);
  REQUIRE(all.size() == 3);
  CHECK(all[0].candidate->tunables.at("BLOCK") == 256);
  CHECK_FALSE(all[1].candidate);
  CHECK(all[2].candidate->tunables.at("BLOCK") == 128);
  CHECK(read_all(answer, 2).size() == 2);
  CHECK_THAT(input_error_of("```json\n{\"points\": []}\n```"), Catch::Contains("no fenced block begins"));
}

TEST_CASE("pieces of answers in any order and cut anywhere are read without a crash") {
  std::mt19937 random(3);
  const std::vector<std::string> parts{"```\n",
                                       "```cuda\n",
                                       kSource,
                                       "<<<<<<< SEARCH\n",
                                       "=======\n",
                                       ">>>>>>> REPLACE\n",
                                       "  a[0] = 1;\n",
                                       "{\"tunables\": {\"BLOCK\": 256}}\n",
                                       "{\"points\": [{\"BLOCK\": 256}, 3]}\n",
                                       "</think>",
                                       "\n",
                                       "`",
                                       "/* alphakernel\n",
                                       "\xff"};
  for (int round = 0; round < 3000; ++round) {
    std::string answer;
    for (int i = 0; i < 8; ++i) answer += parts[random() % parts.size()];
    answer.resize(answer.size() - random() % 5 % answer.size());
    const auto read = read_answer(answer, parent(), "n", 1 + random() % 3);
    if (!read) CHECK_FALSE(read.error().message.empty());
    if (read) CHECK_FALSE(read->empty());
  }
}

TEST_CASE("the contract's worked example is a candidate") {
  const PromptSet prompts = PromptSet::with_folder("");
  CHECK(read_one(prompts.text("contract")).candidate->plan.tunables.size() == 2);
}

TEST_CASE("prompts are filled, and a key without a value is named") {
  const PromptSet prompts = PromptSet::with_folder("");
  CHECK(prompts.version().size() == 12);
  CHECK(prompts.fill("unreadable", {{"error", "{{error}}"}}).find("used: {{error}}\n") != std::string::npos);
  CHECK_THROWS_WITH(prompts.fill("unreadable", {}),
                    Catch::Contains("unreadable.md") && Catch::Contains("{{error}}"));
}

TEST_CASE("what does not fit is taken out of the middle, and the gap is named") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  CHECK(fitted(text, 10'000) == text);
  const std::string cut = fitted(text, 100);
  CHECK(cut.size() < 480);
  CHECK(cut.starts_with("line 0\n"));
  CHECK(cut.ends_with("line 999\n"));
  CHECK(cut.find("bytes left out") != std::string::npos);
  CHECK(fitted(std::string(4000, 'x'), 10).size() < 100);
}

std::string stated(const std::string& change, const std::string& speedup = "1.3") {
  return "```json\n{\"hypothesis\": {\"change\": \"" + change +
         "\", \"why\": \"w\", \"speedup\": " + speedup + "}}\n```\n";
}

std::string block(const std::string& source) { return "```cuda\n" + source + "```\n"; }

TEST_CASE("a hypothesis is of the candidate behind it") {
  const ProposedCandidate one = read_one("I would.\n" + stated("wider") + block(kSource));
  REQUIRE(one.hypothesis);
  CHECK(one.hypothesis->change == "wider");
  CHECK(one.hypothesis->reason == "w");
  CHECK(one.hypothesis->speedup == 1.3);
  CHECK_FALSE(one.hypothesis->parent_ns);

  const std::string several = stated("a") + block(kSource) + block(kSource) + stated("b") + stated("c") +
                              block(kSource) + stated("too late");
  const auto all = read_all(several, 3);
  REQUIRE(all.size() == 3);
  CHECK(all[0].hypothesis->change == "a");
  CHECK_FALSE(all[1].hypothesis);  // that before it is of the first
  CHECK(all[2].hypothesis->change == "c");
  const auto last = read_all(several, 2);  // the first is not taken, and keeps what is its own
  CHECK_FALSE(last[0].hypothesis);
}

TEST_CASE("a hypothesis of edits and of one point may stand anywhere, and several points have none") {
  const std::string edit = "<<<<<<< SEARCH\n  a[1] = 1;\n=======\n  a[1] = 2;\n>>>>>>> REPLACE\n";
  for (const std::string& answer : {stated("x") + edit, edit + stated("x"),
                                    stated("x") + "```json\n{\"tunables\": {\"BLOCK\": 256}}\n```",
                                    "```json\n{\"tunables\": {\"BLOCK\": 256}}\n```\n" + stated("x")}) {
    INFO(answer);
    CHECK(read_one(answer).hypothesis->change == "x");
  }
  for (const ProposedCandidate& point :
       read_all(stated("x") + "```json\n{\"points\": [{\"BLOCK\": 256}, {\"BLOCK\": 128}]}\n```", 8))
    CHECK_FALSE(point.hypothesis);
}

TEST_CASE("what is no hypothesis is named, and its candidate taken all the same") {
  struct Row {
    std::string statement, words;
  };
  const auto of = [](const std::string& members) { return "{\"hypothesis\": {" + members + "}}"; };
  const std::string good = "\"change\": \"c\", \"why\": \"w\", \"speedup\": 2";
  const std::vector<Row> rows{
      {of("\"change\": \"c\", \"why\": \"w\""), "speedup"},
      {of("\"change\": \"c\", \"speedup\": 2"), "why"},
      {of(good + ", \"sure\": true"), "unknown key 'sure'"},
      {of(good + ", \"x\\n\\tnote: done\": 1"), "unknown key 'x  note: done'"},
      {of(good + ", \"speedup\": 3"), "speedup"},
      {"{\"hypothesis\": {" + good + "}, \"tunable\": 1}", "unknown key 'tunable'"},
      {of("\"change\": \"\", \"why\": \"w\", \"speedup\": 2"), "expected a sentence"},
      {of("\"change\": \" \\n\\u001b \", \"why\": \"w\", \"speedup\": 0"), "expected a sentence"},
      {of("\"change\": 7, \"why\": \"w\", \"speedup\": 2"), "change"},
      {of("\"change\": \"c\", \"why\": \"w\", \"speedup\": \"2\""), "speedup"},
      {of("\"change\": \"c\", \"why\": \"w\", \"speedup\": 0"), "from 0.01 to 100"},
      {of("\"change\": \"c\", \"why\": \"w\", \"speedup\": -1"), "from 0.01 to 100"},
      {of("\"change\": \"c\", \"why\": \"w\", \"speedup\": 1e400"), "not JSON"},
      {of("\"change\": \"" + std::string(161, 'x') + "\", \"why\": \"w\", \"speedup\": 2"),
       "at most 160 bytes"},
      {of("\"change\": \"c\", \"why\": \"" + std::string(241, 'x') + "\", \"speedup\": 2"),
       "at most 240 bytes"},
      {of("\"change\": \"c\", \"why\": \"" + std::string(9000, 'x') + "\", \"speedup\": 2"),
       "at most 4096 bytes"},
      {"{\"hypothesis\": [" + std::string(3000, '['), "not JSON"},
      {"{\"hypothesis\": 1}", "hypothesis"}};
  for (const Row& row : rows) {
    INFO(row.statement);
    const ProposedCandidate one = read_one("```json\n" + row.statement + "\n```\n" + block(kSource));
    CHECK_FALSE(one.hypothesis);
    CHECK_THAT(one.hypothesis_error, Catch::Contains(row.words));
    CHECK(one.hypothesis_error.find_first_of("\x1b\n\t") == std::string::npos);
  }
  const ProposedCandidate none = read_one(block(kSource));
  CHECK_FALSE(none.hypothesis);
  CHECK(none.hypothesis_error.empty());
}

TEST_CASE("words of a hypothesis are one line that obeys nobody") {
  const ProposedCandidate one = read_one(stated("a\\nend data\\u001b[31m\\u202e  b ") + block(kSource));
  REQUIRE(one.hypothesis);
  CHECK(one.hypothesis->change.starts_with("a end data"));
  CHECK(one.hypothesis->change.ends_with("b"));
  for (const char* bad : {"\n", "\x1b", "\xe2\x80\xae"})
    CHECK(one.hypothesis->change.find(bad) == std::string::npos);
}

TEST_CASE("an answer that holds nothing but a hypothesis has no candidate") {
  CHECK_THAT(input_error_of(stated("x")), Catch::Contains("no fenced block begins with a launch plan"));
}

}  // namespace
}  // namespace ak::agent
