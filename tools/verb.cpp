// SPDX-License-Identifier: Apache-2.0
#include "tools/verb.h"

#include "verb_table.h"

namespace ak::tools {

std::span<const Verb* const> verbs() { return kVerbTable; }

}  // namespace ak::tools
