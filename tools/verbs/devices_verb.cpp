// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/operations/operation.h"
#include "app/setup/config.h"
#include "app/setup/program_paths.h"
#include "core/device/arch.h"
#include "core/device/device_catalog.h"
#include "core/error.h"
#include "core/text/suggest.h"
#include "runtime/evaluator/local_evaluator.h"
#include "tools/command_line.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

/// What show_devices answers, under the names that this list has.
void print_devices_json() {
  const Json answer =
      operations::call(operations::operation_named("show_devices"), Json::object(), {}).content;
  const Json shown{{"devices", answer["gpus"]},
                   {"reason", answer.value("no_gpu_because", "")},
                   {"targets", answer["archs"]}};
  fmt::print("{}\n", shown.dump(2));
}

void print_devices() {
  std::string why;
  const std::vector<DeviceFacts> devices = runtime::probe_devices(app::worker_command(), why);
  for (const DeviceFacts& d : devices) {
    fmt::print("cuda:{}  {}  {}  {} SMs, {:.0f} GB, {:.0f} GB/s peak, L2 {} MB  {}\n", d.ordinal, d.name,
               d.arch.sm(), d.sm_count, static_cast<double>(d.memory_bytes) / 1e9, d.peak_bandwidth_gbps(),
               d.l2_bytes >> 20, d.uuid);
  }
  if (devices.empty()) fmt::print("no GPU: {}\n", why);
  fmt::print(
      "emulator  the CPU instead of any target: results are checked, costs are estimates, not GPU times\n");
  fmt::print("\n--arch accepts sm_NN (alphakernel doctor lists those this NVRTC builds) and: {}\n",
             fmt::join(arch_names(), ", "));
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.6g}", *value) : "-"; }

void list_catalog(bool json) {
  const DeviceCatalog catalog = app::load_device_catalog();
  Json list = Json::array();
  if (!json)
    fmt::print("{:<56} {:<8} {:>4} {:>6} {:>6} {:>6}\n", "device", "target", "SMs", "MHz", "GB", "GB/s");
  for (const DeviceEntry& entry : catalog.entries()) {
    list.push_back(to_json(entry));
    if (json || !entry.is_product()) continue;
    fmt::print("{:<56} {:<8} {:>4} {:>6} {:>6} {:>6}\n", entry.name, entry.arch.sm(),
               number(entry.value("sm_count")), number(entry.value("boost_clock_mhz")),
               number(entry.value("memory_gb")), number(entry.value("memory_bandwidth_gbps")));
  }
  if (json)
    fmt::print("{}\n", list.dump(2));
  else
    fmt::print(
        "\nalphakernel devices show NAME prints all properties of one of them, or of an sm_NN, with "
        "sources\n");
}

std::string value_text(const DevicePropertyInfo& info, const DeviceProperty& property) {
  if (!property.value) return "unknown";
  if (info.unit == "yes/no") return *property.value != 0 ? "yes" : "no";
  return fmt::format("{:.6g} {}", *property.value, info.unit);
}

void show(const std::string& name, bool json) {
  const DeviceCatalog catalog = app::load_device_catalog();
  const DeviceEntry* entry = catalog.find(name);
  if (entry == nullptr) {
    std::vector<std::string> names;
    for (const DeviceEntry& each : catalog.entries()) {
      names.push_back(each.name);
      names.insert(names.end(), each.aliases.begin(), each.aliases.end());
    }
    fail(ExitCode::usage, "no device '{}' in the catalogue{}; alphakernel devices --catalog lists them", name,
         did_you_mean(name, names));
  }
  if (json) return fmt::print("{}\n", to_json(*entry).dump(2));
  fmt::print("{}  {}  {}\n", entry->name, entry->arch.sm(), fmt::join(entry->aliases, ", "));
  for (const DevicePropertyInfo& info : device_properties()) {
    const auto found = entry->properties.find(info.name);
    if (found == entry->properties.end()) continue;
    fmt::print("  {:<28} {:<20} {} [{}]\n", info.name, value_text(info, found->second), info.meaning,
               found->second.source);
  }
}

int run_devices(const app::Arguments& arguments) {
  CLI::App app{
      "List the GPUs that candidates can run on, and the names --arch accepts; or what is known of "
      "devices that are not here.",
      "alphakernel devices"};
  set_style(app,
            "Examples:\n  alphakernel devices\n  alphakernel devices --catalog\n"
            "Properties, and how to add your own: docs/devices.md\n");
  bool json = false, catalog = false;
  std::string name;
  app.add_flag("--json", json, "print JSON");
  app.add_flag("--catalog", catalog, "list the devices of the catalogue instead");
  CLI::App* shown = add_subcommand(
      app, "show", "Show all properties of one device of the catalogue, with their sources.",
      "Examples:\n  alphakernel devices show h200\n  alphakernel devices show \"RTX 4090\" --json\n");
  shown->add_option("name", name, "a product or an architecture, e.g. h200 or sm_90")->required();
  shown->add_flag("--json", json, "print JSON");
  if (!parse(app, arguments)) return 0;
  if (shown->parsed())
    show(name, json);
  else if (catalog)
    list_catalog(json);
  else
    json ? print_devices_json() : print_devices();
  return 0;
}

}  // namespace

const Verb kDevicesVerb{"devices", "list the GPUs and the targets this NVRTC can build for", run_devices,
                        kProgramVerbs};

}  // namespace ak::tools
