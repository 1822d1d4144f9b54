// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/question_choice.h"

#include <catch2/catch.hpp>

#include "tests/agent/llm/question_samples.h"

namespace ak::agent {
namespace {

struct Chooser {
  explicit Chooser(bool ask_points = false) { options.ask_points = ask_points; }
  QuestionChoice::Plan next(const std::vector<std::size_t>& free = {0, 1}) {
    const QuestionChoice::Plan plan = choice.choose(free);
    bandit.credit(plan.credited, 0, 1);
    return plan;
  }
  LlmProposerOptions options = test::options_with({"a", "b"});
  Archive archive{1};
  Bandit bandit;
  QuestionChoice choice{options, archive, bandit};
};

TEST_CASE("with nothing to improve every free model is asked for a fresh start") {
  Chooser chooser;
  const auto first = chooser.next(), second = chooser.next();
  CHECK(first.credited == "a fresh");
  CHECK(first.model == 0);
  CHECK(first.choice.parent == nullptr);
  CHECK(second.credited == "b fresh");
  CHECK(second.model == 1);
}

TEST_CASE("only models that are free are asked") {
  Chooser chooser;
  for (int i = 0; i < 3; ++i) CHECK(chooser.next({1}).model == 1);
}

TEST_CASE("each way to ask each model is tried once before one is preferred") {
  Chooser chooser;
  chooser.archive.add(test::passed_attempt("one", 100));
  std::set<std::string> credited;
  for (int i = 0; i < 4; ++i) credited.insert(chooser.next().credited);
  CHECK(credited == std::set<std::string>{"a improve", "a explore", "b improve", "b explore"});
}

TEST_CASE("points are asked for once a source, the fastest first, where the space is worth it") {
  Chooser chooser(true);
  chooser.archive.add(test::passed_attempt("wide and slow", 200, 16));
  chooser.archive.add(test::passed_attempt("wide", 100, 16));
  chooser.archive.add(test::passed_attempt("narrow __shared__", 50, 15));
  const auto first = chooser.next({0});
  CHECK(first.choice.arm == "points");
  REQUIRE(first.choice.parent);
  CHECK(first.choice.parent->candidate.source == "wide");
  Chooser never;
  never.archive.add(test::passed_attempt("wide", 100, 16));
  for (int i = 0; i < 6; ++i) CHECK(never.next().choice.arm != "points");
  std::multiset<std::string> asked;
  for (int i = 0; i < 12; ++i)
    if (const auto plan = chooser.next(); plan.choice.arm == "points")
      asked.insert(plan.choice.parent->candidate.source);
  CHECK(asked.count("wide") == 0);
  CHECK(asked.count("wide and slow") <= 1);
  CHECK(asked.count("narrow __shared__") == 0);
}

}  // namespace
}  // namespace ak::agent
