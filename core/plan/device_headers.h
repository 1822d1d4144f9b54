// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/text/embedded_file.h"

namespace ak {

/// The building blocks that candidates may include, `#include <ak/tma.cuh>`: compiled in, in alphabetical order, by
/// that name (docs/device_headers.md).
[[nodiscard]] std::span<const EmbeddedFile> device_headers();

/// Whether an include's name is of a device header, known or not: it begins with "ak/".
[[nodiscard]] bool is_device_header(std::string_view name);

/// All that `source` needs of them: the toolkit's headers that they include, then their texts, each once, after those
/// that it includes itself and behind a line that names it. Empty where the source includes none. Texts that are in
/// the source already are left out.
[[nodiscard]] std::string device_header_text(std::string_view source);

/// The source with `headers`, as device_header_text() gives them, in place of the first include of a device header,
/// and without the others; includes inside of #if stay. With `file_name` each part names its file and line for the
/// compiler by #line, and lines are kept; without, the text is one for people.
[[nodiscard]] std::string with_device_headers(std::string_view source, std::string_view headers,
                                              std::string_view file_name = {});

/// The last line of header texts that are in the source, as in an emitted file; 0 where there are none.
[[nodiscard]] int end_of_device_headers(std::string_view source);
/// The last line of these and of includes outside of #if; 0 where there are none.
[[nodiscard]] int end_of_includes(std::string_view source);
/// The source with blank lines in place of header texts that are in it.
[[nodiscard]] std::string blank_device_headers(std::string_view source);

/// One page of what the headers offer: of each its first sentence and its declarations, as Markdown.
[[nodiscard]] std::string device_header_index();

}  // namespace ak
