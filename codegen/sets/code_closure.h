// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace ak::codegen {

/// The part of a source that the definitions of kernels may depend on: their text, that of what they mention, and so on,
/// with all conditions of the preprocessor, but without its includes: a header is the same in every source. Rather too much
/// than too little: two sources with the same part do the same by these kernels. The whole source where its declarations
/// cannot be told apart. @param kernels as launches name them, "pack<Lines, 4>"
[[nodiscard]] std::string code_behind(std::string_view source, const std::set<std::string>& kernels);

/// The same in its place: a text of the same lines, with blanks instead of all else.
[[nodiscard]] std::string only_code_behind(std::string_view source, const std::set<std::string>& kernels);

}  // namespace ak::codegen
