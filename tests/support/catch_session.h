// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ak::testing {

/// Runs the cases of this program as its command line says; returns how many failed, at most 255. What Catch2 itself takes
/// to compile, 14 s, is in one source for all programs.
int run_cases(int argc, char** argv);

}  // namespace ak::testing
