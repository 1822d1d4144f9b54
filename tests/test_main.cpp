// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <iostream>

#include "tests/support/skips.h"

int main(int argc, char** argv) {
  const int failures = Catch::Session().run(argc, argv);
  const int skipped = ak::testing::skipped_cases;
  if (skipped > 0) std::cerr << skipped << " test cases were skipped: the words above say why\n";
  return failures == 0 && skipped > 0 ? ak::testing::kSkippedExitCode : failures;
}
