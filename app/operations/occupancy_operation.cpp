// SPDX-License-Identifier: Apache-2.0
// How many blocks an SM holds: of a kernel, or of numbers.
#include <algorithm>
#include <array>

#include "app/occupancy/kernel_occupancy.h"
#include "app/operations/kernel_request.h"
#include "core/error.h"

namespace ak::operations {
namespace {

bool gives_any(const Json& request, const std::array<const char*, 3>& names) {
  return std::ranges::any_of(names, [&](const char* name) { return request.contains(name); });
}

app::LaunchNeeds needs_of_numbers(const Json& request) {
  if (!request.contains("threads") || !request.contains("registers"))
    fail(ExitCode::usage, "say which kernel, or give threads and registers");
  const int shared_bytes = request.value("shared_bytes", 0);
  return {.block = {.threads = request.at("threads").get<int>(),
                    .registers = request.at("registers").get<int>(),
                    .shared_bytes = shared_bytes},
          .dynamic_shared_bytes = shared_bytes};
}

}  // namespace

Answer occupancy(const Json& request, const Context& context, const Callbacks&) {
  const Arch arch = app::occupancy_arch(request.value("arch", ""), context.config);
  if (!gives_any(request, {"source", "path", "variant"}))
    return {.content = app::occupancy_json(arch, {needs_of_numbers(request)})};
  if (gives_any(request, {"threads", "registers", "shared_bytes"}))
    fail(ExitCode::usage, "give a kernel or its numbers, not both");
  const KernelTask task = kernel_task(request, context);
  return {.content = app::occupancy_json(
              arch, app::launches_of_kernel(task.problem, task.kernel.candidate, arch, context.config))};
}

}  // namespace ak::operations
