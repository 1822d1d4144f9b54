// SPDX-License-Identifier: Apache-2.0
#include "tests/support/catch_session.h"
#include "tests/support/skips.h"

int main(int argc, char** argv) { return ak::testing::exit_code_after(ak::testing::run_cases(argc, argv)); }
