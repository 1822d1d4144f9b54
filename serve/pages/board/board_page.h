// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/text/json.h"

namespace ak::pages {

/// A board (docs/boards.md names the fields) as one self-contained HTML file: fast_p, cells, and each task with its time,
/// its speed-ups, who wrote its kernel, and the command that measures it again.
[[nodiscard]] std::string board_html(const Json& board);

}  // namespace ak::pages
