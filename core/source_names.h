// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ak {

/// The file that compilers name for the constants which are inserted into a candidate: its tunables and the problem's
/// params. They are behind its includes, and are no lines of it.
inline constexpr std::string_view kConstantsFile = "tunables_and_params";

}  // namespace ak
