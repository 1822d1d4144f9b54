// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/analysis.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/text/file.h"
#include "profiler/analysis/bottleneck_rules.h"
#include "profiler/analysis/metric_catalog.h"
#include "profiler/analysis/profile_json.h"
#include "tests/profiler/recorded_input.h"

using namespace ak;
using namespace ak::profiler;

namespace {

DeviceFacts h200() {
  DeviceFacts device;
  device.kind = DeviceKind::cuda;
  device.arch = {9, 0, 'a'};
  device.sm_count = 132;
  device.clock_mhz = 1980;
  device.memory_clock_mhz = 3201;
  device.memory_bus_bits = 6144;
  return device;
}

// A launch that fills the device and is limited by nothing: what a test sets is all that differs.
AnalysisInput nothing_stands_out() {
  AnalysisInput input;
  input.method = "cupti";
  input.launch.kernel = "k";
  input.launch.metrics = {{"time/duration", 100e3},
                          {"time/active_cycles", 98},
                          {"time/active_cycles_max", 100},
                          {"dram/throughput", 40},
                          {"dram/bytes_read", 96e6},
                          {"dram/bytes_written", 96e6},
                          {"l2/throughput", 40},
                          {"l2/sectors", 20e6},
                          {"l1/data_stage", 30},
                          {"global/requests", 1.5e6},
                          {"global/bytes", 192e6},
                          {"global/sectors", 6e6},
                          {"global/load_bytes", 96e6},
                          {"global/load_sectors", 3e6},
                          {"global/load_requests", 375e3},
                          {"global/store_bytes", 96e6},
                          {"global/store_sectors", 3e6},
                          {"global/store_requests", 375e3},
                          {"shared/wavefronts", 1e6},
                          {"shared/bank_conflicts", 0},
                          {"shared/throughput", 10},
                          {"local/sectors", 0},
                          {"atomic/global_requests", 0},
                          {"atomic/global_reductions", 0},
                          {"atomic/shared_requests", 0},
                          {"l2/atomic_unit", 0},
                          {"pipe/tensor", 0},
                          {"pipe/fma", 20},
                          {"pipe/alu", 20},
                          {"pipe/fp16", 0},
                          {"pipe/fp64", 0},
                          {"pipe/xu", 5},
                          {"pipe/lsu", 20},
                          {"issue/active", 40},
                          {"occupancy/achieved", 90},
                          {"inst/warp", 20e6},
                          {"inst/thread", 640e6},
                          {"inst/active_threads", 32},
                          {"inst/thread/integer", 160e6},
                          {"inst/memory_128b", 1.5e6},
                          {"inst/memory_8b", 0},
                          {"inst/memory_16b", 0},
                          {"inst/memory_32b", 0},
                          {"inst/memory_64b", 0},
                          {"branch/divergent", 0},
                          {"stall/long_scoreboard", 2},
                          {"stall/short_scoreboard", 1},
                          {"stall/wait", 2},
                          {"stall/barrier", 1},
                          {"stall/not_selected", 3},
                          {"stall/math_pipe_throttle", 1},
                          {"stall/mio_throttle", 1},
                          {"stall/lg_throttle", 0},
                          {"stall/branch_resolving", 1},
                          {"stall/no_instruction", 0.5},
                          {"stall/drain", 0}};
  input.kernel.registers = 32;
  input.occupancy = Occupancy{8, 1.0, "block size"};
  input.grid = {132 * 8 * 8, 1, 1};
  input.block = {256, 1, 1};
  input.device = h200();
  input.time_ns = 98e3;
  input.work = {1e9, 192e6};
  return input;
}

struct Case {
  const char* expected;
  Metrics changed;
  void (*change)(AnalysisInput&) = nullptr;
};

const Case kCases[] = {
    {"unclear", {}},
    {"launch_bound",
     {{"time/duration", 2400},
      {"dram/throughput", 3},
      {"l2/throughput", 4},
      {"l1/data_stage", 3},
      {"issue/active", 2},
      {"pipe/fma", 1},
      {"pipe/alu", 1},
      {"pipe/lsu", 1},
      {"shared/throughput", 0}}},
    {"grid_too_small",
     {{"dram/throughput", 8},
      {"l2/throughput", 8},
      {"l1/data_stage", 5},
      {"issue/active", 9},
      {"pipe/fma", 5},
      {"pipe/alu", 5},
      {"pipe/lsu", 5}},
     [](AnalysisInput& in) {
       in.grid = {20, 1, 1};
     }},
    {"tail_effect",
     {{"time/active_cycles", 60}},
     [](AnalysisInput& in) {
       in.grid = {132 * 8 + 10, 1, 1};
     }},
    {"local_memory",
     {{"local/sectors", 12e6}, {"l1/data_stage", 70}, {"stall/long_scoreboard", 20}},
     [](AnalysisInput& in) { in.kernel.spill_load_bytes = 400; }},
    {"uncoalesced_access",
     {{"global/load_sectors", 24e6},
      {"global/sectors", 27e6},
      {"l2/throughput", 80},
      {"l1/data_stage", 60},
      {"stall/long_scoreboard", 30}}},
    {"partial_sector_writes",
     {{"global/store_sectors", 24e6},
      {"global/sectors", 27e6},
      {"l2/throughput", 80},
      {"stall/lg_throttle", 20}}},
    {"shared_bank_conflicts",
     {{"shared/wavefronts", 16e6},
      {"shared/bank_conflicts", 15e6},
      {"shared/throughput", 90},
      {"l1/data_stage", 92}}},
    {"atomics_contention",
     {{"atomic/global_reductions", 1e6}, {"l2/atomic_unit", 95}, {"stall/lg_throttle", 40}}},
    {"redundant_traffic", {{"dram/bytes_read", 480e6}, {"dram/throughput", 88}, {"l2/throughput", 85}}},
    {"tensor_cores_unused",
     {{"pipe/fma", 70}, {"issue/active", 80}},
     [](AnalysisInput& in) {
       in.matrix_type = DType::bfloat16;
       in.work.flops = 4e9;
     }},
    {"fp64_bound", {{"pipe/fp64", 92}, {"stall/math_pipe_throttle", 20}}},
    {"half_precision_bound", {{"pipe/fp16", 85}, {"issue/active", 60}}},
    {"special_function_bound", {{"pipe/xu", 93}, {"stall/math_pipe_throttle", 20}}},
    {"divergence",
     {{"inst/active_threads", 6}, {"branch/divergent", 1e6}, {"issue/active", 80}, {"pipe/alu", 60}}},
    {"integer_overhead", {{"inst/thread/integer", 450e6}, {"issue/active", 85}, {"pipe/alu", 88}}},
    {"narrow_loads",
     {{"global/requests", 6e6},
      {"inst/memory_128b", 0},
      {"inst/memory_8b", 6e6},
      {"stall/long_scoreboard", 10},
      {"global/load_requests", 3e6},
      {"global/store_requests", 3e6}}},
    {"phases_not_overlapped", {{"pipe/tensor", 56}, {"pipe/xu", 57}, {"issue/active", 50}}},
    {"occupancy_registers",
     {{"occupancy/achieved", 12}, {"stall/long_scoreboard", 10}},
     [](AnalysisInput& in) {
       in.occupancy = Occupancy{1, 0.125, "registers"};
       in.kernel.registers = 255;
     }},
    {"occupancy_shared_memory",
     {{"occupancy/achieved", 12}, {"stall/long_scoreboard", 10}},
     [](AnalysisInput& in) {
       in.occupancy = Occupancy{1, 0.125, "shared memory"};
     }},
    {"occupancy_block_size",
     {{"occupancy/achieved", 45},
      {"stall/long_scoreboard", 10},
      {"dram/throughput", 20},
      {"l2/throughput", 20}},
     [](AnalysisInput& in) {
       in.occupancy = Occupancy{32, 0.5, "blocks"};
       in.block = {32, 1, 1};
     }},
    {"barrier_bound", {{"stall/barrier", 12}}},
    {"instruction_cache", {{"stall/no_instruction", 9}}},
    {"branch_bound", {{"stall/branch_resolving", 9}}},
    {"memory_latency", {{"stall/long_scoreboard", 30}}},
    {"dependency_latency", {{"stall/wait", 16}, {"stall/barrier", 0}}},
    {"tensor_bound", {{"pipe/tensor", 92}, {"issue/active", 20}}},
    {"dram_bound", {{"dram/throughput", 91}, {"l2/throughput", 85}, {"stall/long_scoreboard", 60}}},
    {"l2_bound", {{"l2/throughput", 93}, {"stall/long_scoreboard", 30}}},
    {"shared_memory_bound", {{"shared/throughput", 90}, {"l1/data_stage", 91}}},
    {"l1_bound", {{"l1/data_stage", 90}}},
    {"fp32_bound", {{"pipe/fma", 90}, {"issue/active", 93}}},
    {"issue_bound", {{"issue/active", 90}}},
};

AnalysisInput input_of(const Case& one) {
  AnalysisInput input = nothing_stands_out();
  for (const auto& [name, value] : one.changed) input.launch.metrics[name] = value;
  if (one.change != nullptr) one.change(input);
  return input;
}

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(AK_RECORDED)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  return files;
}

