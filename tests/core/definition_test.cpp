// SPDX-License-Identifier: Apache-2.0
#include "core/plan/definition.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "core/plan/problem.h"

namespace ak {
namespace {

// Every feature of the form: null and [] shapes, axes of both types, Python constraints, an order that
// sorting would change.
constexpr const char* kDefinition = R"json({
  "name": "softmax_n4096_f32",
  "description": "Row softmax \"with\" a scale",
  "op_type": "softmax",
  "tags": ["status:verified", "fp32"],
  "axes": {
    "rows": {"type": "var", "description": "number of rows"},
    "N": {"type": "const", "value": 4096},
    "batch": {"type": "var"}
  },
  "constraints": ["rows == offsets[-1].item()"],
  "inputs": {
    "x": {"shape": ["rows", "N"], "dtype": "float32", "description": "logits"},
    "scale": {"shape": null, "dtype": "float32"},
    "total": {"shape": [], "dtype": "int32"},
    "offsets": {"shape": ["batch"], "dtype": "int32"}
  },
  "outputs": {"y": {"shape": ["rows", "N"], "dtype": "bfloat16"}},
  "reference": "import torch\n\ndef run(x, scale, total, offsets):\n    return torch.softmax(x * scale, -1)\n"
})json";

Json valid() { return parse_json(kDefinition); }

Definition definition() {
  const Result<Definition> result = definition_from_json(valid());
  INFO((result ? "" : result.error().message));
  REQUIRE(result.ok());
  return *result;
}

std::string error_of(const Json& json) {
  const Result<Definition> result = definition_from_json(json);
  REQUIRE_FALSE(result.ok());
  return result.error().message;
}

}  // namespace

TEST_CASE("a FlashInfer-Bench definition survives the way through memory, byte for byte") {
  CHECK(to_json(definition()).dump() == valid().dump());
}

TEST_CASE("a definition keeps scalars, 0-D tensors and order apart") {
  const Definition read = definition();
  REQUIRE(read.inputs.size() == 4);
  CHECK(read.inputs[0].name == "x");
  CHECK_FALSE(read.inputs[1].shape.has_value());
  REQUIRE(read.inputs[2].shape.has_value());
  CHECK(read.inputs[2].shape->empty());
  CHECK(read.outputs[0].dtype == DType::bfloat16);
  CHECK(read.axes[0].name == "rows");
  CHECK_FALSE(read.axes[0].value.has_value());
  CHECK(read.axes[1].value == 4096);
  CHECK(read.find_tensor("y") == &read.outputs[0]);
  CHECK(read.find_tensor("offsets") == &read.inputs[3]);
  CHECK(read.find_tensor("z") == nullptr);
}

TEST_CASE("the hash of a definition follows its content and its order") {
  const std::string hash = definition().hash();
  CHECK(hash.size() == 64);
  CHECK(hash == definition().hash());
  Definition renamed = definition();
  renamed.inputs[0].description = "other";
  CHECK(renamed.hash() != hash);
  Definition reordered = definition();
  std::swap(reordered.inputs[0], reordered.inputs[3]);
  CHECK(reordered.hash() != hash);
}

TEST_CASE("element counts multiply the axes, 1 for scalars and 0-D tensors") {
  const Definition read = definition();
  const AxisValues sizes{{"rows", 3}, {"batch", 5}};
  CHECK(element_count(read, read.inputs[0], sizes) == 3 * 4096);
  CHECK(element_count(read, read.inputs[1], sizes) == 1);
  CHECK(element_count(read, read.inputs[2], sizes) == 1);
  CHECK(element_count(read, read.inputs[3], sizes) == 5);
  CHECK_THROWS_AS(element_count(read, read.inputs[0], {{"rows", std::int64_t{1} << 52}, {"batch", 1}}),
                  Error);
}

