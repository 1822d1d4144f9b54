// SPDX-License-Identifier: Apache-2.0
// Launch plans as files have them: short, and the same plan when they are read.
#include "core/plan/plan_text.h"

#include <catch2/catch.hpp>
#include <random>

#include "core/text/filled_json.h"
#include "tests/support/fuzz_iterations.h"

namespace ak {
namespace {

LaunchPlan plan_of(const std::string& json) {
  const Result<LaunchPlan> plan = launch_plan_from_json(parse_json(json));
  INFO((plan ? "" : plan.error().message));
  REQUIRE(plan.ok());
  return *plan;
}

/// Plans with everything that plans may have, drawn at random.
class RandomPlan {
 public:
  explicit RandomPlan(unsigned seed) : random_(seed) {}

  Json draw() {
    Json plan = Json::object();
    if (chance()) plan["tunables"] = tunables();
    if (chance()) plan["constraints"] = list(5, [&] { return expression(); });
    if (chance()) plan["let"] = {{"FIRST", expression()}, {"SECOND", expression()}};
    if (chance()) plan["workspace"] = Json::array({workspace("w"), workspace("v")});
    if (chance()) plan["tensor_maps"] = Json::array({tensor_map()});
    plan["launches"] = list(4, [&] { return launch(); });
    if (chance()) plan["options"] = {"fast_math", "maxrregcount=64"};
    if (chance()) plan["problem"] = "softmax";
    if (chance()) plan["params"] = {{"dtype", "bfloat16"}, {"bias", 1}};
    if (plan.contains("tunables") && chance()) plan["frozen"] = {{"BLOCK", 128}};
    return plan;
  }

