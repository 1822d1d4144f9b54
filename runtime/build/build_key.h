// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/build.h"

namespace ak::runtime {

/// Identity of a build: the unit's hash with the NVRTC version mixed in. Names an entry of the cache, so that a key is
/// either made from what is built or has been looked at: 64 lower-case hexadecimal digits, and nothing else.
class BuildKey {
 public:
  [[nodiscard]] static BuildKey of(const TranslationUnit& unit, const std::string& nvrtc_version);
  /// Another key for the same build, which no candidate can have.
  [[nodiscard]] BuildKey of_own() const;
  /// Nothing where `text` is no key.
  [[nodiscard]] static std::optional<BuildKey> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  explicit BuildKey(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace ak::runtime
