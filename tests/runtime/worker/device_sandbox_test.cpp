// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/support/build_cache.h"
#include "tests/support/device_bench.h"
#include "tests/support/device_sandbox_cases.h"
#include "tests/support/patience.h"
#include "tests/support/sandbox_attempts.h"

namespace ak::test {
namespace {

TEST_CASE("a device worker on the CPU with a problem open is refused files, network and other processes") {
  OpenDeviceWorker worker(DeviceKind::emulator);
  INFO(worker.opened().dump());
  const std::vector<std::string> none;
  CHECK_THAT(not_refused(worker.opened(), worker.ask("attempt")), Catch::Equals(none));
  worker.open();
  CHECK_THAT(not_refused(worker.opened(), worker.ask("attempt")), Catch::Equals(none));
}

// With a sanitizer a worker takes more than that at its start.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a candidate whose evaluation takes too much host memory ends as out_of_memory, in words") {
  runtime::EvaluatorOptions options;
  options.device = DeviceKind::emulator;
  options.target = Arch{.major = 9, .minor = 0, .feature = 'a'};
  options.compile_workers = 1;
  options.worker_command = {"/proc/self/exe", "small_worker"};
  options.compile_deadline = testing::kPatience;
  options.cache_dir = testing::shared_build_cache();
  const auto evaluator = runtime::make_local_evaluator(std::move(options), plain_assembler());
  EvaluationRequest request;
  TinyProblem tiny;
  tiny.check_sizes = {1 << 22};  // 80 MiB are passed while its inputs and references are made
  request.problem = make_problem(tiny);
  request.candidate = make_candidate("k.cu", elementwise_plan("k"), kernel("if (i < n) c[i] = a[i] + b[i];"));
  request.arch = evaluator->capabilities().device.arch;
  static_cast<void>(evaluator->submit(std::move(request)));
  auto completed = evaluator->wait_any(testing::out_of_patience());
  REQUIRE(completed);
  INFO(describe(completed->result));
  CHECK(completed->result.outcome.status == Status::out_of_memory);
  CHECK_THAT(completed->result.outcome.message, Catch::Contains("host memory"));
}
#endif

}  // namespace
}  // namespace ak::test
