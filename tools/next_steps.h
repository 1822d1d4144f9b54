// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/search/search_command.h"

namespace ak::tools {

/// Prints what a search found, and for people what they can do next, as commands with real names; a ShowSearch.
void print_search_and_next(const app::SearchSetup& setup, const app::SearchOutcome& outcome,
                           const Json& result);

}  // namespace ak::tools