 private:
  bool chance() { return random_() % 2 == 0; }
  template <class Draw>
  Json list(unsigned most, Draw draw) {
    Json items = Json::array();
    for (unsigned left = 1 + static_cast<unsigned>(random_()) % most; left > 0; --left)
      items.push_back(draw());
    return items;
  }
  Json expression() {
    static const std::vector<Json> all{
        "N",
        7,
        "7",
        "-3",
        "-0",
        "N // 128 + (4 if dtype == 'float32' else 2)",
        0,
        "N % 1 == 0",
        "\"*/\" == 'x'",
        "ceil_div(M * N, max(BLOCK * 4, 1024)) + round_up(ceil_div(M, 64) * ceil_div(N, 64) * 131072, 4096)"};
    return all[random_() % all.size()];
  }
  Json tunables() {
    return {{"BLOCK", {{"values", {64, 128, 256}}, {"default", chance() ? 64 : 256}}},
            {"SWITCH", {{"values", {true, false}}}}};
  }
  Json workspace(const char* name) {
    Json one{{"name", name}, {"dtype", chance() ? "int32" : "dtype"}, {"count", expression()}};
    if (chance()) one["init"] = chance() ? "zero" : "none";
    return one;
  }
  Json tensor_map() {
    Json map{{"name", "map"}, {"tensor", "3"}, {"dtype", "float32"}};
    map["dims"] = {expression(), expression()};
    map["strides_bytes"] = {expression()};
    map["box"] = {64, expression()};
    if (chance()) map["element_strides"] = {1, expression()};
    if (chance()) map["swizzle"] = chance() ? "128B" : "none";
    if (chance()) map["oob_fill"] = chance() ? "nan" : "none";
    return map;
  }
  Json argument() {
    static const std::vector<Json> all{"a",          "12",          {{"optional", "5"}}, {{"f32", 0.5}},
                                       {{"f32", 1}}, {{"f32", "1"}}};
    if (chance()) return all[random_() % all.size()];
    return {{chance() ? "i32" : "i64", expression()}};
  }
  Json launch() {
    Json one{{"kernel", chance() ? "k<float, 4>" : "none"}};
    one["grid"] = list(3, [&] { return expression(); });
    one["block"] = list(3, [&] { return expression(); });
    if (chance()) one["cluster"] = list(3, [&] { return expression(); });
    one["args"] = list(9, [&] { return argument(); });
    if (chance()) one["shared_bytes"] = expression();
    if (chance()) one["cooperative"] = chance();
    if (chance()) one["pdl"] = chance();
    if (chance()) one["when"] = expression();
    if (chance()) one["for"] = {"i", expression(), expression()};
    return one;
  }
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("a plan of any kind is the same when its text is read") {
  for (int i = 0; i < test::fuzz_iterations(500); ++i) {
    const Json drawn = RandomPlan(static_cast<unsigned>(i)).draw();
    const LaunchPlan plan = plan_of(drawn.dump());
    const std::string text = plan_text(plan);
    INFO(text);
    REQUIRE(to_json(plan_of(text)) == to_json(plan));
    REQUIRE(plan_text(plan_of(text)) == text);
  }
}

TEST_CASE("the text of a plan has a line an entry, and leaves out what is assumed") {
  const LaunchPlan plan = plan_of(R"json({
    "problem": "gemm", "params": {"dtype": "bfloat16"}, "frozen": {"BM": 64, "BN": 128},
    "tunables": {"BM": {"values": [64, 128], "default": 64}, "BN": {"values": [64, 128], "default": 128}},
    "constraints": ["BM * BN <= 8192", "ARCH == 90"],
    "workspace": [{"name": "partial", "dtype": "float32", "count": "M * N", "init": "none"}],
    "launches": [{"kernel": "gemm_wgmma", "grid": ["CLUSTERS * CLUSTER"], "block": ["256"], "cooperative": false,
      "args": ["map_a", "map_b", "map_c", {"optional": "bias"}, {"i32": "M"}, {"i32": "N"}, {"f32": 0.5}],
      "when": "K % 8 == 0 and N % 8 == 0"}]})json");
  CHECK(plan_text(plan) == R"json({
  "problem": "gemm",
  "params": {"dtype": "bfloat16"},
  "frozen": {"BM": 64, "BN": 128},
  "tunables": {
    "BM": {"values": [64, 128]},
    "BN": {"values": [64, 128], "default": 128}
  },
  "constraints": ["BM * BN <= 8192", "ARCH == 90"],
  "workspace": [
    {"name": "partial", "dtype": "float32", "count": "M * N"}
  ],
  "launches": [
    {"kernel": "gemm_wgmma", "grid": ["CLUSTERS * CLUSTER"], "block": [256], "when": "K % 8 == 0 and N % 8 == 0",
     "args": ["map_a", "map_b", "map_c", {"optional": "bias"}, {"i32": "M"}, {"i32": "N"}, {"f32": 0.5}]}
  ]
})json");
}

TEST_CASE("JSON is broken between entries at the last column, and nowhere else") {
  const Json json =
      parse_json(R"({"a": [], "b": {}, "long": ["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"], "n": 1})");
  CHECK(filled_json(json, 80) ==
        "{\n  \"a\": [],\n  \"b\": {},\n  \"long\": [\"aaaaaaaaaa\", \"bbbbbbbbbb\", \"cccccccccc\"],\n  "
        "\"n\": 1\n}");
  CHECK(filled_json(json, 40) ==
        "{\n  \"a\": [],\n  \"b\": {},\n  \"long\": [\n    \"aaaaaaaaaa\",\n    "
        "\"bbbbbbbbbb\",\n    \"cccccccccc\"\n  ],\n  \"n\": 1\n}");
  CHECK(filled_json(Json::object(), 40) == "{}");
  for (const std::size_t columns : {20, 40, 60, 100}) {
    const Json nested{{"k", {{{"x", std::vector<int>(20, 7)}, {"y", "text"}}}}};
    CHECK(parse_json(filled_json(nested, columns)) == nested);
  }
}

}  // namespace ak
