// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ak::testing {

/// Where builds are cached of which a test wants nothing but the result: one folder for all test programs, because half
/// of the tests' time would go into building the same references and harness kernels again.
inline std::string shared_build_cache() { return AK_TEST_BUILD_CACHE; }

}  // namespace ak::testing