TEST_CASE("a broken definition is refused with the field and what was expected") {
  struct Row {
    const char* patch;  // JSON patch
    const char* message;
  };
  const Row rows[] = {
      {R"([{"op": "remove", "path": "/name"}])", "the key 'name' is missing"},
      {R"([{"op": "replace", "path": "/name", "value": "../x"}])",
       "name: expected a name of letters, digits, '_', '-' and '.', beginning with a letter, got \"../x\""},
      {R"([{"op": "replace", "path": "/op_type", "value": ""}])",
       "op_type: expected text that is not empty, got \"\""},
      {R"([{"op": "add", "path": "/referense", "value": ""}])",
       "unknown key 'referense'; did you mean 'reference'?"},
      {R"([{"op": "replace", "path": "/axes/N/type", "value": "fixed"}])",
       "axes.N.type: expected \"const\", \"var\" or \"derived\", got \"fixed\""},
      {R"([{"op": "replace", "path": "/axes/N/value", "value": 0}])",
       "axes.N.value: expected an integer of at least 1, got 0"},
      {R"([{"op": "remove", "path": "/axes/N/value"}])", "axes.N: the key 'value' is missing"},
      {R"([{"op": "add", "path": "/axes/batch/value", "value": 2}])", "axes.batch: unknown key 'value'"},
      {R"([{"op": "replace", "path": "/inputs/x/shape/1", "value": "K"}])",
       "inputs.x.shape[1]: expected the name of an axis, got \"K\""},
      {R"([{"op": "replace", "path": "/inputs/x/dtype", "value": "float31"}])",
       "inputs.x.dtype: expected a dtype such as"},
      {R"([{"op": "remove", "path": "/inputs/x/shape"}])", "inputs.x: the key 'shape' is missing"},
      {R"([{"op": "replace", "path": "/outputs", "value": {}}])",
       "outputs: expected at least one output, got {}"},
      {R"([{"op": "move", "from": "/outputs/y", "path": "/outputs/x"}])",
       "outputs.x: expected a name that no input has"},
      {R"([{"op": "replace", "path": "/reference", "value": "class A:\n  def run(x):\n    pass\n"}])",
       "reference: expected Python source with a top-level function 'run'"},
      {R"([{"op": "replace", "path": "/tags", "value": "x"}])", "tags: expected a list, got \"x\""},
  };
  for (const Row& row : rows) {
    INFO(row.patch);
    CHECK_THAT(error_of(valid().patch(parse_json(row.patch))), Catch::StartsWith(row.message));
  }
  CHECK_THAT(error_of(Json::array()), Catch::Contains("expected an object, got []"));
}

TEST_CASE("a top-level run is found wherever it stands in the reference") {
  for (const char* reference : {"def run(x):\n  pass", "x = 1\ndef run (x):\n  pass", "a\n\n\ndef run()"}) {
    Json json = valid();
    json["reference"] = reference;
    CHECK(definition_from_json(json).ok());
  }
  for (const char* reference : {"", "def runner(x):", "def run", "# def run(x)", " def run(x):"}) {
    Json json = valid();
    json["reference"] = reference;
    CHECK_FALSE(definition_from_json(json).ok());
  }
}

TEST_CASE("names of input kinds can be read back, and unknown ones cannot") {
  for (const InputKind kind :
       {InputKind::normal, InputKind::uniform, InputKind::small_integer, InputKind::zero_one,
        InputKind::outliers, InputKind::ramp, InputKind::peaked}) {
    CHECK(parse_input_kind(to_string(kind)) == kind);
  }
  CHECK_FALSE(parse_input_kind("gaussian").has_value());
}

TEST_CASE("a workload has the roles it lists") {
  Workload workload;
  workload.roles = {WorkloadRole::check};
  CHECK(workload.has(WorkloadRole::check));
  CHECK_FALSE(workload.has(WorkloadRole::time));
}

TEST_CASE("the environment of a problem joins params, fixed axes and sizes") {
  const Expression one = Expression::parse("1").value();
  const ProblemInstance problem{.problem = "softmax",
                                .folder = {},
                                .params = {{"dtype", std::string("float32")}, {"causal", std::int64_t{1}}},
                                .definition = definition(),
                                .aliases = {},
                                .flops = one,
                                .bytes_read = one,
                                .bytes_written = one,
                                .tolerance = {},
                                .distributions = {},
                                .mutations = {},
                                .workloads = {},
                                .reference_cu = {},
                                .templates = {},
                                .sources_cited = {}};
  const Environment environment = problem.environment({{"rows", 3}, {"batch", 5}});
  const Expression formula =
      Expression::parse("rows * N + batch if dtype == 'float32' and causal else 0").value();
  CHECK(*formula.evaluate_integer(environment) == 3 * 4096 + 5);
}

}  // namespace ak
