// SPDX-License-Identifier: Apache-2.0
#include "core/plan/launch_plan.h"

#include <catch2/catch.hpp>

#include "core/error.h"

namespace ak {
namespace {

constexpr const char* kPlan = R"json({
  "problem": "gemm",
  "params": {"dtype": "bfloat16", "causal": true},
  "frozen": {"BLOCK": 512, "FAST": 1},
  "tunables": {
    "BLOCK": {"values": [128, 256, 512], "default": 256},
    "FAST": {"values": [0, 1], "default": 0}
  },
  "starts": [{"BLOCK": 512, "FAST": 0}, {"BLOCK": 128, "FAST": 1}],
  "constraints": ["N % 4 == 0"],
  "let": {"TILES": "ceil_div(N, BLOCK)", "HALF": "TILES // 2"},
  "workspace": [
    {"name": "partial", "dtype": "float32", "count": "TILES * 2", "init": "none"},
    {"name": "counter", "dtype": "int32", "count": "1", "init": "zero"}
  ],
  "tensor_maps": [
    {"name": "map_a", "tensor": "a", "dtype": "bfloat16", "dims": ["K", "M"], "strides_bytes": ["K * 2"],
     "box": ["64", "128"], "element_strides": ["1", "1"], "interleave": "none", "swizzle": "128B",
     "l2_promotion": "256B", "oob_fill": "nan"}
  ],
  "launches": [
    {"kernel": "tile<float, 4>", "grid": ["TILES", "2", "3"], "block": ["BLOCK", "1", "1"], "cluster": ["1", "2"],
     "shared_bytes": "BLOCK * 8", "pdl": true, "when": "TILES > 1",
     "args": ["a", "partial", "map_a", {"i32": "N"}, {"i64": "N * N"}, {"f32": 0.5}, {"f64": "N"}]},
    {"kernel": "pass", "grid": ["1"], "block": ["32"], "cooperative": true, "for": ["k", "0", "HALF"],
     "args": ["partial", {"i32": "k"}]}
  ],
  "options": ["fast_math", "maxrregcount=64"]
})json";

Json valid_plan() { return parse_json(kPlan); }

LaunchPlan plan_of(const Json& json) {
  const Result<LaunchPlan> result = launch_plan_from_json(json);
  INFO((result ? "" : result.error().message));
  REQUIRE(result.ok());
  return *result;
}

Environment plan_environment() {
  return {{"N", std::int64_t{1024}},
          {"K", std::int64_t{64}},
          {"M", std::int64_t{32}},
          {"BLOCK", std::int64_t{256}},
          {"FAST", std::int64_t{0}}};
}

ResolvedPlan resolved(const Json& json) {
  const Result<ResolvedPlan> result = resolve(plan_of(json), plan_environment());
  INFO((result ? "" : result.error().message));
  REQUIRE(result.ok());
  return *result;
}

/// The smallest plan there is, with `launch` merged into its launch and `rest` into the plan.
Json small(const char* launch, const char* rest = "{}") {
  Json json = parse_json(R"({"launches": [{"kernel": "k", "grid": [1], "block": [32], "args": []}]})");
  json["launches"][0].merge_patch(parse_json(launch));
  json.merge_patch(parse_json(rest));
  return json;
}

}  // namespace

TEST_CASE("a launch plan with every field survives the way through memory") {
  CHECK(to_json(plan_of(valid_plan())) == valid_plan());
  const Json once = to_json(plan_of(small("{}")));
  CHECK(to_json(plan_of(once)) == once);
}

