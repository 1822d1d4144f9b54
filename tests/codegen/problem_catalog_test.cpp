// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/problem_catalog.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen/problem/held_out.h"
#include "core/error.h"
#include "tests/codegen/sample_problem.h"
#include "tests/support/daily_sample.h"

using namespace ak;
using namespace ak::codegen;
using ak::testing::SampleProblem;

namespace {

/// The message and code of the error that `action` throws.
template <class Action>
std::pair<std::string, ExitCode> error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.what(), error.code()};
  }
  return {"no error", ExitCode::ok};
}

/// Params with this choice: defaults where they go with it, else with the first choice of another
/// param that does.
Params params_with(const Problem& problem, const ParamSpec& param, const Value& choice) {
  for (const ParamSpec& other : problem.params) {
    for (const Value& also : other.choices) {
      std::map<std::string, std::string> given{{other.name, to_string(also)}};
      given[param.name] = to_string(choice);
      if (error_of([&] { static_cast<void>(choose_params(problem, given)); }).second == ExitCode::ok)
        return choose_params(problem, given);
    }
  }
  FAIL(param.name << "=" << to_string(choice) << " goes with nothing");
  return {};
}

}  // namespace

TEST_CASE("params choose the definition: name, dtypes and fixed axes") {
  const SampleProblem sample;
  const auto instance = sample.instantiate({{"dtype", "bf16"}, {"head_dim", "128"}, {"causal", "true"}});
  CHECK(instance->definition.name == "scale_d128_bf16_causal");
  CHECK(instance->definition.inputs[0].dtype == DType::bfloat16);
  CHECK(instance->definition.axes[1].value == 128);
  CHECK(sample.instantiate()->definition.name == "scale_d64_fp32_no_causal");
}

TEST_CASE("the definition is a plain FlashInfer-Bench definition that round-trips") {
  const SampleProblem sample;
  const auto instance = sample.instantiate();
  const auto again = definition_from_json(to_json(instance->definition));
  REQUIRE(again.ok());
  CHECK(again->hash() == instance->definition.hash());
}

TEST_CASE("a dtype may follow from the params, and combinations that do not exist are refused by name") {
  SampleProblem sample;
  sample.json["definition"]["outputs"]["y"]["dtype"] = "'int32' if causal else dtype";
  sample.json["param_constraints"] = {"not causal or dtype == 'float32'"};
  CHECK(sample.instantiate({{"dtype", "bf16"}})->definition.outputs[0].dtype == DType::bfloat16);
  CHECK(sample.instantiate({{"causal", "true"}})->definition.outputs[0].dtype == DType::int32);
  const auto [message, code] = error_of([&] {
    static_cast<void>(sample.instantiate({{"causal", "true"}, {"dtype", "bf16"}}));
  });
  CHECK(code == ExitCode::usage);
  CHECK_THAT(message,
             Catch::EndsWith("no causal=1 with dtype=bfloat16: expected not causal or dtype == 'float32'"));
}

TEST_CASE("formulas see axes, params and element sizes") {
  const SampleProblem sample;
  const auto instance = sample.instantiate({{"dtype", "bf16"}});
  const auto bytes = instance->bytes_read.evaluate_integer(instance->environment({{"N", 10}}));
  REQUIRE(bytes.ok());
  CHECK(*bytes == 10 * 64 * 2);
}

TEST_CASE("the tolerance may depend on the params") {
  SampleProblem sample;
  sample.json["tolerance"]["floor_ulps"] = "16 if dtype == 'float32' else 2";
  CHECK(sample.instantiate()->tolerance.floor_ulps == 16);
  CHECK(sample.instantiate({{"dtype", "bf16"}})->tolerance.floor_ulps == 2);
  sample.json["tolerance"]["allow_nondeterministic"] = "dtype == 'float32'";
  CHECK(sample.instantiate()->tolerance.allow_nondeterministic);
  CHECK(!sample.instantiate({{"dtype", "bf16"}})->tolerance.allow_nondeterministic);
  sample.json["tolerance"]["allow_nondeterministic"] = true;
  CHECK(sample.instantiate({{"dtype", "bf16"}})->tolerance.allow_nondeterministic);
}

