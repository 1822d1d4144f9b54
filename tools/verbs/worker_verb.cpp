// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti/cupti_profiler.h"
#include "runtime/worker/worker_main.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

int run_worker(const app::Arguments& arguments) {
  return runtime::worker_main(arguments, profiler::make_launch_profiler);
}

}  // namespace

const Verb kWorkerVerb{"worker", "", run_worker};

}  // namespace ak::tools
