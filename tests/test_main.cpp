// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "tests/support/skips.h"

int main(int argc, char** argv) { return ak::testing::exit_code_after(Catch::Session().run(argc, argv)); }
