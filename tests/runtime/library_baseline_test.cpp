// SPDX-License-Identifier: Apache-2.0
#include "runtime/library_baseline.h"

#include <catch2/catch.hpp>

#include "runtime/matmul_task.h"

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

TEST_CASE("what is no product has a reason") {
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

TEST_CASE("a library that is not installed is a reason, not an error") {
  const auto library = load_vendor_library({"libno_such_library.so.2", "libno_such_library.so.1"});
  REQUIRE_FALSE(library);
  CHECK_THAT(library.error().message,
             Catch::Contains("libno_such_library.so.2 or libno_such_library.so.1 not found"));
  CHECK_FALSE(open_library_baseline("nothing"));
}

}  // namespace
}  // namespace ak::runtime
