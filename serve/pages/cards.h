// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "serve/pages/cell_html.h"

namespace ak::pages {

/// Cards: one thing each, with the few facts that matter of it. Columns of the table:
///   title             what it is
///   value, note       optional: its figure, and a few words after it
///   tone              optional: "good", "bad", "warn", "info" (serve/pages/status_tone.h)
///   history           optional: a sparkline (serve/pages/sparkline.h)
///   any other         a fact: the column's name and the value; NULL is left out
[[nodiscard]] std::string cards_html(const db::Table& rows, const LinkedColumns& linked);
[[nodiscard]] std::string cards_markdown(const db::Table& rows);

}  // namespace ak::pages
