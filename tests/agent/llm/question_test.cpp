// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/question.h"

#include <catch2/catch.hpp>

#include "tests/agent/llm/question_samples.h"

namespace ak::agent {
namespace {

struct Writer {
  LlmProposerOptions options = test::options_with({"a"});
  Archive archive{1};
  Question about(const Choice& choice, int number = 1) const {
    return QuestionWriter(options, archive).about(choice, options.models[0], number);
  }
};

TEST_CASE("a question shows its parents and what came of them") {
  const Writer writer;
  const Attempt parent = test::passed_attempt("the parent's source", 100);
  Attempt second = test::passed_attempt("the other source", 200);
  second.variant = 1'001;
  const Question question = writer.about({.arm = "crossover", .parent = &parent, .second = &second});
  REQUIRE(question.request.messages.size() == 1);
  CHECK_THAT(question.request.messages[0].text, Catch::Contains("the parent's source") &&
                                                    Catch::Contains("what came of the parent's source") &&
                                                    Catch::Contains("the other source"));
  CHECK(question.parent.variant == 1'000);
  CHECK(question.second == 1'001);
  CHECK(question.request.max_output_tokens == 2'000);
  CHECK_FALSE(question.is_repeat);
}

TEST_CASE("several candidates are taken where another way is asked for, and points where points are") {
  const Writer writer;
  const Attempt parent = test::passed_attempt("source", 100, 16);
  CHECK(writer.about({.arm = "improve", .parent = &parent}).max_candidates == 1);
  CHECK(writer.about({.arm = "explore", .parent = &parent}).max_candidates == writer.options.max_candidates);
  const Question points = writer.about({.arm = "points", .parent = &parent});
  CHECK(points.max_candidates == 8);
  CHECK(points.asks_points());
}

TEST_CASE("the unchanging part is the same in every question, and quotations have other codes") {
  const Writer writer;
  const Attempt parent = test::passed_attempt("source", 100);
  const Choice choice{.arm = "improve", .parent = &parent};
  const Question first = writer.about(choice, 1), second = writer.about(choice, 2);
  CHECK(first.request.system == second.request.system);
  CHECK(first.request.messages[0].text != second.request.messages[0].text);
}

TEST_CASE("an answer that cannot be read is sent back with the error, at full length") {
  const Writer writer;
  Question question = writer.about({.arm = "fresh"});
  question.request.max_output_tokens = 17;  // cut to what was left then
  const Question again =
      QuestionWriter(writer.options, writer.archive).repeated(question, "Sorry.", "there is no candidate");
  CHECK(again.is_repeat);
  CHECK(again.request.max_output_tokens == 2'000);
  REQUIRE(again.request.messages.size() == 3);
  CHECK(again.request.messages[1].role == "assistant");
  CHECK(again.request.messages[1].text == "Sorry.");
  CHECK_THAT(again.request.messages[2].text, Catch::Contains("there is no candidate"));
}

TEST_CASE("a parent that was not profiled is limited by what limits another point of its source") {
  Writer writer;
  Attempt profiled = test::passed_attempt("source", 100);
  profiled.bottleneck = "dram_bound";
  writer.archive.add(profiled);
  const Attempt point = test::passed_attempt("source", 90);
  const QuestionWriter written(writer.options, writer.archive);
  CHECK(written.bottleneck_of(point) == "dram_bound");
  Attempt own = point;
  own.bottleneck = "latency_bound";
  CHECK(written.bottleneck_of(own) == "latency_bound");
  CHECK(written.bottleneck_of(test::passed_attempt("unknown", 90)).empty());
}

TEST_CASE("a question says what earlier searches tried against the parent's bottleneck") {
  Writer writer;
  writer.options.subject.remembered = [](const std::string& bottleneck) {
    return "tried against " + bottleneck;
  };
  Attempt parent = test::passed_attempt("source", 100);
  parent.bottleneck = "dram_bound";
  CHECK_THAT(writer.about({.arm = "improve", .parent = &parent}).request.messages[0].text,
             Catch::Contains("tried against dram_bound"));
}

}  // namespace
}  // namespace ak::agent
