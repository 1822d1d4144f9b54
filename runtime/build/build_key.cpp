// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/build_key.h"

#include <algorithm>

#include "core/text/characters.h"
#include "core/text/hash.h"

namespace ak::runtime {

BuildKey BuildKey::of(const TranslationUnit& unit, const std::string& nvrtc_version) {
  return BuildKey(sha256_hex(unit.hash() + "\nnvrtc " + nvrtc_version));
}

BuildKey BuildKey::of_own() const { return BuildKey(sha256_hex(text_ + " own")); }

std::optional<BuildKey> BuildKey::parse(std::string_view text) {
  constexpr std::size_t kDigits = 64;  // of SHA-256
  const auto is_hexadecimal = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  if (text.size() != kDigits || !std::ranges::all_of(text, is_hexadecimal)) return std::nullopt;
  return BuildKey(std::string(text));
}

}  // namespace ak::runtime
