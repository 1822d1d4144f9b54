// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/search/history.h"

namespace ak::agent {

/// A point for the first phase of a search: of some random ones, the one whose values were used least so far
/// and that lies furthest from what is known.
[[nodiscard]] PointNumber spread_point(const History& history, Engine& engine);

}  // namespace ak::agent
