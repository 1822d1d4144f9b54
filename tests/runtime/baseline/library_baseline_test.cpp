// SPDX-License-Identifier: Apache-2.0
#include "runtime/baseline/library_baseline.h"

#include <catch2/catch.hpp>

#include "runtime/baseline/attention_task.h"
#include "runtime/baseline/cudnn_attention.h"
#include "runtime/baseline/matmul_task.h"

namespace ak::runtime {
namespace {

OpenProblem product(const std::string& a_layout, const std::string& b_layout) {
  OpenProblem problem;
  for (const char* name : {"a", "b", "bias", "c"})
    problem.tensors.push_back(
        {.name = name, .dtype = DType::bfloat16, .output = name == std::string("c"), .alias_of = {}});
  problem.params = {{"a_layout", a_layout}, {"b_layout", b_layout}, {"activation", "relu"}};
  return problem;
}

TEST_CASE("a product is read from the shapes, whichever way its matrices lie in memory") {
  struct Row {
    std::string a, b;
    std::vector<std::vector<std::int64_t>> shapes;
  };
  const std::vector<Row> rows{{"row", "row", {{5, 7}, {7, 3}, {3}, {5, 3}}},
                              {"column", "row", {{7, 5}, {7, 3}, {3}, {5, 3}}},
                              {"row", "column", {{5, 7}, {3, 7}, {3}, {5, 3}}},
                              {"column", "column", {{7, 5}, {3, 7}, {3}, {5, 3}}}};
  for (const Row& row : rows) {
    INFO(row.a << " " << row.b);
    const auto task =
        matmul_task(product(row.a, row.b), {.name = "w", .shapes = row.shapes, .exact = {}, .twin = {}});
    REQUIRE(task);
    CHECK(task->m == 5);
    CHECK(task->n == 3);
    CHECK(task->k == 7);
    CHECK(task->a_by_columns == (row.a == "column"));
    CHECK(task->b_by_columns == (row.b == "column"));
    CHECK(task->bias);
    CHECK(task->activation == "relu");
  }
}

TEST_CASE("what is not a product has a reason") {
  OpenProblem problem = product("row", "row");
  const auto read = [&](std::vector<std::vector<std::int64_t>> shapes) {
    return matmul_task(problem, {.name = "w", .shapes = std::move(shapes), .exact = {}, .twin = {}});
  };
  CHECK_FALSE(read({{5, 7}, {3, 7}, {3}, {5, 3}}));
  CHECK_FALSE(read({{5, 7, 1}, {7, 3}, {3}, {5, 3}}));
  problem.tensors[1].dtype = DType::float32;
  CHECK_FALSE(read({{5, 7}, {7, 3}, {3}, {5, 3}}));
  problem.tensors[0].name = "x";
  const auto nameless = read({{5, 7}, {7, 3}, {3}, {5, 3}});
  REQUIRE_FALSE(nameless);
  CHECK_THAT(nameless.error().message, Catch::Contains("a, b and c"));
}

using Shapes = std::vector<std::vector<std::int64_t>>;

OpenProblem attention(const std::string& causal) {
  OpenProblem problem;
  for (const std::string name : {"q", "k", "v", "o", "lse"})
    problem.tensors.push_back({.name = name,
                               .dtype = name == "lse" ? DType::float32 : DType::float16,
                               .output = name == "o" || name == "lse",
                               .alias_of = {}});
  problem.params = {{"causal", causal}};
  return problem;
}

Result<AttentionTask> read_attention(const OpenProblem& problem, Shapes shapes) {
  return attention_task(problem, {.name = "w", .shapes = std::move(shapes), .exact = {}, .twin = {}});
}

TEST_CASE("an attention is read from the shapes and the param causal") {
  const auto task =
      read_attention(attention("0"), {{3, 8, 5, 64}, {3, 2, 7, 64}, {3, 2, 7, 64}, {3, 8, 5, 64}, {3, 8, 5}});
  REQUIRE(task);
  CHECK(task->batches == 3);
  CHECK(task->heads == 8);
  CHECK(task->key_heads == 2);
  CHECK(task->queries == 5);
  CHECK(task->keys == 7);
  CHECK(task->head_dim == 64);
  CHECK(task->dtype == DType::float16);
  CHECK_FALSE(task->causal);
  const auto causal =
      read_attention(attention("1"), {{1, 2, 7, 64}, {1, 2, 7, 64}, {1, 2, 7, 64}, {1, 2, 7, 64}, {1, 2, 7}});
  REQUIRE(causal);
  CHECK(causal->causal);
}

TEST_CASE("an attention in the layout of tokens has its heads on the third axis") {
  OpenProblem problem = attention("0");
  problem.params["layout"] = "tokens";
  const auto task =
      read_attention(problem, {{3, 5, 8, 64}, {3, 7, 2, 64}, {3, 7, 2, 64}, {3, 5, 8, 64}, {3, 8, 5}});
  REQUIRE(task);
  CHECK(task->by_tokens);
  CHECK(task->heads == 8);
  CHECK(task->key_heads == 2);
  CHECK(task->queries == 5);
  CHECK(task->keys == 7);
  CHECK_FALSE(
      read_attention(problem, {{3, 8, 5, 64}, {3, 2, 7, 64}, {3, 2, 7, 64}, {3, 8, 5, 64}, {3, 8, 5}}));
}

TEST_CASE("what is not an attention, or one with another causal mask, has a reason") {
  const Shapes good{{1, 4, 5, 64}, {1, 2, 7, 64}, {1, 2, 7, 64}, {1, 4, 5, 64}, {1, 4, 5}};
  const auto input_error = [](const OpenProblem& problem, Shapes shapes) {
    const auto task = read_attention(problem, std::move(shapes));
    return task ? "" : task.error().message;
  };
  CHECK(input_error(attention("0"), good).empty());
  CHECK_THAT(input_error(attention("1"), good), Catch::Contains("5 queries and 7 keys"));
  struct Row {
    std::size_t tensor, axis;
    std::int64_t size;
  };
  for (const Row& row :
       {Row{1, 3, 32}, Row{2, 2, 6}, Row{2, 0, 2}, Row{3, 2, 7}, Row{4, 1, 2}, Row{0, 1, 3}}) {
    INFO(row.tensor << " " << row.axis);
    Shapes shapes = good;
    shapes[row.tensor][row.axis] = row.size;
    CHECK_THAT(input_error(attention("0"), shapes), Catch::Contains("shapes of an attention"));
  }
  Shapes flat = good;
  flat[0] = {4, 5, 64};
  CHECK_THAT(input_error(attention("0"), flat), Catch::Contains("four axes"));
  OpenProblem problem = attention("0");
  problem.tensors[4].dtype = DType::float16;
  CHECK_THAT(input_error(problem, good), Catch::Contains("of one type"));
  problem.tensors[4].name = "sums";
  CHECK_THAT(input_error(problem, good), Catch::Contains("q, k, v, o and lse"));
  OpenProblem windowed = attention("0");
  windowed.params["window"] = "0";
  CHECK(input_error(windowed, good).empty());
  windowed.params["window"] = "128";
  CHECK_THAT(input_error(windowed, good), Catch::Contains("window"));
  OpenProblem sinks = attention("0");
  sinks.tensors.push_back({.name = "sinks", .dtype = DType::float32, .output = false, .alias_of = {}});
  CHECK_THAT(input_error(sinks, good), Catch::Contains("no tensors but"));
}

#if __has_include(<cudnn_graph.h>)
TEST_CASE("cuDNN, where it is installed, takes every operation of an attention") {
  if (!loaded_cudnn()) {
    WARN(loaded_cudnn().error().message);
    return;
  }
  for (const bool causal : {false, true}) {
    CHECK_NOTHROW(CudnnAttention({.batches = 2,
                                  .heads = 4,
                                  .key_heads = 2,
                                  .queries = 40,
                                  .keys = 40,
                                  .head_dim = 64,
                                  .dtype = DType::bfloat16,
                                  .causal = causal}));
  }
}
#endif

TEST_CASE("a library that is not installed is a reason, not an error") {
  const auto library = load_vendor_library({"libno_such_library.so.2", "libno_such_library.so.1"});
  REQUIRE_FALSE(library);
  CHECK_THAT(library.error().message,
             Catch::Contains("libno_such_library.so.2 or libno_such_library.so.1 not found"));
  CHECK_FALSE(open_library_baseline("nothing"));
}

}  // namespace
}  // namespace ak::runtime
