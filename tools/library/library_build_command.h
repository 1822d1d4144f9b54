// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/setup/arguments.h"

namespace ak::tools {

/// `alphakernel library build`.
int build_library(const app::Arguments& arguments);

}  // namespace ak::tools