TEST_CASE("an exemption from the audit names an automatic mutation, what it is for, and a reason") {
  SampleProblem sample;
  sample.json["audit_exempt"] = {{"identity", "it is one"}, {"ignored_end", {{"x", "it is padding"}}}};
  const auto exempt = sample.instantiate()->audit_exempt;
  CHECK(exempt.at("identity").at("") == "it is one");
  CHECK(exempt.at("ignored_end").at("x") == "it is padding");
  struct Row {
    std::string mutation;
    Json reason;
    std::string words;
  };
  for (const auto& [mutation, reason, words] :
       {Row{"identity", "", "the reason why"}, Row{"identity", " ", "the reason why"},
        Row{"identity", {{"x", "why"}}, "'x' is not an output"},
        Row{"identity", {{"y", " "}}, "the reason why"},
        Row{"ignored_end", "for every input", "the inputs that it is right for"},
        Row{"ignored_end", {{"y", "why"}}, "'y' is not an input"}, Row{"ignored_end", 3, "the inputs that"},
        Row{"zeroes", "why not", "not an automatic mutation"}}) {
    sample.json["audit_exempt"] = {{mutation, reason}};
    const auto [message, code] = error_of([&] { static_cast<void>(sample.instantiate()); });
    CHECK(code == ExitCode::bad_input);
    CHECK_THAT(message, Catch::Contains("audit_exempt") && Catch::Contains(words));
  }
}

TEST_CASE("a degenerate problem says why, and its definition has the tag") {
  SampleProblem sample;
  CHECK(sample.instantiate()->definition.tags.empty());
  sample.json["degenerate"] = "y is 1 for all inputs";
  CHECK(sample.instantiate()->definition.tags == std::vector<std::string>{std::string(kDegenerateTag)});
  sample.json["degenerate"] = "";
  const auto [message, code] = error_of([&] { static_cast<void>(sample.instantiate()); });
  CHECK(code == ExitCode::bad_input);
  CHECK_THAT(message, Catch::Contains("degenerate") && Catch::Contains("what shows that results"));
}

TEST_CASE("a mutation exists only where its `when` holds") {
  SampleProblem sample;
  const auto mutations = sample.instantiate()->mutations.size();
  sample.json["mutations"].push_back(
      {{"name", "l"}, {"what", "errs"}, {"macro", "AK_MUTATION_L"}, {"when", "dtype == 'bfloat16'"}});
  CHECK(sample.instantiate()->mutations.size() == mutations);
  CHECK(sample.instantiate({{"dtype", "bf16"}})->mutations.size() == mutations + 1);
}

TEST_CASE("a problem that calls its mutations by their old names has the same ones") {
  SampleProblem sample;
  sample.json["lesions"] = {{{"name", "none"}, {"what", "does nothing"}, {"macro", "AK_LESION_NONE"}}};
  const auto old = sample.instantiate()->mutations;
  REQUIRE(old.size() == 1);
  CHECK(old[0].macro == "AK_LESION_NONE");
  sample.json["mutations"] = sample.json["lesions"];
  CHECK_THAT(error_of([&] { static_cast<void>(sample.instantiate()); }).first,
             Catch::Contains("lesions: \"mutations\" has taken the place of this key"));
}

TEST_CASE("an audit combines dtypes and booleans, the default first, and takes other choices one by one") {
  SampleProblem sample;
  sample.json["param_constraints"] = {"not causal or dtype == 'float32'"};
  sample.write();
  const Problem problem = load_problem(sample.folder());
  const auto all = covering_params(problem);
  CHECK(all.front() == choose_params(problem, {}));
  CHECK(all.size() == 4);  // both dtypes, causal with float32 alone, and the other head_dim
  CHECK(all.back() == choose_params(problem, {{"head_dim", "128"}}));
}

