// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ak::pages {

/// What the colour of a value says: "good", "bad", "warn", "info", or nothing. Also a class of page.css.
[[nodiscard]] bool is_tone(std::string_view name);

/// Columns whose values are marked with their tone: "status", "state", "verdict" and the like.
[[nodiscard]] bool holds_status(std::string_view column);

/// The tone of a status of an evaluation (core/outcome.h), a search, a session or a comparison; empty for one that says
/// neither good nor bad, and for any other text.
[[nodiscard]] std::string_view status_tone(std::string_view status);

}  // namespace ak::pages
