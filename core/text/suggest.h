// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ak {

/// "; did you mean 'softmax'?" for the known name nearest to `given` by edits (at most a third of its length;
/// capitals and small letters are alike), else for the shortest one that it is a part of, or an empty string. For the
/// end of an error message.
[[nodiscard]] std::string did_you_mean(std::string_view given, std::span<const std::string> known);

/// `text` with control characters (but newline and tab), and those that reorder or hide others, replaced by '?' and
/// cut at `limit` bytes: untrusted text (compiler output, candidate names) before it is stored or shown.
[[nodiscard]] std::string sanitize(std::string_view text, std::size_t limit = 64u << 10);

}  // namespace ak
