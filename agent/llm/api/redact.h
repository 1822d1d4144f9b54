// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/llm.h"
#include "core/text/json.h"

namespace ak::agent {

/// Takes secrets out of text: in every form in which a server may repeat them (as they are, with escapes, in base64 or
/// hexadecimal: readings.h), whole, parts of 12 characters or more, and of 6 or more where the text was cut, however
/// they are written; user and password in addresses; and what looks like any key (docs/providers.md#keys).
/// Immutable: may be used by several threads.
class Redactor {
 public:
  Redactor() = default;  ///< of no secret in particular
  explicit Redactor(std::vector<std::string> secrets);

  [[nodiscard]] std::string operator()(std::string_view text) const;
  /// Every text and name in it.
  void redact(Json& json) const;
  /// One of the secrets is in `text`, whole or in parts.
  [[nodiscard]] bool finds(std::string_view text) const { return without_secrets(text) != text; }
  /// In a text or a name in it.
  [[nodiscard]] bool finds(const Json& json) const;
  [[nodiscard]] bool has_secrets() const { return !secrets_.empty(); }

 private:
  [[nodiscard]] std::string without_secrets(std::string_view text) const;

  std::vector<std::string> secrets_;
};

/// Stands for bytes that hold a key as taking it out of the bytes would not find it.
inline constexpr const char* kNotKept = "[not kept: the provider repeated the key]";

/// Text of a provider, or of another program that has a secret. It can be looked into, but it comes out only
/// through a redactor: so no cut hides from the redactor what is left of a key.
class ForeignText {
 public:
  ForeignText() = default;
  explicit ForeignText(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] bool contains(std::string_view word) const { return text_.find(word) != std::string::npos; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  /// One line of at most about 400 bytes, without control characters.
  [[nodiscard]] std::string line(const Redactor& redactor) const;

 private:
  std::string text_;
};

/// Why a provider did not answer, in its own words.
struct ForeignFailure {
  LlmFault fault = LlmFault::malformed;
  ForeignText message;

  [[nodiscard]] LlmFailure shown(const Redactor& redactor) const { return {fault, message.line(redactor)}; }
};

/// `text` without what any redactor takes out of it, and without the given secrets.
[[nodiscard]] std::string redact(std::string_view text, std::span<const std::string> secrets = {});

/// `text` as valid UTF-8 without control characters other than tab and line feed, and without the escape
/// sequences of terminals; what is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view text);

}  // namespace ak::agent
