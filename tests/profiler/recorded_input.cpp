// SPDX-License-Identifier: Apache-2.0
#include "tests/profiler/recorded_input.h"

namespace ak::profiler {
namespace {

KernelFacts kernel_from_json(const Json& json) {
  KernelFacts kernel;
  kernel.registers = json.value("registers", 0);
  kernel.spill_store_bytes = json.value("spill_store_bytes", 0);
  kernel.spill_load_bytes = json.value("spill_load_bytes", 0);
  kernel.stack_bytes = json.value("stack_bytes", 0);
  kernel.static_shared_bytes = json.value("static_shared_bytes", 0);
  return kernel;
}

void read_facts(const Json& json, AnalysisInput& input) {
  input.grid = json.value("grid", input.grid);
  input.block = json.value("block", input.block);
  if (json.contains("kernel")) input.kernel = kernel_from_json(json["kernel"]);
  if (json.contains("device")) input.device = device_facts_from_json(json["device"]);
  if (json.contains("work"))
    input.work = {json["work"].value("flops", 0.0), json["work"].value("bytes", 0.0)};
  if (json.contains("floor")) {
    input.floor = {Nanoseconds(json["floor"].value("time_ns", 0.0)), json["floor"].value("reason", "")};
  }
  input.launches = json.value("launches", 1);
  input.float64 = json.value("float64", false);
  if (json.contains("time_ns")) input.time_ns = json["time_ns"].get<double>();
  if (json.contains("matrix_type")) input.matrix_type = parse_dtype(json["matrix_type"].get<std::string>());
  if (json.contains("occupancy")) {
    const Json& fits = json["occupancy"];
    input.occupancy =
        Occupancy{fits.value("blocks_per_sm", 0), fits.value("ratio", 0.0), fits.value("limiter", "")};
  }
}

}  // namespace

AnalysisInput input_from_json(const Json& launch, const std::string& method) {
  AnalysisInput input;
  input.method = method;
  input.launch.kernel = launch.value("kernel", "");
  if (launch.contains("metrics")) input.launch.metrics = launch["metrics"].get<Metrics>();
  for (const Json& line : launch.value("lines", Json::array())) {
    input.launch.lines.push_back(
        {line["line"].get<int>(), line["samples"].get<std::map<std::string, std::uint64_t>>()});
  }
  if (launch.contains("facts")) read_facts(launch["facts"], input);
  return input;
}

}  // namespace ak::profiler