TEST_CASE(
    "an audit takes a choice with the first combination that has it, and a range at its ends and where it "
    "says") {
  SampleProblem sample;
  Json& params = sample.json["params"];
  params["a_mode"] = {{"type", "choice"}, {"choices", {"off", "on"}}, {"default", "off"}, {"help", "m"}};
  params["size"] = {{"type", "integer"}, {"minimum", 1}, {"maximum", 9},
                    {"tried", {6}},      {"default", 4}, {"help", "s"}};
  sample.json["param_constraints"] = {"a_mode == 'off' or size == 9 and dtype == 'bfloat16'"};
  sample.write();
  const Problem problem = load_problem(sample.folder());
  const auto all = covering_params(problem);
  const auto tried = [&](const std::map<std::string, std::string>& given) {
    return std::ranges::count(all, choose_params(problem, given));
  };
  CHECK(all.size() == 2 * 2 + 4);
  CHECK(tried({{"size", "1"}}) == 1);
  CHECK(tried({{"size", "9"}}) == 1);
  CHECK(tried({{"size", "6"}}) == 1);
  CHECK(tried({{"a_mode", "on"}, {"size", "9"}, {"dtype", "bf16"}}) == 0);  // two changes at once
  sample.json["param_constraints"] = {"a_mode == 'off' or size == 9"};
  sample.write();
  const Problem wider = load_problem(sample.folder());
  CHECK(std::ranges::count(covering_params(wider), choose_params(wider, {{"a_mode", "on"}, {"size", "9"}})) ==
        1);
}

TEST_CASE("an audit takes every choice of every shipped problem at least once") {
  for (const CatalogEntry& entry : list_problems()) {
    const Problem problem = load_problem(entry.folder);
    const auto all = covering_params(problem);
    for (const ParamSpec& param : problem.params) {
      for (const Value& choice : other_values(param)) {
        INFO(problem.name << ": " << param.name << " " << to_string(choice));
        CHECK(std::ranges::any_of(all, [&](const Params& one) { return one.at(param.name) == choice; }));
      }
    }
  }
}

TEST_CASE("params may turn a matrix around and leave an input out") {
  SampleProblem sample;
  auto& inputs = sample.json["definition"]["inputs"];
  const std::string first = inputs.begin().key();
  inputs[first]["transposed"] = "causal";
  inputs["extra"] = {{"shape", Json::array({"N"})}, {"dtype", "dtype"}, {"when", "causal"}};
  const auto without = sample.instantiate(), with = sample.instantiate({{"causal", "true"}});
  CHECK(without->definition.find_tensor("extra") == nullptr);
  REQUIRE(with->definition.find_tensor("extra") != nullptr);
  auto turned = *without->definition.find_tensor(first)->shape;
  std::reverse(turned.begin(), turned.end());
  CHECK(*with->definition.find_tensor(first)->shape == turned);
}

TEST_CASE("a workload exists only where its `when` holds") {
  SampleProblem sample;
  sample.workloads +=
      R"({"name": "only_bf16", "axes": {"N": 5}, "role": "check", "when": "dtype == 'bfloat16'"})"
      "\n";
  CHECK(sample.instantiate()->workloads.size() == 2);
  CHECK(sample.instantiate({{"dtype", "bf16"}})->workloads.size() == 3);
}

TEST_CASE("a line of role held_out is ranges of shapes, no workload") {
  SampleProblem sample;
  sample.workloads +=
      "{\"name\": \"any\", \"axes\": {\"N\": [2, 900]}, \"role\": \"held_out\", \"tier\": \"emulator\"}\n"
      "{\"name\": \"one\", \"axes\": {\"N\": 5}, \"role\": \"held_out\", \"when\": \"head_dim == 128\"}\n";
  const auto instance = sample.instantiate();
  CHECK(instance->workloads.size() == 2);
  REQUIRE(instance->held_out.size() == 1);
  CHECK(instance->held_out[0].name == "any");
  CHECK(instance->held_out[0].axes.at("N").low == 2);
  CHECK(instance->held_out[0].axes.at("N").high == 900);
  CHECK(instance->held_out[0].tier == WorkloadTier::emulator);
  const auto wide = sample.instantiate({{"head_dim", "128"}});
  REQUIRE(wide->held_out.size() == 2);
  CHECK(wide->held_out[1].axes.at("N").low == 5);
  CHECK(wide->held_out[1].axes.at("N").high == 5);
}

TEST_CASE("a held-out axis is a range, one of its multiples, or a list") {
  SampleProblem sample;
  sample.workloads +=
      R"({"name": "multiples", "axes": {"N": {"range": [10, 900], "multiple": 16}}, "role": "held_out"})"
      "\n"
      R"({"name": "listed", "axes": {"N": {"values": [900, 7, 64]}}, "role": "held_out"})"
      "\n";
  const auto instance = sample.instantiate();
  REQUIRE(instance->held_out.size() == 2);
  const AxisRange multiples = instance->held_out[0].axes.at("N"), listed = instance->held_out[1].axes.at("N");
  CHECK((multiples.low == 10 && multiples.high == 900 && multiples.multiple == 16));
  CHECK(listed.values == std::vector<std::int64_t>{7, 64, 900});
}

