// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/device/arch.h"
#include "core/device/device_catalog.h"
#include "core/device/device_facts.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

/// A line of one GPU.
std::string gpu_text(const DeviceFacts& gpu) {
  return fmt::format("cuda:{}  {}  {}  {} SMs, {:.0f} GB, {:.0f} GB/s peak, L2 {} MB  {}\n", gpu.ordinal,
                     gpu.name, gpu.arch.sm(), gpu.sm_count, static_cast<double>(gpu.memory_bytes) / 1e9,
                     gpu.peak_bandwidth().per_nanosecond(), gpu.l2_bytes >> 20, gpu.uuid);
}

void print_devices(const Json& answer) {
  for (const Json& gpu : answer["gpus"]) fmt::print("{}", gpu_text(device_facts_from_json(gpu)));
  if (answer["gpus"].empty()) fmt::print("no GPU: {}\n", answer["no_gpu_because"].get<std::string>());
  fmt::print("emulator  {}\n", answer["emulator"].get<std::string>());
  fmt::print("\n--arch accepts sm_NN (alphakernel doctor lists those this NVRTC builds) and: {}\n",
             fmt::join(answer["archs"].get<std::vector<std::string>>(), ", "));
}

/// A figure of the catalogue, or "-".
std::string figure(const Json& device, const char* name) {
  const Json& figures = device["figures"];
  const bool known = figures.contains(name) && !figures[name][0].is_null();
  return known ? fmt::format("{:.6g}", figures[name][0].get<double>()) : "-";
}

void print_catalog(const Json& catalog) {
  fmt::print("{:<56} {:<8} {:>4} {:>6} {:>6} {:>6}\n", "device", "target", "SMs", "MHz", "GB", "GB/s");
  for (const Json& device : catalog) {
    if (parse_sm(device["name"].get<std::string>())) continue;  // an architecture
    fmt::print("{:<56} {:<8} {:>4} {:>6} {:>6} {:>6}\n", device["name"].get<std::string>(),
               device["arch"].get<std::string>(), figure(device, "sm_count"),
               figure(device, "boost_clock_mhz"), figure(device, "memory_gb"),
               figure(device, "memory_bandwidth_gbps"));
  }
  fmt::print(
      "\nalphakernel devices show NAME prints all properties of one of them, or of an sm_NN, with sources\n");
}

std::string value_text(const DevicePropertyInfo& info, const Json& value) {
  if (value.is_null()) return "unknown";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return fmt::format("{:.6g} {}", value.get<double>(), info.unit);
}

void print_device(const Json& device) {
  fmt::print("{}  {}  {}\n", device["name"].get<std::string>(), device["arch"].get<std::string>(),
             fmt::join(device["aliases"].get<std::vector<std::string>>(), ", "));
  for (const DevicePropertyInfo& info : device_properties()) {
    const auto found = device["figures"].find(info.name);
    if (found == device["figures"].end()) continue;
    fmt::print("  {:<28} {:<20} {} [{}]\n", info.name, value_text(info, found->at(0)), info.meaning,
               found->at(1).get<std::string>());
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
  Json request{{"catalog", catalog && !shown->parsed()}};
  if (shown->parsed()) request["name"] = name;
  const operations::Answer answer = call_operation("show_devices", request, "devices", arguments);
  if (json) {
    print_json(answer);
  } else if (shown->parsed()) {
    print_device(answer.content);
  } else {
    catalog ? print_catalog(answer.content["catalog"]) : print_devices(answer.content);
  }
  return 0;
}

}  // namespace

const Verb kDevicesVerb{"devices", "list the GPUs and the targets this NVRTC can build for", run_devices,
                        kProgramVerbs};

}  // namespace ak::tools
