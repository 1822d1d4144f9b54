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

std::string complaint_of(const std::string& answer) {
  const auto read = read_answer(answer, parent(), "new.cu");
  REQUIRE_FALSE(read);
  return read.error().message;
}

TEST_CASE("a whole candidate is read from the last fenced block that begins with a plan") {
  const std::string other = "```cuda\n/* alphakernel\n{\"launches\": []}\n*/\n```\n";
  for (const std::string& answer :
       {"Faster.\n```cuda\n" + kSource + "```\nDone.", other + "No, better:\n````\n" + kSource + "````",
        "<think>\n```\n/* alphakernel\n{}\n*/\n```\n</think>\n```c++\n\n" + kSource +
            "```\n```\nsome note\n```",
        kSource, "```cuda\r\n" + kSource + "```"}) {
    INFO(answer);
    const auto read = read_answer(answer, parent(), "new.cu");
    REQUIRE(read);
    CHECK(read->form == "source");
    CHECK(read->candidate.source == kSource);
    CHECK(read->candidate.name == "new.cu");
  }
}

TEST_CASE("edits replace text that occurs once, also where white space at the ends of lines was lost") {
  const auto read = read_answer(
      "```\n<<<<<<< SEARCH\n  a[0] = 1;\n=======\n  a[0] = 2;\n>>>>>>> REPLACE\n```\n"
      "<<<<<<< SEARCH\n  a[1] = 1;\n}\n=======\n}\n>>>>>>> REPLACE\n",
      parent(), "new.cu");
  REQUIRE(read);
  CHECK(read->form == "edit");
  CHECK(read->candidate.source.find("  a[0] = 2;\n}\n") != std::string::npos);
  const std::string head = "<<<<<<< SEARCH\n", tail = "=======\nx\n>>>>>>> REPLACE\n";
  CHECK_THAT(complaint_of(head + "  a[7] = 1;\n" + tail),
             Catch::Contains("nowhere") && Catch::Contains("a[7]"));
  CHECK_THAT(complaint_of(head + "  a[\n" + tail), Catch::Contains("nowhere"));
  CHECK_THAT(complaint_of(head + "BLOCK" + "\n" + tail), Catch::Contains("nowhere"));
  CHECK_THAT(complaint_of(head + "  a[0] = 1;\n=======\n  a[0] = 2;\n"), Catch::Contains("not complete"));
  CHECK_THAT(complaint_of(head + tail), Catch::Contains("no text to search"));
}

TEST_CASE("tunables are taken from JSON and checked against the plan") {
  const auto read =
      read_answer("Larger blocks.\n```json\n{\"tunables\": {\"BLOCK\": 256}}\n```", parent(), "n");
  REQUIRE(read);
  CHECK(read->form == "tunables");
  CHECK(read->candidate.tunables.at("BLOCK") == 256);
  CHECK(read->candidate.source == kSource);
  CHECK_THAT(complaint_of("```json\n{\"tunables\": {\"BLOCK\": 300}}\n```"),
             Catch::Contains("expected one of 128, 256"));
  CHECK_THAT(complaint_of("```json\n{\"tunables\": {\"BLOK\": 128}}\n```"),
             Catch::Contains("no tunable 'BLOK'"));
  CHECK_THAT(complaint_of("```json\n{\"tunables\": 3}\n```"), Catch::Contains("object"));
}

TEST_CASE("an answer that is none of these says what is missing") {
  CHECK_THAT(complaint_of("I cannot help with that."), Catch::Contains("no fenced block"));
  CHECK_THAT(complaint_of("```cuda\n__global__ void k() {}\n```"),
             Catch::Contains("begins with a launch plan"));
  CHECK_THAT(complaint_of("```cuda\n" + kSource), Catch::Contains("was cut"));
  CHECK_THAT(complaint_of("```cuda\n/* alphakernel\n{\"launches\": [}\n*/\n```"), Catch::Contains("line 2"));
  CHECK(source_of_answer("just words", parent()) == "just words");
  CHECK(source_of_answer("x\n```\n/* alphakernel\n{oops\n*/\n```", parent()) ==
        "/* alphakernel\n{oops\n*/\n");
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
                                       "</think>",
                                       "\n",
                                       "`",
                                       "/* alphakernel\n",
                                       "\xff"};
  for (int round = 0; round < 3000; ++round) {
    std::string answer;
    for (int i = 0; i < 8; ++i) answer += parts[random() % parts.size()];
    answer.resize(answer.size() - random() % 5 % answer.size());
    const auto read = read_answer(answer, parent(), "n");
    if (!read) CHECK_FALSE(read.error().message.empty());
    static_cast<void>(source_of_answer(answer, parent()));
  }
}

TEST_CASE("the contract's worked example is a candidate") {
  const PromptSet prompts = PromptSet::with_folder("");
  const auto read = read_answer(prompts.text("contract"), parent(), "example.cu");
  INFO((read ? "" : read.error().message));
  REQUIRE(read);
  CHECK(read->candidate.plan.tunables.size() == 2);
}

TEST_CASE("prompts are filled, and a key without a value is named") {
  const PromptSet prompts = PromptSet::with_folder("");
  CHECK(prompts.version().size() == 12);
  CHECK(prompts.fill("unreadable", {{"complaint", "{{complaint}}"}}).find("used: {{complaint}}\n") !=
        std::string::npos);
  CHECK_THROWS_WITH(prompts.fill("unreadable", {}),
                    Catch::Contains("unreadable.md") && Catch::Contains("{{complaint}}"));
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

}  // namespace
}  // namespace ak::agent
