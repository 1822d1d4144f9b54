// SPDX-License-Identifier: Apache-2.0
#include "core/gate.h"

// Alone in its file: the linker takes it from the library only where a program has no definition of its own.
bool ak::gate_enabled(Gate) { return true; }