TEST_CASE("a full launch plan resolves to numbers") {
  const ResolvedPlan plan = resolved(valid_plan());
  REQUIRE(plan.workspace.size() == 2);
  CHECK(plan.workspace[0].count == 8);
  CHECK(plan.workspace[1].init == WorkspaceInit::zero);
  REQUIRE(plan.tensor_maps.size() == 1);
  CHECK(plan.tensor_maps[0].dims == std::vector<std::int64_t>{64, 32});
  CHECK(plan.tensor_maps[0].strides_bytes == std::vector<std::int64_t>{128});
  CHECK(plan.tensor_maps[0].swizzle == "128B");
  REQUIRE(plan.launches.size() == 3);  // the loop runs twice
  const ResolvedLaunch& first = plan.launches[0];
  CHECK(first.kernel == "tile<float, 4>");
  CHECK(first.grid == std::array<std::uint32_t, 3>{4, 2, 3});
  CHECK(first.block == std::array<std::uint32_t, 3>{256, 1, 1});
  CHECK(first.cluster == std::array<std::uint32_t, 3>{1, 2, 1});
  CHECK(first.shared_bytes == 2048);
  CHECK_FALSE(first.pdl);
  CHECK_FALSE(first.cooperative);
  REQUIRE(first.arguments.size() == 7);
  CHECK(std::get<ResolvedPointer>(first.arguments[1]).name == "partial");
  CHECK(std::get<ResolvedTensorMapReference>(first.arguments[2]).name == "map_a");
  CHECK(std::get<ResolvedScalar>(first.arguments[3]).integer == 1024);
  CHECK(std::get<ResolvedScalar>(first.arguments[4]).integer == 1024 * 1024);
  CHECK(std::get<ResolvedScalar>(first.arguments[5]).real == 0.5);
  CHECK(std::get<ResolvedScalar>(first.arguments[6]).real == 1024.0);
  CHECK(plan.launches[1].cooperative);
  CHECK(std::get<ResolvedScalar>(plan.launches[1].arguments[1]).integer == 0);
  CHECK(std::get<ResolvedScalar>(plan.launches[2].arguments[1]).integer == 1);
}

TEST_CASE("a launch may start before the one before it has ended, but no call before the call before it") {
  const auto json = small(R"({"pdl": true, "for": ["k", "0", "3"]})");
  CHECK(plan_of(json).launches[0].pdl);
  std::vector<bool> early;
  for (const ResolvedLaunch& launch : resolved(json).launches) early.push_back(launch.pdl);
  CHECK(early == std::vector<bool>{false, true, true});
}

TEST_CASE("a dtype may be a param's, and an optional tensor that the problem lacks is a null pointer") {
  const LaunchPlan plan = plan_of(parse_json(R"json({
    "workspace": [{"name": "w", "dtype": "dtype", "count": 3}],
    "tensor_maps": [{"name": "m", "tensor": "a", "dtype": "dtype", "dims": [8], "box": [8]}],
    "launches": [{"kernel": "k", "grid": [1], "block": [1],
                  "args": [{"optional": "bias"}, {"optional": "a"}, "w", "m"]}]})json"));
  Environment known = plan_environment();
  known["dtype"] = std::string("bfloat16");
  known["sizeof_a"] = std::int64_t{2};
  const Result<ResolvedPlan> resolved = resolve(plan, known);
  REQUIRE(resolved.ok());
  CHECK(resolved->workspace[0].dtype == DType::bfloat16);
  CHECK(resolved->tensor_maps[0].dtype == DType::bfloat16);
  const auto& arguments = resolved->launches[0].arguments;
  CHECK(std::get<ResolvedPointer>(arguments[0]).name.empty());
  CHECK(std::get<ResolvedPointer>(arguments[1]).name == "a");
  CHECK(to_json(plan)["launches"][0]["args"][0] == Json{{"optional", "bias"}});
  known["dtype"] = std::string("row");
  CHECK_THAT(resolve(plan, known).error().message, Catch::StartsWith("workspace[0].dtype: 'dtype' is row"));
}

