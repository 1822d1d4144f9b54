// SPDX-License-Identifier: Apache-2.0
//
// main of tests whose program is also the worker they start.
#include <string>
#include <vector>

#include "tests/support/catch_session.h"
#include "tests/support/sandbox_attempts.h"
#include "tests/support/skips.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0].ends_with("worker")) return ak::test::serve_test_worker(arguments);
  return ak::testing::exit_code_after(ak::testing::run_cases(argc, argv));
}
