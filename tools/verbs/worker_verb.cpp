// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti/cupti_profiler.h"
#include "runtime/worker/worker_main.h"

#include "tools/verb.h"

namespace ak::tools {

int run_worker(const Arguments& arguments) {
  return runtime::worker_main(arguments, profiler::make_launch_profiler);
}

}  // namespace ak::tools