TEST_CASE("a scalar input is passed by value in its own type, or in one that holds it") {
  Environment known = plan_environment();
  known["scalar_eps"] = std::string("float32");
  known["scalar_count"] = std::string("int64");
  known["scalar_flag"] = std::string("bool");
  const auto plan_with = [](const std::string& arguments) {
    return plan_of(parse_json(R"({"launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [)" +
                              arguments + "]}]}"));
  };
  const auto plan =
      resolve(plan_with(R"("eps", {"optional": "count"}, "flag", {"f64": "eps"}, {"bool": 1})"), known);
  REQUIRE(plan.ok());
  const auto& arguments = plan->launches[0].arguments;
  const std::pair<std::string, ScalarType> kExpected[] = {{"eps", ScalarType::f32},
                                                          {"count", ScalarType::i64},
                                                          {"flag", ScalarType::boolean},
                                                          {"eps", ScalarType::f64}};
  for (std::size_t i = 0; i < std::size(kExpected); ++i) {
    const auto& input = std::get<ResolvedScalarInput>(arguments[i]);
    CHECK(std::pair(input.name, input.type) == kExpected[i]);
  }
  CHECK(to_json(resolved_plan_from_json(to_json(*plan))) == to_json(*plan));
  for (const char* narrower :
       {R"({"i64": "eps"})", R"({"i32": "count"})", R"({"bool": "count"})", R"({"bool": 2})"}) {
    INFO(narrower);
    CHECK_FALSE(resolve(plan_with(narrower), known).ok());
  }
}

TEST_CASE("a resolved plan survives JSON") {
  const Json json = to_json(resolved(valid_plan()));
  CHECK(to_json(resolved_plan_from_json(parse_json(json.dump()))) == json);
  Json broken = json;
  broken["launches"][0]["grid"] = {0, 1, 1};
  CHECK_THROWS_AS(resolved_plan_from_json(broken), Error);
  broken = json;
  broken["launches"][0]["shared_bytes"] = -1;
  CHECK_THROWS_AS(resolved_plan_from_json(broken), Error);
  CHECK_THROWS_AS(resolved_plan_from_json(Json::array()), Error);
}

TEST_CASE("defaults of a launch plan are filled in") {
  const LaunchPlan plan = plan_of(small(
      R"({"args": ["m"]})",
      R"({"tunables": {"A": {"values": [true, false]}}, "workspace": [{"name": "w", "dtype": "fp32", "count": 2}],
                "tensor_maps": [{"name": "m", "tensor": "w", "dtype": "fp32", "dims": [2], "box": [2]}]})"));
  CHECK(plan.tunables[0].values == std::vector<std::int64_t>{1, 0});
  CHECK(plan.tunables[0].default_value == 1);
  CHECK(plan.workspace[0].init == WorkspaceInit::none);
  CHECK(plan.tensor_maps[0].swizzle == "none");
  const Result<ResolvedPlan> resolved_plan = resolve(plan, {{"A", std::int64_t{1}}});
  REQUIRE(resolved_plan.ok());
  CHECK(resolved_plan->tensor_maps[0].element_strides == std::vector<std::int64_t>{1});
  CHECK(resolved_plan->launches[0].cluster == std::array<std::uint32_t, 3>{1, 1, 1});
}

