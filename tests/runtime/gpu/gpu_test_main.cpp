// SPDX-License-Identifier: Apache-2.0
//
// main of tests that need a GPU: also the worker they start; exit code 77 where there is no device.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/evaluator/local_evaluator.h"
#include "tests/support/catch_session.h"
#include "tests/support/sandbox_attempts.h"
#include "tests/support/tiny_problem.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "worker") return ak::test::serve_test_worker(arguments);
  std::string why = "the driver reports no device";
  if (ak::runtime::probe_devices(ak::test::self_as_worker(), why).empty()) {
    const char* required = std::getenv("AK_REQUIRE_GPU");
    const bool fails = required != nullptr && std::string_view(required) == "1";
    std::fprintf(stderr, "%s: %s\n", fails ? "AK_REQUIRE_GPU=1, but" : "skipped", why.c_str());
    return fails ? 1 : 77;
  }
  return ak::testing::run_cases(argc, argv);
}
