// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/candidate_builds.h"

#include <poll.h>

#include <catch2/catch.hpp>

#include "tests/runtime/evaluator/job_samples.h"
#include "tests/support/patience.h"

namespace ak::runtime {
namespace {

using Part = CandidateBuilds::Part;

const std::string kKernel = "extern \"C\" __global__ void k() {}\n";

struct Builds {
  SourceAssembler assembler = ak::test::plain_assembler();
  CandidateBuilds builds{options(), assembler};

  static EvaluatorOptions options() {
    EvaluatorOptions options;
    options.worker_command = ak::test::self_as_worker();
    options.compile_workers = 1;
    options.compile_deadline = testing::kPatience;
    return options;
  }
  TranslationUnit unit(const std::string& source) const {
    TranslationUnit made = assembler.plain("k.cu", source, test::kTarget);
    made.kernels = {"k"};
    return made;
  }
  /// The next build of an evaluation.
  CandidateBuilds::Built next() {
    const auto deadline = testing::out_of_patience();
    while (std::chrono::steady_clock::now() < deadline) {
      if (auto built = builds.poll()) return std::move(*built);
      wait();
    }
    FAIL("a build did not end");
    return {};
  }
  void wait() const {
    pollfd readable{.fd = builds.descriptor(), .events = POLLIN, .revents = 0};
    static_cast<void>(::poll(&readable, 1, 100));
  }
};

TEST_CASE("builds come back with the evaluation that they belong to, and as candidate or rival") {
  Builds test;
  test.builds.start(7, Part::rival, test.unit(kKernel));
  test.builds.start(7, Part::candidate, test.unit("nonsense"));
  const auto first = test.next(), second = test.next();
  CHECK(first.owner == 7);
  CHECK(first.part == Part::rival);
  CHECK(first.result.outcome.status == Status::ok);
  CHECK(second.part == Part::candidate);
  CHECK(second.result.outcome.status == Status::compile_error);
  CHECK_FALSE(test.builds.poll());
}

TEST_CASE("the builds of a cancelled evaluation do not come back") {
  Builds test;
  test.builds.start(1, Part::candidate, test.unit(kKernel));
  test.builds.start(2, Part::candidate, test.unit(kKernel + "__device__ int other;"));
  test.builds.cancel(1);
  CHECK(test.next().owner == 2);
  CHECK_FALSE(test.builds.poll());
}

TEST_CASE("a problem is built once for an architecture, and its builds are no evaluation's") {
  Builds test;
  const auto problem = ak::test::make_problem({});
  ProblemBuild& built = test.builds.problem(problem, test::kTarget);
  CHECK(&test.builds.problem(problem, test::kTarget) == &built);
  const Arch other{.major = 8, .minor = 0, .feature = '\0'};
  CHECK(&test.builds.problem(problem, other) != &built);
  const auto deadline = testing::out_of_patience();
  while (!built.ready() && std::chrono::steady_clock::now() < deadline) {
    CHECK_FALSE(test.builds.poll());
    test.wait();
  }
  CHECK(built.ready());
}

}  // namespace
}  // namespace ak::runtime
