// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ak::emulator {
struct TokenizedText;
}

namespace ak::runtime {

/// Hash (hex) of what an image does: a cubin without its debug sections and string tables, or PTX without
/// line numbers, comments and variables that nothing uses. Sources that differ in layout and comments alone
/// share it. Anything that is neither is hashed as it is.
[[nodiscard]] std::string code_hash(std::string_view image);
/// The same of PTX, for those who look at its tokens as well.
[[nodiscard]] std::string code_hash(const emulator::TokenizedText& ptx);

}  // namespace ak::runtime