TEST_CASE("a broken launch plan is refused with the field, what was expected and the nearest name") {
  struct Row {
    const char* patch;  // JSON patch of the full plan
    const char* message;
  };
  const Row rows[] = {
      {R"([{"op": "add", "path": "/launch", "value": 1}])",
       "unknown key 'launch'; did you mean 'launches'?; known:"},
      {R"([{"op": "remove", "path": "/launches"}])", "the key 'launches' is missing"},
      {R"([{"op": "replace", "path": "/launches", "value": []}])",
       "launches: expected at least one launch, got []"},
      {R"([{"op": "replace", "path": "/launches", "value": {}}])", "launches: expected a list, got {}"},
      {R"([{"op": "add", "path": "/launches/0/gridd", "value": [1]}])",
       "launches[0]: unknown key 'gridd'; did you mean 'grid'?"},
      {R"([{"op": "remove", "path": "/launches/1/args"}])", "launches[1]: the key 'args' is missing"},
      {R"([{"op": "replace", "path": "/launches/0/grid", "value": []}])",
       "launches[0].grid: expected a list of 1 to 3 integers or expressions, got []"},
      {R"([{"op": "replace", "path": "/launches/0/grid", "value": [1, 1, 1, 1]}])",
       "launches[0].grid: expected a list of 1 to 3 integers or expressions, got [1,1,1,1]"},
      {R"([{"op": "replace", "path": "/launches/0/grid/1", "value": 1.5}])",
       "launches[0].grid[1]: expected an integer or an expression string, got 1.5"},
      {R"([{"op": "replace", "path": "/launches/0/grid/1", "value": "N +"}])",
       "launches[0].grid[1]: 'N +': column 4: expected a number, a name or '(', found the end"},
      {R"([{"op": "replace", "path": "/launches/0/kernel", "value": ""}])",
       "launches[0].kernel: expected the C++ name of a kernel: letters, digits, '_', blanks and "
       ":<>,()*&+-/=!?|^~., "
       "got \"\""},
      {R"([{"op": "replace", "path": "/launches/0/pdl", "value": 1}])",
       "launches[0].pdl: expected true or false, got 1"},
      {R"([{"op": "replace", "path": "/launches/0/args/3", "value": {"int": "N"}}])",
       "launches[0].args[3]: expected a tensor or workspace name, {\"optional\": name}, or a scalar such as "
       "{\"i32\": \"N\"}"},
      {R"([{"op": "replace", "path": "/launches/0/args/3", "value": 7}])",
       "launches[0].args[3]: expected a tensor or workspace name, {\"optional\": name}, or a scalar such as "
       "{\"i32\": \"N\"}, got "
       "7"},
      {R"([{"op": "replace", "path": "/launches/0/args/3", "value": {"i32": 0.5}}])",
       "launches[0].args[3].i32: expected an integer or an expression string, got 0.5"},
      {R"([{"op": "replace", "path": "/launches/0/args/3", "value": {"f32": 1e39}}])",
       "launches[0].args[3].f32: expected a number that fits in f32, got 1e+39"},
      {R"([{"op": "replace", "path": "/launches/1/for", "value": ["k", 1]}])",
       "launches[1].for: expected [variable, low, high], got [\"k\",1]"},
      {R"([{"op": "replace", "path": "/launches/1/for/0", "value": "1k"}])",
       "launches[1].for[0]: expected an identifier, got \"1k\""},
      {R"([{"op": "move", "from": "/tunables/FAST", "path": "/tunables/fast"}])",
       "tunables.fast: expected a name of capital letters, digits and '_', such as BLOCK"},
      {R"([{"op": "replace", "path": "/tunables/FAST/values", "value": []}])",
       "tunables.FAST.values: expected at least one value, got []"},
      {R"([{"op": "replace", "path": "/tunables/FAST/values", "value": [1, true]}])",
       "tunables.FAST.values[1]: expected values that differ from each other, got true"},
      {R"([{"op": "replace", "path": "/tunables/FAST/values/0", "value": 18446744073709551615}])",
       "tunables.FAST.values[0]: expected an integer of 64 bits, got 18446744073709551615"},
      {R"([{"op": "replace", "path": "/tunables/FAST/values/0", "value": "x"}])",
       "tunables.FAST.values[0]: expected an integer or a boolean, got \"x\""},
      {R"([{"op": "replace", "path": "/tunables/FAST/default", "value": 2}])",
       "tunables.FAST.default: expected one of the values, got 2"},
      {R"([{"op": "add", "path": "/frozen/BLOCKS", "value": 2}])",
       "frozen.BLOCKS: expected the name of a tunable, got 2"},
      {R"([{"op": "replace", "path": "/frozen/BLOCK", "value": 2}])",
       "frozen.BLOCK: expected one of the values of BLOCK, got 2"},
      {R"([{"op": "replace", "path": "/starts/1", "value": {"BLOCKS": 2}}])",
       "starts[1].BLOCKS: expected the name of a tunable, got 2"},
      {R"([{"op": "replace", "path": "/starts/1/FAST", "value": 2}])",
       "starts[1].FAST: expected one of the values of FAST, got 2"},
      {R"([{"op": "add", "path": "/let/BLOCK", "value": 2}])", "let.BLOCK: the name of a tunable too"},
      {R"([{"op": "add", "path": "/let/a-b", "value": 2}])",
       "let.a-b: expected an identifier as name, got 2"},
      {R"([{"op": "replace", "path": "/constraints/0", "value": "N % "}])",
       "constraints[0]: 'N % ': column 5:"},
      {R"([{"op": "replace", "path": "/workspace/0/init", "value": "one"}])",
       "workspace[0].init: expected \"none\" or \"zero\", got \"one\""},
      {R"([{"op": "replace", "path": "/workspace/0/dtype", "value": "Float"}])",
       "workspace[0].dtype: expected a dtype (float64, float32,"},
      {R"([{"op": "replace", "path": "/workspace/1/name", "value": "partial"}])",
       "workspace[1].name: expected a name that no other workspace has, got \"partial\""},
      {R"([{"op": "replace", "path": "/tensor_maps/0/name", "value": "partial"}])",
       "tensor_maps[0].name: expected a name that nothing else has, got \"partial\""},
      {R"([{"op": "replace", "path": "/tensor_maps/0/box", "value": [1]}])",
       "tensor_maps[0].box: expected a list of 2 to 2 integers or expressions, got [1]"},
      {R"([{"op": "remove", "path": "/tensor_maps/0/strides_bytes"}])",
       "tensor_maps[0]: the key 'strides_bytes' is missing"},
      {R"([{"op": "replace", "path": "/tensor_maps/0/dims", "value": [1, 2, 3, 4, 5, 6]}])",
       "tensor_maps[0].dims: expected a list of 1 to 5 integers or expressions"},
      {R"([{"op": "replace", "path": "/tensor_maps/0/swizzle", "value": "16B"}])",
       "tensor_maps[0].swizzle: expected one of none, 32B, 64B, 128B, got \"16B\""},
      {R"([{"op": "replace", "path": "/options", "value": "fast_math"}])", "options: expected a list"},
      {R"([{"op": "replace", "path": "/params", "value": 3}])", "params: expected an object, got 3"},
  };
  for (const Row& row : rows) {
    INFO(row.patch);
    const Result<LaunchPlan> result = launch_plan_from_json(valid_plan().patch(parse_json(row.patch)));
    REQUIRE_FALSE(result.ok());
    CHECK_THAT(result.error().message, Catch::StartsWith(row.message));
  }
  CHECK_FALSE(launch_plan_from_json(Json(nullptr)).ok());
}

