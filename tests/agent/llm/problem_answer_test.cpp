// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/problem_answer.h"

#include <catch2/catch.hpp>

namespace ak::agent {
namespace {

std::string block_of(const std::string& info, const std::string& text) {
  return "```" + info + "\n" + text + "\n```\n";
}

std::string whole_draft() {
  std::string answer = "I thought about it.\n";
  for (const std::string_view name : kDraftFileNames)
    answer += block_of("text " + std::string(name), "of " + std::string(name));
  return answer;
}

std::string error_of(const std::string& answer, const DraftFiles& former = {}) {
  const auto read = read_problem_answer(answer, former);
  INFO(answer);
  REQUIRE_FALSE(read);
  return read.error().message;
}

using Catch::Contains;

TEST_CASE("a draft's files are the blocks that bear their names") {
  const auto read = read_problem_answer(whole_draft() + block_of("python", "print('a remark')"), {});
  REQUIRE(read);
  CHECK(read->size() == kDraftFileNames.size());
  CHECK(read->at("reference.cu") == "of reference.cu\n");
  CHECK(read_problem_answer("<think>" + block_of("x ../y", "") + "</think>" + whole_draft(), {}));
}

TEST_CASE("a repair gives the files that change, and the others stay") {
  const DraftFiles former = read_problem_answer(whole_draft(), {}).value();
  const auto read = read_problem_answer(block_of("cuda reference.cu", "another"), former);
  REQUIRE(read);
  CHECK(read->at("reference.cu") == "another\n");
  CHECK(read->at("problem.json") == "of problem.json\n");
  CHECK_THAT(error_of("I see no mistake.", former), Contains("it has no file"));
}

TEST_CASE("a draft that is incomplete, or names anything but its files, is refused with the reason") {
  CHECK_THAT(error_of(""), Contains("it has no file"));
  CHECK_THAT(error_of(block_of("json problem.json", "{}")), Contains("workloads.jsonl is missing"));
  CHECK_THAT(error_of(whole_draft() + "```json problem.json\n{"), Contains("not closed"));
  CHECK_THAT(error_of(whole_draft() + block_of("json problem.json", "{}")),
             Contains("two blocks of problem.json"));
  for (const std::string name : {"../problem.json", "/etc/problem.json", "a/problem.json", "PROBLEM.JSON",
                                 "draft.json", "problem.json\t.", "k.cu", "..", "x\\y"})
    CHECK_THAT(error_of(whole_draft() + block_of("text " + name, "x")), Contains("the files of a draft are"));
  CHECK_THAT(error_of(whole_draft() + block_of("../x", "x")), Contains("'../x'"));
  const DraftFiles former = read_problem_answer(whole_draft(), {}).value();
  CHECK_THAT(error_of(block_of("reference.cu", std::string(kMaxDraftFileBytes, 'x')), former),
             Contains("at most 65536"));
  CHECK_THAT(error_of(block_of("reference.cu", "\x1b[2J"), former), Contains("control character"));
  CHECK_THAT(error_of(block_of("reference.cu", "\xe2\x80\xae"), former), Contains("control character"));
  CHECK_THAT(error_of(block_of("reference.cu", "\xff"), former), Contains("not UTF-8"));
  CHECK(read_problem_answer(block_of("reference.cu", "a\tb\r"), former));
}

}  // namespace
}  // namespace ak::agent