// As the standard set of today would have measured it.
AnalysisInput with_standard_metrics(AnalysisInput input) {
  std::erase_if(input.launch.metrics, [](const auto& metric) {
    const MetricInfo* known = find_metric(metric.first);
    return known != nullptr && known->set == MetricSet::full;
  });
  return input;
}

}  // namespace

TEST_CASE("each rule names the launch that shows nothing but its bottleneck") {
  for (const Case& one : kCases) {
    const Analysis analysis = analyze(input_of(one));
    INFO(one.expected << ": " << analysis.bottleneck.evidence);
    CHECK(analysis.bottleneck.name == one.expected);
    CHECK(analysis.bottleneck.at_most >= 1);
    CHECK(analysis.bottleneck.evidence.find('{') == std::string::npos);
    CHECK(analysis.not_judged.empty());
    CHECK((analysis.bottleneck.name == "unclear" || analysis.bottleneck.remedies.size() >= 1));
  }
}

TEST_CASE("every rule has a launch that shows it") {
  std::set<std::string_view> shown;
  for (const Case& one : kCases) shown.insert(one.expected);
  for (const Rule& rule : bottleneck_rules()) {
    INFO(rule.name);
    CHECK(shown.count(rule.name) == 1);
    CHECK_FALSE(rule.source.empty());
    CHECK_FALSE(rule.evidence.empty());
    CHECK(find_rule(rule.name) == &rule);
  }
}

