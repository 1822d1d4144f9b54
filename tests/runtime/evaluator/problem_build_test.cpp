// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/problem_build.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "runtime/build/candidate_plan.h"
#include "runtime/build/compile_pool.h"
#include "tests/support/build_cache.h"
#include "tests/support/patience.h"
#include "tests/support/tiny_problem.h"

namespace ak::runtime {
namespace {

const Arch kHopper{.major = 9, .minor = 0, .feature = 'a'};

struct Builder {
  CompilePool pool{{.worker_command = ak::test::self_as_worker(),
                    .workers = 1,
                    .deadline = testing::kPatience,
                    .cache_dir = testing::shared_build_cache()}};

  std::unique_ptr<ProblemBuild> build(std::shared_ptr<const ProblemInstance> problem) {
    const auto submit = [this](const TranslationUnit& unit) { return pool.submit(unit); };
    auto build =
        std::make_unique<ProblemBuild>(std::move(problem), kHopper, ak::test::plain_assembler(), submit);
    while (!build->ready()) {
      const auto built = pool.wait(testing::out_of_patience());
      if (!built) throw std::runtime_error("a build did not end");
      if (!build->take(built->ticket, built->result)) throw std::runtime_error("not one of its builds");
    }
    return build;
  }
};

TEST_CASE("references and harness of every dtype build into what a device worker opens") {
  Builder builder;
  for (const DTypeInfo& dtype : dtypes()) {
    if (dtype.bytes == 1) continue;  // sums of those are no honest problem
    INFO(dtype.name);
    ak::test::TinyProblem tiny;
    tiny.dtype = dtype.dtype;
    tiny.in_place = true;
    const auto build = builder.build(ak::test::make_problem(tiny));
    const auto open = build->open_problem(device_environment(nominal_device(kHopper), kHopper), 0);
    REQUIRE(open->tensors.size() == 3);
    CHECK(open->tensors[2].output);
    CHECK(open->tensors[2].alias_of == "a");
    REQUIRE(open->workloads.size() == 2);
    CHECK(open->workloads[1].elements(2) == 1000);
    CHECK(open->exact.kernels.size() == 1);
    if (dtype.floating && dtype.bytes < 8) CHECK((open->twin.image != open->exact.image));
    const OpenProblem read = open_problem_from_json(parse_json(to_json(*open).dump()));
    CHECK(read.harness_image == open->harness_image);
    CHECK(read.workloads[1].shapes == open->workloads[1].shapes);
    for (std::size_t i = 0; i < open->workloads.size(); ++i)
      CHECK(read.workloads.at(i).distributions.size() == open->workloads[i].distributions.size());
  }
}

TEST_CASE("a reference that does not compile is the user's mistake, with its file and the compiler's words") {
  Builder builder;
  ak::test::TinyProblem tiny;
  tiny.expression = "a[i] + nonsense";
  CHECK_THROWS_WITH(builder.build(ak::test::make_problem(tiny)),
                    Catch::Contains("/nowhere/tiny/reference.cu") && Catch::Contains("nonsense"));
}

}  // namespace
}  // namespace ak::runtime