TEST_CASE("what a start does not name has its default") {
  Json json = valid_plan();
  json["starts"] = parse_json(R"([{"FAST": 1}, {}])");
  CHECK(plan_of(json).starts ==
        std::vector<TunableValues>{{{"BLOCK", 256}, {"FAST", 1}}, {{"BLOCK", 256}, {"FAST", 0}}});
}

TEST_CASE("messages about a launch plan are one bounded line of UTF-8 whatever the plan holds") {
  std::string long_text(5000, 'x');
  for (const std::string& text : {long_text + "\n", std::string(58, 'x') + "\xC3\xA9\xC3\xA9\xC3\xA9"}) {
    for (const char* path : {"/launches/0/gridd", "/let/", "/launches/0/when", "/tunables/BLOCK/default"}) {
      Json json = valid_plan();
      json[Json::json_pointer(std::string(path) + (std::string(path) == "/let/" ? text : ""))] = text;
      const Result<LaunchPlan> result = launch_plan_from_json(json);
      REQUIRE_FALSE(result.ok());
      CHECK(result.error().message.size() < 400);
      CHECK_NOTHROW(Json(result.error().message).dump());
    }
  }
}

TEST_CASE("a plan that cannot run for these sizes says which field is wrong and its value") {
  struct Row {
    Json plan;
    const char* message;
  };
  const Row rows[] = {
      {small(R"({"grid": ["N - 1024"]})"), "launches[0].grid[0] 'N - 1024' is 0, expected 1 to 2147483647"},
      {small(R"({"grid": [2147483648]})"),
       "launches[0].grid[0] '2147483648' is 2147483648, expected 1 to 2147483647"},
      {small(R"({"grid": [1, 65536]})"), "launches[0].grid[1] '65536' is 65536, expected 1 to 65535"},
      {small(R"({"grid": [1, 1, 65536]})"), "launches[0].grid[2] '65536' is 65536, expected 1 to 65535"},
      {small(R"({"block": [1025]})"), "launches[0].block[0] '1025' is 1025, expected 1 to 1024"},
      {small(R"({"block": [1, 1, 65]})"), "launches[0].block[2] '65' is 65, expected 1 to 64"},
      {small(R"({"block": [32, 32, 2]})"), "launches[0].block has 2048 threads, at most 1024 are possible"},
      {small(R"({"cluster": [17]})"), "launches[0].cluster[0] '17' is 17, expected 1 to 16"},
      {small(R"({"grid": [8, 8], "cluster": [8, 4]})"),
       "launches[0].cluster has 32 blocks, at most 16 are possible"},
      {small(R"({"grid": [6], "cluster": [4]})"),
       "launches[0].grid[0] is 6, expected a multiple of cluster[0], which is 4"},
      {small(R"({"shared_bytes": -1})"), "launches[0].shared_bytes is -1"},
      {small(R"({"shared_bytes": "2 ** 40"})"), "launches[0].shared_bytes is 1099511627776"},
      {small(R"({"grid": ["BLOKC"]})"), "launches[0].grid[0] 'BLOKC': column 1: unknown name 'BLOKC'"},
      {small(R"({"grid": ["'a'"]})"), "launches[0].grid[0] ''a'': expected an integer"},
      {small(R"({"args": [{"i32": "2 ** 31"}]})"),
       "launches[0].args[0] is 2147483648, which does not fit an i32; pass an i64"},
      {small(R"({"args": [{"i32": "-2 ** 31 - 1"}]})"), "launches[0].args[0] is -2147483649"},
      {small(R"({"when": "0"})"), "no launch remains"},
      {small(R"({"for": ["k", 0, 0]})"), "no launch remains"},
      {small(R"({"for": ["k", 0, 4097]})"), "launches[0].for has more than 4096 steps"},
      {small(R"({"for": ["k", "-9223372036854775808", "2 ** 62"], "when": "0"})"),
       "launches[0].for has more than 4096 steps"},
      {small(R"({"for": ["k", 0, "1 // 0"]})"), "launches[0].for[2] '1 // 0': column 3: division"},
      {small("{}", R"({"constraints": ["N % 3 == 0"]})"), "the constraint 'N % 3 == 0' does not hold"},
      {small("{}", R"({"let": {"A": "B", "B": "1"}})"), "let.A 'B': column 1: unknown name 'B'"},
      {small("{}", R"({"workspace": [{"name": "w", "dtype": "fp32", "count": "-1"}]})"),
       "workspace[0].count is -1"},
      {small("{}", R"({"workspace": [{"name": "w", "dtype": "fp32", "count": "2 ** 32 + 1"}]})"),
       "workspace[0].count is 4294967297: workspace is limited to 17179869184 bytes in all"},
      {small("{}", R"({"workspace": [{"name": "v", "dtype": "fp64", "count": "2 ** 31"},
                                     {"name": "w", "dtype": "int8", "count": 1}]})"),
       "workspace[1].count is 1: workspace is limited"},
      {small("{}", R"({"workspace": [{"name": "w", "dtype": "element", "count": 1}]})"),
       "workspace[0].dtype: 'element' is neither a dtype nor a param"},
      {small(R"({"args": ["m"]})",
             R"({"tensor_maps": [{"name": "m", "tensor": "a", "dtype": "fp32", "dims": [0], "box": [1]}]})"),
       "tensor_maps[0].dims[0] is 0, expected at least 1"},
  };
  for (const Row& row : rows) {
    INFO(row.plan.dump());
    const Result<ResolvedPlan> result = resolve(plan_of(row.plan), plan_environment());
    REQUIRE_FALSE(result.ok());
    CHECK_THAT(result.error().message, Catch::StartsWith(row.message));
  }
}

