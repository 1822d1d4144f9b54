// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/setup/arguments.h"

namespace ak::tools {

/// `alphakernel algorithms audit ...`. Returns the exit code.
int run_audit(const app::Arguments& arguments);

}  // namespace ak::tools
