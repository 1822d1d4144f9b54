// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/search/search_command.h"

namespace ak::tools {

/// Prints what a search found, for people or, where it was set up so, as one line of JSON; a ShowSearch.
void print_search(const app::SearchSetup& setup, const app::SearchOutcome& outcome, const Json& result);

}  // namespace ak::tools