TEST_CASE("a plan at the limits resolves") {
  for (const Json& json :
       {small(R"({"grid": [2147483647, 65535, 65535], "block": [4, 4, 64]})"), small(R"({"block": [1024]})"),
        small(R"({"grid": [32], "cluster": [16]})"), small(R"({"for": ["k", 0, 4096]})"),
        small(R"({"args": [{"i32": "2 ** 31 - 1"}, {"i32": "-2 ** 31"}]})"),
        small("{}", R"({"workspace": [{"name": "w", "dtype": "fp32", "count": "2 ** 32"}]})")}) {
    INFO(json.dump());
    CHECK(resolve(plan_of(json), plan_environment()).ok());
  }
}

TEST_CASE("more launches than the limit are refused, over all entries together") {
  Json json = small(R"({"for": ["k", 0, 4096]})");
  json["launches"].push_back(json["launches"][0]);
  json["launches"][1]["for"] = {"k", 0, 1};
  CHECK(resolve(plan_of(json), plan_environment()).error().message == "more than 4096 launches");
}

TEST_CASE("when and for choose launches with the loop variable in sight") {
  const ResolvedPlan plan = resolved(
      small(R"({"for": ["k", 3, 8], "when": "k % 2 == 1", "grid": ["k"], "args": [{"i32": "k * k"}]})"));
  REQUIRE(plan.launches.size() == 3);
  CHECK(plan.launches[0].grid[0] == 3);
  CHECK(plan.launches[2].grid[0] == 7);
  CHECK(std::get<ResolvedScalar>(plan.launches[1].arguments[0]).integer == 25);
}

