// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/arch.h"
#include "runtime/local_evaluator.h"
#include "tools/command_line.h"

namespace ak::tools {

int run_devices(const Arguments& arguments) {
  CLI::App app{"List the GPUs that candidates can run on, and the names --arch accepts.",
               "alphakernel devices"};
  set_style(app, "Examples:\n  alphakernel devices\n  alphakernel devices --json\n");
  bool json = false;
  app.add_flag("--json", json, "print JSON");
  if (!parse(app, arguments)) return 0;
  std::string why;
  const std::vector<DeviceFacts> devices = runtime::probe_devices(worker_command(), why);
  if (json) {
    Json list = Json::array();
    for (const DeviceFacts& device : devices) list.push_back(to_json(device));
    fmt::print("{}\n", Json{{"devices", list}, {"reason", why}, {"targets", arch_names()}}.dump(2));
    return 0;
  }
  for (const DeviceFacts& d : devices) {
    fmt::print("cuda:{}  {}  {}  {} SMs, {:.0f} GB, {:.0f} GB/s peak, L2 {} MB  {}\n", d.ordinal, d.name,
               d.arch.sm(), d.sm_count, static_cast<double>(d.memory_bytes) / 1e9, d.peak_bandwidth_gbps(),
               d.l2_bytes >> 20, d.uuid);
  }
  if (devices.empty()) fmt::print("no GPU: {}\n", why);
  fmt::print(
      "emulator  the CPU in place of any target: results are checked, costs are estimates, not GPU times\n");
  fmt::print("\n--arch accepts sm_NN (alphakernel doctor lists those this NVRTC builds) and: {}\n",
             fmt::join(arch_names(), ", "));
  return 0;
}

}  // namespace ak::tools
