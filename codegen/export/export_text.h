// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/text/embedded_file.h"

namespace ak::codegen {

/// What takes the place of @name@ in a text.
struct TextValue {
  std::string_view name;  ///< lower-case letters and '_'
  std::string value;      ///< taken as it is: a placeholder in it is not filled
};

/// `text` with the value of every placeholder @name@ in its place. The error names a placeholder without a value, or a
/// value without a placeholder. A '@' that begins no placeholder stays.
[[nodiscard]] Result<std::string> filled_text(std::string_view text, std::initializer_list<TextValue> values);

/// A text of a problem as the rest of a line of comment: what would end the line, or go on with the next one, is a space.
[[nodiscard]] std::string comment_text(std::string_view text);

/// The file NAME.in of `texts`, filled. Asserts that there is one and that placeholders and values match.
[[nodiscard]] std::string filled_file(std::span<const EmbeddedFile> texts, std::string_view name,
                                      std::initializer_list<TextValue> values);
/// The same of codegen/export/texts/.
[[nodiscard]] std::string export_text(std::string_view name, std::initializer_list<TextValue> values);

}  // namespace ak::codegen