namespace {

std::string plan_error(const Json& json) {
  const Result<LaunchPlan> result = launch_plan_from_json(json);
  return result ? "" : result.error().message;
}

Json preparing() {
  return parse_json(R"json({
    "workspace": [{"name": "columns", "dtype": "float32", "count": "N", "prepared": true}],
    "prepare": [{"kernel": "pack", "grid": ["N"], "block": [32], "pdl": true, "args": ["w", "columns"]}],
    "launches": [{"kernel": "k", "grid": [1], "block": [32], "args": ["x", "columns", "y"]}]
  })json");
}

}  // namespace

TEST_CASE("a plan may prepare weights, and says so again when it is written and resolved") {
  const LaunchPlan plan = plan_of(to_json(plan_of(preparing())));
  REQUIRE(plan.prepare.size() == 1);
  CHECK(plan.prepare[0].kernel == "pack");
  CHECK(plan.workspace[0].prepared);
  const ResolvedPlan sent = resolved_plan_from_json(to_json(resolved(preparing())));
  REQUIRE(sent.prepare.size() == 1);
  CHECK(sent.launches.size() == 1);
  CHECK(sent.workspace[0].prepared);
  CHECK_FALSE(sent.prepare[0].pdl);  // there is nothing before it
}

TEST_CASE("plans without preparation are written as before") {
  CHECK_FALSE(to_json(plan_of(valid_plan())).contains("prepare"));
  CHECK_FALSE(to_json(resolved(valid_plan())).contains("prepare"));
  CHECK_FALSE(to_json(resolved(valid_plan()))["workspace"][0].contains("prepared"));
}

TEST_CASE("memory that outlives a call is written by preparation, and preparation writes no other") {
  Json never_written = preparing();
  never_written["prepare"][0]["args"] = {"w"};
  CHECK(plan_error(never_written).find("'columns' is prepared, but no launch of \"prepare\" is passed it") !=
        std::string::npos);
  Json not_kept = preparing();
  not_kept["workspace"][0].erase("prepared");
  CHECK(plan_error(not_kept).find("give it \"prepared\": true") != std::string::npos);
  Json lost = preparing();
  lost["workspace"] = Json::array();
  lost["prepare"][0]["args"] = {"w"};
  CHECK(plan_error(lost).find("what these launches write would be lost") != std::string::npos);
}

TEST_CASE("a tensor map of a prepared workspace passes it on") {
  Json json = preparing();
  json["tensor_maps"] =
      parse_json(R"([{"name": "map", "tensor": "columns", "dtype": "float32", "dims": ["N"], "box": [32]}])");
  json["prepare"][0]["args"] = {"w", "map"};
  CHECK(plan_of(json).prepare.size() == 1);
}

}  // namespace ak
