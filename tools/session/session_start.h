// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/setup/target.h"

namespace ak::tools {

/// `session start`: a session from a manifest or from flags of `generate`, here, as a job of Slurm, or several as an array
/// of jobs. Returns the exit code.
int start_session(const app::Arguments& arguments);

}  // namespace ak::tools