TEST_CASE("what was recorded on a GPU is named as it should be") {
  int launches = 0;
  for (const std::filesystem::path& file : recordings()) {
    for (const Json& one : parse_json(read_file(file))) {
      const AnalysisInput input = input_from_json(one["launch"], one["method"].get<std::string>());
      const auto expected = one["expected"].get<std::vector<std::string>>();
      for (const AnalysisInput& judged : {input, with_standard_metrics(input)}) {
        const Analysis analysis = analyze(judged);
        INFO(file.filename() << " " << one["name"] << ", " << judged.launch.metrics.size() << " metrics: "
                             << analysis.bottleneck.name << ", " << analysis.bottleneck.evidence);
        CHECK(std::ranges::count(expected, analysis.bottleneck.name) == 1);
      }
      ++launches;
    }
  }
  CHECK(launches >= 15);
}

TEST_CASE("a bound on the gain follows from shares, not from the rule") {
  AnalysisInput input = nothing_stands_out();
  input.launch.metrics["shared/throughput"] = 90;
  input.launch.metrics["shared/wavefronts"] = 10e6;
  input.launch.metrics["shared/bank_conflicts"] = 5e6;
  // Half of the passes go, so half of the 90 % that they take.
  CHECK(analyze(input).bottleneck.at_most == Approx(100 / 55.0));
  input.launch.metrics["l2/throughput"] = 60;
  CHECK(analyze(input).bottleneck.at_most == Approx(100 / 60.0));
}

TEST_CASE("what is not measured is not judged, and is said") {
  AnalysisInput input = nothing_stands_out();
  input.launch.metrics = {{"dram/throughput", 91}, {"time/duration", 100e3}};
  const Analysis analysis = analyze(input);
  CHECK(analysis.bottleneck.name == "dram_bound");
  CHECK(std::ranges::count(analysis.not_judged, "barrier_bound (no stall/barrier)") == 1);
  CHECK(analysis.bottleneck.evidence.find('?') == std::string::npos);
  CHECK(analysis.bottleneck.evidence == "device memory is used for 91 % of the time");
}

TEST_CASE("what is named has evidence, whatever else was measured, and nothing is sure without") {
  for (const Case& one : kCases) {
    AnalysisInput input = input_of(one);
    const auto all = input.launch.metrics;
    for (const auto& [name, value] : all) {
      input.launch.metrics = all;
      input.launch.metrics.erase(name);
      const Analysis analysis = analyze(input);
      INFO(one.expected << " without " << name);
      CHECK_FALSE(analysis.bottleneck.evidence.empty());
      for (const Finding& other : analysis.others) CHECK_FALSE(other.evidence.empty());
    }
  }
  const Analysis nothing = analyze({});
  CHECK(nothing.bottleneck.evidence == "nothing was measured");
  CHECK_FALSE(nothing.bottleneck.sure);
}

TEST_CASE("without any run the compiler's facts give a guess that says so") {
  AnalysisInput input;
  input.kernel.registers = 255;
  input.kernel.spill_store_bytes = input.kernel.spill_load_bytes = 120;
  input.occupancy = Occupancy{1, 0.125, "registers"};
  input.device = h200();
  const Analysis analysis = analyze(input);
  CHECK(analysis.bottleneck.name == "occupancy_registers");
  CHECK_FALSE(analysis.bottleneck.sure);
  REQUIRE(analysis.others.size() == 1);
  CHECK(analysis.others[0].name == "local_memory");
  CHECK(analysis.not_judged.size() > 20);
}

TEST_CASE("an input of an analysis survives its JSON") {
  for (const Case& one : kCases) {
    ProfiledLaunch launch{input_of(one), {}};
    launch.input.launch.lines = {{12, {{"barrier", 7}}}};
    Profile profile;
    profile.workload = "w";
    profile.method = "cupti";
    const Json json = profile_json(profile, std::span(&launch, 1));
    CHECK(json["workload"] == "w");
    const AnalysisInput again = input_from_json(json["launches"][0], "cupti");
    CHECK(analyze(again).bottleneck.name == one.expected);
    CHECK(again.launch.lines.size() == 1);
    CHECK(again.launch.lines[0].samples == launch.input.launch.lines[0].samples);
  }
}