TEST_CASE("around a shape of the user's, held-out shapes are its neighbours and the problem's small ones") {
  SampleProblem sample;
  const auto plain = with_shape(*sample.instantiate(), "N=77");
  CHECK(plain->shapes_given);
  CHECK_FALSE(sample.instantiate()->shapes_given);
  REQUIRE(plain->held_out.size() == 2);
  CHECK(plain->held_out[0].name == "neighbours");
  CHECK(plain->held_out[0].axes.at("N").low == 58);
  CHECK(plain->held_out[0].axes.at("N").high == 86);
  CHECK(plain->held_out[1].axes.at("N").high == 77);
  CHECK(plain->held_out[1].tier == WorkloadTier::emulator);
  sample.workloads += R"({"name": "any", "axes": {"N": [2, 900]}, "role": "held_out", "tier": "emulator"})"
                      "\n";
  const auto ranged = with_shape(*sample.instantiate(), "N=77");
  REQUIRE(ranged->held_out.size() == 2);
  CHECK(ranged->held_out[1].name == "any");
  for (const HeldOutRange& range : ranged->held_out) CHECK(range.around_shape);
}

TEST_CASE("a tolerance says for the tensor and for single outputs how they are judged") {
  SampleProblem sample;
  sample.json["distributions"].push_back({{"name", "integers"}, {"kind", "small_integer"}});
  sample.json["tolerance"] = parse_json(R"({"reason": "r", "factor": 3, "per": "row", "internal": "dtype",
    "outputs": {"y": {"floor_ulps": 1, "exact": ["integers"], "equal_share": 0.5}}})");
  const Tolerance tolerance = sample.instantiate({{"dtype", "bf16"}})->tolerance;
  CHECK(tolerance.internal == DType::bfloat16);
  const OutputRule rule = tolerance.rule("y");
  CHECK(rule.factor == 3);
  CHECK(rule.floor_ulps == 1);
  CHECK(rule.per_row);
  CHECK((rule.must_be_exact("integers") && !rule.must_be_exact("normal")));
  CHECK(rule.equal_share == 0.5);
  sample.json["tolerance"] = parse_json(R"({"reason": "r", "outputs": {"y": {"set": true}}})");
  CHECK(sample.instantiate()->tolerance.has_views());
}

TEST_CASE("of several rules for an output the first counts that holds") {
  SampleProblem sample;
  const auto rule = [&](const std::string& last, const char* dtype) {
    sample.json["tolerance"] = parse_json(R"({"reason": "r", "outputs": {"y": [
      {"when": "dtype == 'bfloat16'", "equal_share": 0.5}, )" +
                                          last + "]}}");
    return sample.instantiate({{"dtype", dtype}})->tolerance.rule("y");
  };
  const std::string another = R"({"factor": 3, "equal_share": 0.75})";
  CHECK(rule(another, "bf16").equal_share == 0.5);
  CHECK(rule(another, "fp32").equal_share == 0.75);
  CHECK(rule(another, "fp32").factor == 3);
  CHECK_FALSE(rule(R"({"when": "dtype == 'bfloat16'", "equal_share": 0.75})", "fp32").equal_share);
}

TEST_CASE("a mistake in the tolerance names its field") {
  struct Row {
    std::string tolerance, words;
  };
  for (const Row& row : {Row{R"({"per": "column"})", "tolerance.per: expected \"row\" or \"tensor\""},
                         {R"({"internal": "int32"})", "tolerance.internal: expected a floating dtype"},
                         {R"({"factor": 0})", "tolerance.factor"},
                         {R"({"outputs": {"z": {}}})", "'z' is not an output"},
                         {R"({"outputs": {"y": {"exakt": true}}})", "exakt"},
                         {R"({"outputs": {"y": {"exact": ["nope"]}}})", "the name of a distribution: normal"},
                         {R"({"outputs": {"y": {"equal_share": 1.5}}})", "a share above 0 and at most 1"},
                         {R"({"outputs": {"y": {"exact": true, "equal_share": 0.5}}})", "contradict"},
                         {R"({"outputs": {"y": {"exact": true, "set": true}}})", "in their places"},
                         {R"({"outputs": {"y": {"gather": "nope"}}})", "the name of an input with axes"},
                         {R"({"outputs": {"y": {"gather": "x"}}})", "indices are integers"}}) {
    SampleProblem sample;
    sample.json["tolerance"] = parse_json(row.tolerance);
    sample.json["tolerance"]["reason"] = "r";
    const auto [message, code] = error_of([&] { static_cast<void>(sample.instantiate()); });
    INFO(row.tolerance << ": " << message);
    CHECK(code == ExitCode::bad_input);
    CHECK(message.find(row.words) != std::string::npos);
  }
}

