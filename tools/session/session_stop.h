// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/setup/target.h"

namespace ak::tools {

/// `session stop`: ends a session cleanly, or those of an array. Returns the exit code.
int stop_session(const app::Arguments& arguments);

}  // namespace ak::tools
