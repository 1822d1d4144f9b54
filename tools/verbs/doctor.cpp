// SPDX-License-Identifier: Apache-2.0
#include "tools/verb.h"
namespace ak::tools {
int run_doctor(const Arguments&) { return 0; }
}  // namespace ak::tools
