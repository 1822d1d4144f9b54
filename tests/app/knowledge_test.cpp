// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "app/knowledge/decision_tree.h"
#include "app/knowledge/knowledge_page.h"
#include "app/knowledge/learn.h"
#include "db/database.h"
#include "tests/support/run_program.h"

namespace ak::app {
namespace {

const db::InsightScope kScope{"softmax", "sm_90a", "NVIDIA H200", "cuda"};

TimedVariant timed(RowId id, TunableValues tunables, double score_ns,
                   const std::string& name = "softmax/a.cu", const std::string& definition = "softmax_bf16") {
  return {.variant = id,
          .definition = definition,
          .source = name,
          .name = name,
          .tunables = std::move(tunables),
          .params = Json::object(),
          .score_ns = score_ns};
}

const db::Insight& about(const std::vector<db::Insight>& insights, const std::string& subject) {
  for (const db::Insight& insight : insights)
    if (insight.subject == subject) return insight;
  FAIL("nothing is said of " << subject);
  return insights.front();
}

/// VEC 4 is twice as fast as 1; ROWS does nothing; BLOCK is best at 128 with VEC 1 and at 256 with VEC 4.
std::vector<TimedVariant> grid() {
  std::vector<TimedVariant> variants;
  RowId id = 0;
  for (const std::int64_t vec : {1, 4})
    for (const std::int64_t rows : {1, 2})
      for (const std::int64_t block : {128, 256})
        variants.push_back(timed(++id, {{"VEC", vec}, {"ROWS", rows}, {"BLOCK", block}},
                                 (vec == 1 ? 2000 : 1000) * ((block == 128) == (vec == 1) ? 1.0 : 1.2)));
  return variants;
}

TEST_CASE("what a tunable does is learned from points that differ in nothing else") {
  const auto insights = learn_tunables(kScope, grid());
  REQUIRE(insights.size() == 3);
  const db::Insight& vec = about(insights, "softmax/a.cu VEC");
  CHECK(vec.text.find("VEC=4 is 2 times as fast as 1 (4 of 4 pairs)") != std::string::npos);
  CHECK(*vec.ratio == Approx(0.5));
  CHECK(vec.evidence["variants"][0] == Json({5, 1}));
  CHECK(about(insights, "softmax/a.cu ROWS").text.find("hardly matters") != std::string::npos);
}

TEST_CASE("a tunable whose best value depends on the others is said to") {
  auto variants = grid();
  for (TimedVariant& variant : variants)
    if (variant.tunables["VEC"] == 1) variant.score_ns *= variant.tunables["BLOCK"] == 128 ? 1 : 1.1;
  const auto insights = learn_tunables(kScope, variants);
  CHECK(about(insights, "softmax/a.cu BLOCK").text.find("depends on the other tunables") !=
        std::string::npos);
}

TEST_CASE("points of different shapes are never compared, and a few pairs are no insight") {
  std::vector<TimedVariant> variants;
  for (int i = 0; i < 8; ++i)
    variants.push_back(
        timed(i + 1, {{"VEC", i % 2}}, 1000 + i, "softmax/a.cu", "softmax " + std::to_string(i)));
  CHECK(learn_tunables(kScope, variants).empty());
  CHECK(learn_tunables(kScope, std::vector{timed(1, {{"VEC", 1}}, 9), timed(2, {{"VEC", 2}}, 5)}).empty());
}

TEST_CASE("the fastest source of each problem is counted, with its lead over the next") {
  const std::vector<TimedVariant> variants{
      timed(1, {}, 100, "softmax/a.cu", "x"), timed(2, {}, 200, "softmax/b.cu", "x"),
      timed(3, {}, 100, "softmax/a.cu", "y"), timed(4, {}, 800, "softmax/b.cu", "y"),
      timed(5, {}, 7, "softmax/b.cu", "alone")};
  const auto insights = learn_templates(kScope, variants);
  REQUIRE(insights.size() == 1);
  CHECK(insights[0].text.find("on 2 of 2 problems") != std::string::npos);
  CHECK(*insights[0].ratio == Approx(0.25));
}

ModelAttempt attempt(RowId id, const std::string& source, std::optional<double> score_ns) {
  ModelAttempt made;
  made.variant = id;
  made.name = "llm.cu";
  made.arm = "improve";
  made.claim = "Stage tiles in shared memory";
  made.source = source;
  made.status = score_ns ? "ok" : "incorrect";
  made.message = score_ns ? "" : "off by 3\nand more";
  made.bottleneck = "dram_bound";
  made.score_ns = score_ns;
  made.parent = 99;
  made.parent_source = "float4";
  made.parent_score_ns = 1000;
  return made;
}

TEST_CASE("what models added is judged by the result, failures included") {
  const std::vector<ModelAttempt> attempts{attempt(1, "float4 __shared__", 800),
                                           attempt(2, "float4 __shared__", std::nullopt),
                                           attempt(3, "__shared__", 2000)};
  const auto insights = learn_attempts(kScope, attempts);
  const db::Insight& shared = about(insights, "+shared memory");
  CHECK(shared.tries == 3);
  CHECK(shared.wins == 1);
  CHECK(shared.text.find("adding shared memory made kernels faster in 1 of 3 tries") != std::string::npos);
  CHECK(shared.text.find("1 incorrect") != std::string::npos);
  CHECK(shared.text.find("against dram_bound it helped in 1 of 3") != std::string::npos);
  CHECK(about(insights, "-vector loads").wins == 0);
  const db::Insight& first = about(insights, "variant 1");
  CHECK(first.text.find("Stage tiles in shared memory (improve, against dram_bound): 1.25 times as fast") ==
        0);
  CHECK(first.evidence["variants"] == Json({{1, 99}}));
  CHECK(about(insights, "variant 2").text.find("incorrect: off by 3") != std::string::npos);
  CHECK(about(insights, "incorrect").text.find("1 of 3 kernels by models") == 0);
}

TEST_CASE("what models expected is a lesson: what came of each change, and how much to believe") {
  std::vector<ModelAttempt> attempts{attempt(1, "a", 800), attempt(2, "b", 1100),
                                     attempt(3, "c", std::nullopt), attempt(4, "d", 900)};
  for (std::size_t i = 0; i < 3; ++i) {
    attempts[i].hypothesis =
        Hypothesis{.change = "wider loads", .reason = "sectors are wasted", .speedup = 1.5};
    if (attempts[i].score_ns) attempts[i].measured_speedup = 1000 / *attempts[i].score_ns;
  }
  const auto insights = learn_attempts(kScope, attempts);
  CHECK_THAT(about(insights, "variant 1").text,
             Catch::StartsWith(
                 "wider loads, because sectors are wasted (improve, against dram_bound): 1.25 times") &&
                 Catch::EndsWith("; 1.5 times as fast was expected: held"));
  CHECK_THAT(about(insights, "variant 2").text, Catch::EndsWith("refuted"));
  CHECK_THAT(about(insights, "variant 3").text, Catch::EndsWith("failed"));
  CHECK_THAT(about(insights, "variant 4").text,
             Catch::StartsWith("Stage tiles") && !Catch::Contains("expected"));
  const db::Insight& all = about(insights, "all models");
  CHECK(all.kind == "expectation");
  CHECK(all.tries == 3);
  CHECK(all.wins == 1);
  CHECK(all.text ==
        "of 3 changes whose gain models had stated 1 held, 1 were refuted, 1 failed; those compared were "
        "expected to "
        "be 1.5 times as fast on average and were 1.07");
  for (const db::Insight& insight : learn_attempts(kScope, std::vector{attempt(1, "a", 800)}))
    CHECK(insight.kind != "expectation");
}

TEST_CASE("a candidate that passed without a score did not fail, and every hypothesis about it counts") {
  std::vector<ModelAttempt> attempts(3, attempt(1, "__shared__", 800));
  for (std::size_t i = 1; i < 3; ++i)
    attempts[i].hypothesis = Hypothesis{.change = "wider loads", .reason = "why", .speedup = 1.5};
  attempts[1].measured_speedup = 1.25;
  attempts[2].status = "ok";
  attempts[2].score_ns.reset();
  const auto insights = learn_attempts(kScope, attempts);
  CHECK(about(insights, "all models").tries == 2);
  CHECK_THAT(about(insights, "all models").text, Catch::Contains("1 held, 0 were refuted, 0 failed"));
  CHECK(about(insights, "+shared memory").tries == 1);  // it is one kernel
  CHECK_THAT(about(insights, "variant 1").text, Catch::EndsWith("held"));
  CHECK(std::ranges::count(insights, "variant 1", &db::Insight::subject) == 1);
  attempts.erase(attempts.begin(), attempts.begin() + 2);
  CHECK_THAT(about(learn_attempts(kScope, attempts), "variant 1").text, Catch::EndsWith("not compared"));
}

TEST_CASE("insights are kept by what they are about, and found by any form of their words") {
  const testing::TemporaryFolder folder;
  const auto file = folder / "k.db";
  static_cast<void>(db::open_store(file));
  auto insights = learn_tunables(kScope, grid());
  const std::vector<std::string> kinds{"tunable"};
  db::replace_insights(file, kScope, kinds, insights);
  db::InsightScope other = kScope;
  other.algorithm = "gemm";
  std::vector<db::Insight> foreign{insights[0]};
  foreign[0].scope = other;
  foreign[0].text = "double buffered tiles; DROP TABLE insights";
  db::replace_insights(file, other, kinds, foreign);
  CHECK(db::find_insights(file, {}).size() == 4);
  db::InsightFilter filter;
  filter.words = "buffering \"' OR (";
  REQUIRE(db::find_insights(file, filter).size() == 1);
  CHECK(db::find_insights(file, filter)[0].scope.algorithm == "gemm");
  filter = {};
  filter.algorithm = "softmax";
  filter.kinds = {"tunable"};
  CHECK(db::find_insights(file, filter).size() == 3);

  filter.words = insights[0].text;
  const RowId id = db::find_insights(file, filter)[0].id;
  filter.words = "";
  insights.resize(1);  // the others no longer hold
  insights[0].text = "changed";
  db::replace_insights(file, kScope, kinds, insights);
  const auto kept = db::find_insights(file, filter);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].text == "changed");
  CHECK(kept[0].id == id);
  filter.words = "hardly";
  CHECK(db::find_insights(file, filter).empty());
  CHECK(knowledge_page(file, {}).find("double buffered tiles") != std::string::npos);
  // The section that this fills has its introduction, the others say what would fill them.
  CHECK(knowledge_page(file, {}).find("Nothing yet: a tree takes 30 timed points of one source.") !=
        std::string::npos);
  db::InsightFilter unknown;
  unknown.algorithm = "none";
  CHECK(knowledge_page(file, unknown).find("Nothing yet: searches that ask a model") != std::string::npos);
}

TEST_CASE("a decision tree splits by what decides, and only by that") {
  std::vector<TreeSample> samples;
  for (int i = 0; i < 40; ++i)
    samples.push_back({.features = {{"A", i % 4}, {"B", i / 4 % 2}, {"NOISE", i % 3}},
                       .log_time = (i % 4 <= 1 ? 0 : std::log(2.0)) + (i / 4 % 2 ? std::log(1.5) : 0)});
  const TreeNode root = fit_tree(samples);
  CHECK(root.feature == "A");
  CHECK(root.threshold == 1);
  CHECK(root.low->feature == "B");
  const std::string text = tree_markdown(root);
  CHECK(text.find("- A <= 1: 1.22 times the best known (20 points)\n  - B <= 0: 1.00 times") == 0);
  CHECK(text.find("NOISE") == std::string::npos);
  CHECK(tree_markdown(fit_tree({})).empty());
}

}  // namespace
}  // namespace ak::app
