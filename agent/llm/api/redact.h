// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ak::agent {

/// `text` without the given secrets and without what looks like a key (sk-..., AIza..., Bearer ...). Every
/// text that comes from a provider or goes to a log, a file or the database passes through here.
[[nodiscard]] std::string redact(std::string_view text, std::span<const std::string> secrets = {});

/// `text` as valid UTF-8 without control characters other than tab and line feed, and without the escape
/// sequences of terminals; what is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view text);

}  // namespace ak::agent