TEST_CASE("--shape replaces the workloads by one that is checked and timed") {
  const SampleProblem sample;
  const auto instance = with_shape(*sample.instantiate(), "N=77");
  REQUIRE(instance->workloads.size() == 1);
  CHECK(instance->workloads[0].axes.at("N") == 77);
  CHECK(instance->workloads[0].has(WorkloadRole::check));
  CHECK(instance->workloads[0].has(WorkloadRole::time));
}

TEST_CASE("several shapes replace the workloads, each with held-out shapes around it") {
  const SampleProblem sample;
  const auto instance = with_shapes(*sample.instantiate(), std::vector<std::string>{"N=77", "N=900"});
  REQUIRE(instance->workloads.size() == 2);
  CHECK(instance->workloads[1].axes.at("N") == 900);
  CHECK(instance->workloads[1].has(WorkloadRole::time));
  std::vector<std::string> names;
  for (const HeldOutRange& range : instance->held_out) names.push_back(range.name);
  CHECK(names == std::vector<std::string>{"neighbours", "small", "neighbours_of_N=900"});
  CHECK(instance->held_out[2].axes.at("N").low == 675);
  const auto [message, code] = error_of([&] {
    static_cast<void>(with_shapes(*sample.instantiate(), std::vector<std::string>{"N=77", "N=7", "N=77"}));
  });
  CHECK(code == ExitCode::usage);
  CHECK(message.find("--shape N=77: it is there twice") != std::string::npos);
}

TEST_CASE("a shape has one name, in whatever order its sizes are given") {
  const Problem softmax = load_problem(find_problem("softmax"));
  const auto instance = instantiate(softmax, choose_params(softmax, {}));
  for (const char* shape : {"M=4,N=32", "N=32,M=4"})
    CHECK(with_shape(*instance, shape)->workloads[0].name == "M=4,N=32");
}

TEST_CASE("an impossible shape is a usage error that says why") {
  const SampleProblem sample;
  const auto instance = sample.instantiate();
  struct Row {
    std::string shape, words;
  };
  for (const Row& row : {Row{"N=0", "at least 1"},
                         {"N=1001", "N <= 1000"},
                         {"M=3", "N"},
                         {"N", "NAME=INTEGER"},
                         {"N=3x", "NAME=INTEGER"},
                         {"N=3,N=4", "N is there twice"},
                         {"N=3,D=4", "'D'"}}) {
    const auto [message, code] = error_of([&] { static_cast<void>(with_shape(*instance, row.shape)); });
    INFO(row.shape << ": " << message);
    CHECK(code == ExitCode::usage);
    CHECK(message.find(row.words) != std::string::npos);
  }
}

TEST_CASE("a param that is unknown or not allowed is a usage error that lists what is") {
  const SampleProblem sample;
  struct Row {
    std::string name, value, words;
  };
  for (const Row& row : {Row{"dtype", "int4", "float32, bfloat16"},
                         {"head_dim", "65", "64, 128"},
                         {"causal", "perhaps", "true or false"},
                         {"dtyp", "x", "'dtype'"}}) {
    const auto [message, code] = error_of([&] {
      static_cast<void>(sample.instantiate({{row.name, row.value}}));
    });
    INFO(message);
    CHECK(code == ExitCode::usage);
    CHECK(message.find(row.words) != std::string::npos);
  }
}

