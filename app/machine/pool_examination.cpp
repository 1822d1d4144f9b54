// SPDX-License-Identifier: Apache-2.0
#include "app/machine/pool_examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/setup/pool_file.h"
#include "app/setup/program_paths.h"
#include "app/setup/target.h"
#include "runtime/fleet/pool_probe.h"

namespace ak::app {
namespace {

Json calibration_json(const Calibration& calibration) {
  return {{"compute_us", calibration.compute_ns / 1e3},
          {"copy_us", calibration.copy_ns / 1e3},
          {"memory_errors", calibration.memory_errors ? Json(*calibration.memory_errors) : Json()},
          {"sm_clock_mhz", calibration.sm_clock_mhz > 0 ? Json(calibration.sm_clock_mhz) : Json()}};
}

Json place_json(const runtime::PlaceFinding& finding) {
  Json json = {{"place", finding.place},
               {"usable", finding.fault.empty()},
               {"fault", finding.fault},
               {"notes", finding.notes}};
  for (const char* key :
       {"device", "uuid", "cuda_of_driver", "version", "clock_skew_s", "free_bytes", "calibration"})
    json[key] = nullptr;
  if (const auto& device = finding.device) {
    json["device"] = device->name;
    if (!device->uuid.empty()) json["uuid"] = device->uuid;
    if (device->driver_version > 0)
      json["cuda_of_driver"] =
          fmt::format("{}.{}", device->driver_version / 1000, device->driver_version % 1000 / 10);
  }
  if (const auto& machine = finding.machine) {
    json["version"] = machine->version;
    json["clock_skew_s"] = finding.clock_skew_s;
    if (machine->free_bytes) json["free_bytes"] = *machine->free_bytes;
  }
  if (finding.calibration) json["calibration"] = calibration_json(*finding.calibration);
  return json;
}

}  // namespace

Json examine_pool(const std::filesystem::path& file, std::chrono::milliseconds patience) {
  std::vector<PoolFault> faults;
  const PoolDevices pool = read_pool(file, &faults);
  runtime::EvaluatorOptions options;
  options.device = pool.kind;
  options.target = emulated_by_default();
  options.pool = pool.places;
  options.worker_command = worker_command();
  Json places = Json::array();
  for (const PoolFault& fault : faults) {
    runtime::PlaceFinding finding;
    finding.place = fault.entry;
    finding.fault = fault.why;
    places.push_back(place_json(finding));
  }
  for (const runtime::PlaceFinding& finding : runtime::probe_pool(options, AK_VERSION, patience))
    places.push_back(place_json(finding));
  const bool usable =
      std::ranges::all_of(places, [](const Json& place) { return place["usable"].get<bool>(); });
  return {{"usable", usable}, {"places", std::move(places)}};
}

}  // namespace ak::app
