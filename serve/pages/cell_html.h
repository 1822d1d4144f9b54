// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "db/database.h"

namespace ak::pages {

/// Columns whose values link to the page of that name.
using LinkedColumns = std::set<std::string, std::less<>>;

/// A value as HTML: escaped, cut where it is endless; a link, a badge with the tone of a status, a sparkline or
/// a command line where its column's name says so.
[[nodiscard]] std::string cell_html(const db::Cell& value, const std::string& column,
                                    const LinkedColumns& linked);

/// A number or text as it is, for an address or a field; empty for anything else.
[[nodiscard]] std::string plain_text(const db::Cell& cell);

/// Text for HTML: nothing in it can be a tag or end an attribute.
[[nodiscard]] std::string html_escape(std::string_view text);

/// The same HTML, in which names of over 24 characters may be broken where a part ends: after "_" and "/".
[[nodiscard]] std::string breakable(std::string_view html);

}  // namespace ak::pages
