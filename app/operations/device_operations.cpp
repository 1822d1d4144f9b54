// SPDX-License-Identifier: Apache-2.0
// What kernels run on.
#include "app/operations/operation.h"
#include "app/setup/program_paths.h"
#include "core/device/arch.h"
#include "core/device/device_catalog.h"
#include "core/error.h"
#include "core/text/suggest.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::operations {
namespace {

Json devices_here() {
  std::string why;
  Json list = Json::array();
  for (const DeviceFacts& device : runtime::probe_devices(app::worker_command(), why))
    list.push_back(to_json(device));
  Json json{{"gpus", std::move(list)}};
  if (!why.empty()) json["no_gpu_because"] = why;
  json["emulator"] = "the CPU instead of any target: results are checked, costs are estimates, not GPU times";
  json["archs"] = arch_names();
  json["archs_note"] = "arch takes sm_NN and these; show_devices with a name shows all properties of one";
  return json;
}

Json whole_catalog() {
  Json list = Json::array();
  const DeviceCatalog catalog = app::load_device_catalog();
  for (const DeviceEntry& entry : catalog.entries()) list.push_back(to_json(entry));
  return {{"catalog", std::move(list)}};
}

}  // namespace

Answer show_devices(const Json& request, const Context&, const Callbacks&) {
  if (request.at("catalog").get<bool>()) return {.content = whole_catalog()};
  const std::string name = request.value("name", "");
  if (name.empty()) return {.content = devices_here()};
  const DeviceCatalog catalog = app::load_device_catalog();
  if (const DeviceEntry* entry = catalog.find(name)) return {.content = to_json(*entry)};
  std::vector<std::string> names;
  for (const DeviceEntry& each : catalog.entries()) {
    names.push_back(each.name);
    names.insert(names.end(), each.aliases.begin(), each.aliases.end());
  }
  fail(ExitCode::usage, "no device '{}' in the catalogue{}; alphakernel devices --catalog lists them",
       sanitize(name, 80), did_you_mean(name, names));
}

}  // namespace ak::operations
