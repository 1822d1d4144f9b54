// SPDX-License-Identifier: Apache-2.0
#include "core/device/floor.h"

#include <catch2/catch.hpp>

namespace ak {
namespace {

Expression formula(const char* text) { return Expression::parse(text).value(); }

DeviceFacts h200() {
  DeviceFacts facts;
  facts.arch = {9, 0, 'a'};
  facts.sm_count = 132;
  facts.clock_mhz = 1980;
  facts.memory_clock_mhz = 3201;
  facts.memory_bus_bits = 6016;  // 4814 GB/s
  facts.l2_bytes = 60 << 20;
  return facts;
}

ProblemInstance problem(DType dtype, const char* flops, const char* read, const char* written) {
  ProblemInstance instance{.problem = "p",
                           .folder = {},
                           .params = {},
                           .definition = {},
                           .aliases = {},
                           .flops = formula(flops),
                           .bytes_read = formula(read),
                           .bytes_written = formula(written),
                           .tolerance = {},
                           .distributions = {},
                           .mutations = {},
                           .workloads = {},
                           .reference_cu = {},
                           .templates = {},
                           .sources_cited = {}};
  instance.definition.inputs.push_back({.name = "x", .shape = {{"N"}}, .dtype = dtype, .description = {}});
  return instance;
}

const Workload kShape{.name = "w", .uid = {}, .axes = {{"N", 1 << 28}}, .roles = {}};

TEST_CASE("a copy can be no faster than its reads, and its writes but for what L2 holds back") {
  const Floor floor = floor_of(problem(DType::float32, "0", "4 * N", "4 * N"), kShape, h200());
  const double bytes = 8.0 * (1 << 28) - (60 << 20);
  CHECK(floor.time.value() == Approx(0.98 * bytes / 4814.3).epsilon(1e-3));
  CHECK(floor.reason.find("GB/s") != std::string::npos);
}

TEST_CASE("small writes may stay in L2 altogether, reads may not") {
  const Floor floor = floor_of(problem(DType::float32, "0", "4 * N", "1000"), kShape, h200());
  CHECK(floor.time.value() == Approx(0.98 * 4.0 * (1 << 28) / 4814.3).epsilon(1e-3));
}

TEST_CASE("products can be no faster than the fastest unit that takes their operands") {
  const Workload shape{.name = "w", .uid = {}, .axes = {{"N", 8192}}, .roles = {}};
  const auto time_us = [&](DType dtype) {
    return floor_of(problem(dtype, "2 * N ** 3", "2 * N * N", "N * N"), shape, h200()).time.value() / 1e3;
  };
  const double flops = 2.0 * 8192 * 8192 * 8192;
  CHECK(time_us(DType::bfloat16) == Approx(0.98 * flops / 1070.5e6).epsilon(1e-3));
  CHECK(time_us(DType::int8) == Approx(time_us(DType::bfloat16) / 2));
  CHECK(time_us(DType::float32) == Approx(time_us(DType::bfloat16) * 2));
}

TEST_CASE("a device of which nothing is known has no floor, an unknown architecture one for memory only") {
  const ProblemInstance heavy = problem(DType::bfloat16, "N ** 3", "4 * N", "0");
  CHECK(floor_of(heavy, kShape, {}).time.value() == 0);
  DeviceFacts unknown = h200();
  unknown.arch = {7, 0, 0};
  CHECK(floor_of(problem(DType::bfloat16, "N ** 2", "4 * N", "0"), kShape, unknown).time.value() ==
        Approx(0.98 * 4.0 * (1 << 28) / 4814.3).epsilon(1e-3));
}

TEST_CASE("every architecture that candidates are built for has peak rates, and wider types are no faster") {
  for (const char* name : {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_110a",
                           "sm_120a", "sm_121a"}) {
    INFO(name);
    const Arch target = parse_arch(name).value();
    const int half = peak_operations_per_clock(target, DType::float16);
    CHECK(half > 0);
    CHECK(peak_operations_per_clock(target, DType::float32) < half);
    CHECK(peak_operations_per_clock(target, DType::int8) > half);
    if (name != std::string("sm_103a") && name != std::string("sm_110a"))  // no figure is published
      CHECK(peak_operations_per_clock(target, DType::float64) > 0);
  }
}

}  // namespace
}  // namespace ak
