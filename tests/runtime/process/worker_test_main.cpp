// SPDX-License-Identifier: Apache-2.0
//
// main of tests whose program is also the worker they start.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/sandbox_attempts.h"
#include "tests/support/skips.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0].ends_with("worker")) return ak::test::serve_test_worker(arguments);
  return ak::testing::exit_code_after(Catch::Session().run(argc, argv));
}