TEST_CASE("a mistake in problem.json names the file, the field and what was expected") {
  struct Row {
    std::string pointer;
    Json value;
    std::string words;
  };
  const std::vector<Row> rows{
      {"/flop", 3, "unknown key 'flop'"},
      {"/params/dtype/type", "enum", "params.dtype.type: expected one of choice, integer, boolean"},
      {"/params/dtype/default", "float16", "params.dtype.default"},
      {"/definition/inputs/x/shape", Json::array({"N", "Q"}),
       "definition.inputs.x.shape[1]: expected the name of an axis"},
      {"/definition/inputs/x/dtype", "float31", "definition.inputs.x.dtype"},
      {"/definition/inputs/x/dtype", "head_dim + 1", "definition.inputs.x.dtype: expected a dtype"},
      {"/param_constraints", Json::array({"nope == 1"}), "param_constraints: 'nope == 1'"},
      {"/definition/axes/D/value", "head_dim +", "definition.axes.D.value"},
      {"/definition/name", "scale_{nope}", "definition.name"},
      {"/definition/outputs", Json::object(), "at least one output"},
      {"/flops", "N * Q", "Q"},
      {"/tolerance", Json::object(), "reason"},
      {"/distributions", Json::array(), "at least one distribution"},
      {"/distributions/0/kind", "gauss",
       "distributions[0].kind: 'gauss' is not a kind of input; those are normal"},
      {"/distributions/0/tensors", Json{{"z", "normal"}}, "distributions[0].tensors.z: 'z' is not an input"},
      {"/distributions/0/tensors", Json{{"x", "index"}}, "expected one size"},
      {"/distributions/0/when", "nope", "distributions[0].when"},
      {"/definition/inputs/x/draw", "index(Q)",
       "definition.inputs.x.draw: 'Q' is neither an axis nor a param"},
      {"/mutations",
       Json::array({{{"name", "a"}, {"what", "b"}, {"macro", "C"}, {"fails_on", Json::array({"odd"})}}}),
       "mutations[0].fails_on[0]: expected the name of a distribution"},
      {"/mutations",
       Json::array({{{"name", "a"}, {"what", "b"}, {"macro", "C 1\n#include <ctime>\n#define D"}}}),
       "mutations[0].macro: expected the name of a macro"},
      {"/audit_exempt", Json{{"ignored_row", "why"}}, "ignored_end"},
      {"/reference", "return 2", "reference"},
      {"/reference", "missing.py", "reference: cannot read"},
      {"/reference", "../outside.py", "leads out of the folder"},
      {"/reference", "/etc/outside.py", "no path within the folder"},
      {"/name", "../scale", "name: expected a name of at most 200 bytes without '/'"},
      {"/op_type", "a/b", "op_type"},
      {"/definition/name", "../scale", "definition.name"},
      {"/definition/outputs", Json{{"../y", {{"shape", Json::array()}, {"dtype", "dtype"}}}},
       "letters, digits"},
      {"/distributions/0/name", "../normal", "distributions[0].name"},
      {"/aliases", Json{{"y", "nope"}}, "aliases.y"},
      {"/baselines", Json::array({"cublas"}),
       "baselines[0]: expected a library that can be a baseline: cublaslt, cublaslt_first, cudnn"},
  };
  for (const Row& row : rows) {
    SampleProblem sample;
    sample.json[Json::json_pointer(row.pointer)] = row.value;
    const auto [message, code] = error_of([&] { static_cast<void>(sample.instantiate()); });
    INFO(row.pointer << ": " << message);
    CHECK(code == ExitCode::bad_input);
    CHECK(message.find("problem.json") != std::string::npos);
    CHECK(message.find(row.words) != std::string::npos);
  }
}

TEST_CASE("tensors draw as their distribution says, else as they say themselves, else as its kind") {
  SampleProblem sample;
  sample.json["definition"]["inputs"]["i"] = {{"shape", {"N"}}, {"dtype", "int32"}, {"draw", "index(N)"}};
  sample.json["distributions"] = {
      {{"name", "normal"}, {"kind", "normal"}, {"scale", 3}},
      {{"name", "first"}, {"kind", "rising(scale=-1)"}, {"tensors", {{"i", "constant(0)"}}}},
      {{"name", "halves"}, {"kind", "uniform"}, {"when", "dtype == 'bfloat16'"}}};
  sample.workloads = R"({"name": "a", "axes": {"N": 7}, "role": "check", "distributions": ["first"]})"
                     "\n"
                     R"({"name": "b", "axes": {"N": 9}, "role": "check"})"
                     "\n";
  const auto problem = sample.instantiate();
  REQUIRE(problem->distributions.size() == 2);
  CHECK(problem->distributions_of(problem->workloads[0]).size() == 1);
  CHECK(problem->distributions_of(problem->workloads[1]).size() == 2);
  const auto normal = problem->draws(problem->distributions[0], {{"N", 7}}).value();
  CHECK(normal[0].kind == InputKind::normal);
  CHECK(normal[0].scale == 3);
  CHECK(normal[0].row == 64);
  CHECK(normal[1].kind == InputKind::integers);
  CHECK(normal[1].high == 6);
  const auto first = problem->draws(problem->distributions[1], {{"N", 7}}).value();
  CHECK(first[0].kind == InputKind::rising);
  CHECK(first[1].kind == InputKind::constant);
  CHECK(sample.instantiate({{"dtype", "bf16"}})->distributions.size() == 3);
}

