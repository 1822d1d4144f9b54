// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "emulator/parse/ast.h"

namespace ak::emulator {

/// Instructions `first` ... `last`, of which the last one branches back to the first.
struct InstructionRange {
  Index first = 0, last = 0;
};

/// Loops that do nothing but wait: each round polls memory or an mbarrier, and what it computes depends on that
/// alone. How many rounds there are says who ran when, not what the program does. Such a loop
/// - is straight code, left by branches out of it and repeated by the last instruction only;
/// - polls: mbarrier.try_wait or test_wait, a volatile, relaxed or acquiring load, a compare-and-swap, an exchange;
/// - writes nothing else to memory;
/// - carries no register from one round to the next, except to choose how long it sleeps.
[[nodiscard]] std::vector<InstructionRange> waiting_loops(const Function& function);

}  // namespace ak::emulator
