// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace ak::codegen {

/// The part of a source that the definitions of `names` may depend on: their text, that of what they mention, and so on,
/// with all conditions of the preprocessor, but without its includes: a header is the same in every source. Rather too much
/// than too little: two sources with the same part do the same by these names.
[[nodiscard]] std::string code_behind(std::string_view source, const std::set<std::string>& names);

}  // namespace ak::codegen
