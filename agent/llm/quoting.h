// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ak::agent {

/// A code that does not occur in `text`, to quote it between two lines with that code: nothing in it can end
/// the quotation. Another one for every request; the same for the same seed, request and text.
[[nodiscard]] std::string fence_for(std::uint64_t seed, int request, std::string_view text);

/// Someone else's text as it may be between two lines of a prompt: without controls, in at most about so
/// many tokens, ending with a line feed.
[[nodiscard]] std::string quotable(std::string_view text, std::int64_t tokens);

}  // namespace ak::agent
