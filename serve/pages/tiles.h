// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "db/database.h"

namespace ak::pages {

/// Tiles: a row of few big figures. Columns of the table:
///   label, value      what is counted, and the figure
///   note              optional: a few words below it
///   history           optional: a sparkline (serve/pages/sparkline.h)
///   tone              optional: "good", "bad", "warn", "info" (serve/pages/status_tone.h)
[[nodiscard]] std::string tiles_html(const db::Table& rows);
[[nodiscard]] std::string tiles_markdown(const db::Table& rows);

}  // namespace ak::pages
