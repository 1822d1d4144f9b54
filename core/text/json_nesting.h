// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ak {

/// Levels of brackets that a JSON text may have. Files and messages of AlphaKernel have fewer than ten (chosen); to
/// copy and to write JSON takes stack for every level.
inline constexpr int kMaxJsonNesting = 64;

/// Whether brackets outside strings are nested deeper than that. Of a text that is not JSON the answer may be either.
[[nodiscard]] bool nests_too_deeply(std::string_view text);

}  // namespace ak
