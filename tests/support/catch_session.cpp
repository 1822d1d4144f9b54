// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include "tests/support/catch_session.h"

#include <catch2/catch.hpp>

namespace ak::testing {

int run_cases(int argc, char** argv) { return Catch::Session().run(argc, argv); }

}  // namespace ak::testing