TEST_CASE("a problem has ten thousand workloads and no more") {
  SampleProblem sample;
  sample.workloads.clear();
  for (int i = 0; i <= 10'000; ++i)
    sample.workloads += fmt::format(R"({{"name": "w{}", "axes": {{"N": 1}}, "role": "check"}})", i) + "\n";
  const auto [message, code] = error_of([&] { static_cast<void>(sample.instantiate()); });
  CHECK(code == ExitCode::bad_input);
  CHECK_THAT(message, Catch::Contains("workloads.jsonl:10001: more than 10000 workloads"));
}

TEST_CASE("files of a problem that are links to elsewhere are refused") {
  for (const char* name : {"reference.cu", "workloads.jsonl", "problem.json", "kernel.cu"}) {
    const SampleProblem sample, elsewhere;
    sample.write();
    elsewhere.write();
    elsewhere.put("kernel.cu", "");
    std::filesystem::remove(sample.folder() / name);
    std::filesystem::create_symlink(elsewhere.folder() / name, sample.folder() / name);
    INFO(name);
    const auto [message, code] = error_of([&] {
      const Problem problem = load_problem(sample.folder());
      static_cast<void>(instantiate(problem, choose_params(problem, std::map<std::string, std::string>{})));
    });
    CHECK(code == ExitCode::bad_input);
    CHECK_THAT(message, Catch::Contains("is a link that leads out of the folder"));
  }
}

TEST_CASE("a mistake in workloads.jsonl names file and line") {
  struct Row {
    std::string line, words;
  };
  for (const Row& row :
       {Row{"{", "not JSON"},
        {R"({"name": "a", "axes": {"N": 2000}, "role": "check"})", "N <= 1000"},
        {R"({"name": "a", "axes": {}, "role": "check"})", "the axis N has no value"},
        {R"({"name": "a", "axes": {"N": 1}, "role": "tests"})", "role"},
        {R"({"name": "a", "axes": {"N": 1}, "role": "tests"})", "held_out"},
        {R"({"name": "a", "axes": {"N": [1, 2]}, "role": "check"})", "axes.N"},
        {R"({"name": "a", "axes": {"N": [1, 2, 3]}, "role": "held_out"})", "a range [low, high]"},
        {R"({"name": "a", "axes": {"N": [3, 2]}, "role": "held_out"})", "low <= high"},
        {R"({"name": "a", "axes": {"N": [0, 2]}, "role": "held_out"})", "1 <= low"},
        {R"({"name": "a", "axes": {"N": "2"}, "role": "held_out"})", "axes.N"},
        {R"({"name": "a", "axes": {"N": {"values": []}}, "role": "held_out"})", "at least one value"},
        {R"({"name": "a", "axes": {"N": {"values": [2, 2]}}, "role": "held_out"})", "2 is listed twice"},
        {R"({"name": "a", "axes": {"N": {"values": [2], "multiple": 2}}, "role": "held_out"})",
         "takes no 'range'"},
        {R"({"name": "a", "axes": {"N": {"range": [17, 30], "multiple": 16}}, "role": "held_out"})",
         "no multiple of 16 lies in [17, 30]"},
        {R"({"name": "a", "axes": {"N": {"range": [17, 64], "multiple": 0}}, "role": "held_out"})",
         "multiple"},
        {R"({"name": "a", "axes": {"N": {"values": [2000, 3000]}}, "role": "held_out"})", "N <= 1000"},
        {R"({"name": "a", "axes": {}, "role": "held_out"})", "the axis N has no value"},
        {R"({"name": "a", "axes": {"N": 1, "Q": 1}, "role": "held_out"})", "'Q' is not a varying axis"},
        {R"({"name": "a", "axes": {"N": [2000, 3000]}, "role": "held_out"})", "N <= 1000"},
        {R"({"name": "a", "axes": {"N": 1}, "role": "held_out", "weight": 2})", "weight"},
        {R"({"name": "a", "axes": {"N": 1}, "role": "held_out", "tier": "cpu"})", "tier"},
        {R"({"name": "small", "axes": {"N": 1}, "role": "held_out"})", "'small' too"},
        {R"({"name": "../a", "axes": {"N": 1}, "role": "check"})", "without '/'"},
        {R"({"name": "held_out_1", "axes": {"N": 1}, "role": "check"})", "held_out_"},
        {R"({"name": "small", "axes": {"N": 1}, "role": "check"})", "'small' too"}}) {
    SampleProblem sample;
    sample.workloads += row.line + "\n";
    const auto [message, code] = error_of([&] { static_cast<void>(sample.instantiate()); });
    INFO(message);
    CHECK(code == ExitCode::bad_input);
    CHECK(message.find("workloads.jsonl:3") != std::string::npos);
    CHECK(message.find(row.words) != std::string::npos);
  }
}

TEST_CASE("a broken problem folder does not hide the others") {
  const SampleProblem sample;
  const auto root = sample.folder() / "root";
  std::filesystem::create_directories(root / "broken");
  std::filesystem::create_directories(root / "vector_add");
  std::ofstream(root / "broken" / "problem.json") << "{";
  sample.write();
  std::filesystem::copy_file(sample.folder() / "problem.json", root / "vector_add" / "problem.json");
  setenv("ALPHAKERNEL_TEMPLATES", root.c_str(), 1);
  const auto list = list_problems();
  const auto overridden = find_problem("vector_add");
  unsetenv("ALPHAKERNEL_TEMPLATES");
  const auto named = [&](const std::string& name) {
    return *std::find_if(list.begin(), list.end(),
                         [&](const CatalogEntry& entry) { return entry.name == name; });
  };
  CHECK_FALSE(named("broken").input_error.empty());
  CHECK(named("softmax").input_error.empty());
  CHECK(overridden == root / "vector_add");
  CHECK(find_problem("vector_add") != overridden);
}

TEST_CASE(
    "of a kernel for a problem that does not come with the program the message says how to name its folder") {
  CHECK(find_problem_of_kernel("vector_add") == find_problem("vector_add"));
  const auto [message, code] = error_of([] { static_cast<void>(find_problem_of_kernel("my_own_thing")); });
  CHECK(code == ExitCode::usage);
  CHECK(message ==
        "the kernel is of the problem 'my_own_thing', which does not come with AlphaKernel: name its folder "
        "with --problem DIR");
  CHECK(error_of([] {
          static_cast<void>(find_problem_of_kernel("vector_ad"));
        }).first.ends_with("; did you mean 'vector_add'?"));
}

TEST_CASE("every shipped problem instantiates for every choice of every param") {
  const auto list = list_problems();
  REQUIRE(list.size() >= 3);
  std::size_t instances = 0;
  for (const CatalogEntry& entry : list) {
    INFO(entry.name << ": " << entry.input_error);
    REQUIRE(entry.input_error.empty());
    const Problem problem = load_problem(entry.folder);
    for (const ParamSpec& param : problem.params) {
      for (const Value& choice : other_values(param)) {
        const auto instance = instantiate(problem, params_with(problem, param, choice));
        CHECK_FALSE(instance->templates.empty());
        CHECK_FALSE(instance->mutations.empty());
        bool timed = false;
        for (const Workload& workload : instance->workloads) {
          timed = timed || workload.has(WorkloadRole::time);
          if (workload.has(WorkloadRole::time)) CHECK(workload.has(WorkloadRole::check));
        }
        CHECK(timed);
        if (!testing::drawn_today(instances++, 4))
          continue;  // to draw shapes takes longer than all else here
        for (const DeviceKind device : {DeviceKind::emulator, DeviceKind::cuda})
          CHECK(sample_held_out(*instance, device, 6, 1).size() == 6);
      }
    }
  }
}
