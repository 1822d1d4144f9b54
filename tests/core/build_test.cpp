// SPDX-License-Identifier: Apache-2.0
#include "core/build.h"

#include <catch2/catch.hpp>

#include "core/device/device_facts.h"
#include "core/evaluation.h"

using namespace ak;

namespace {

TranslationUnit sample_unit() {
  return {"k.cu",
          "__global__ void k() {}\n",
          {{"shim.h", "#pragma once\n"}},
          {"-std=c++20", "-lineinfo"},
          {"k"},
          {9, 0, 'a'}};
}

}  // namespace

TEST_CASE("a translation unit survives JSON") {
  const TranslationUnit unit = sample_unit();
  const TranslationUnit copy = translation_unit_from_json(parse_json(to_json(unit).dump()));
  CHECK(copy.hash() == unit.hash());
  CHECK(to_json(copy) == to_json(unit));
  CHECK(copy.headers == unit.headers);
  CHECK(copy.arch == unit.arch);
}

TEST_CASE("every field of a translation unit changes its hash") {
  const std::string hash = sample_unit().hash();
  CHECK(hash.size() == 64);
  const auto changed = [&](auto change) {
    TranslationUnit unit = sample_unit();
    change(unit);
    return unit.hash() != hash;
  };
  CHECK(changed([](TranslationUnit& unit) { unit.file_name = "l.cu"; }));
  CHECK(changed([](TranslationUnit& unit) { unit.source += " "; }));
  CHECK(changed([](TranslationUnit& unit) { unit.headers[0].second += " "; }));
  CHECK(changed([](TranslationUnit& unit) { unit.headers[0].first = "shim.hp"; }));
  CHECK(changed([](TranslationUnit& unit) { unit.options.pop_back(); }));
  CHECK(changed([](TranslationUnit& unit) { unit.kernels[0] = "l"; }));
  CHECK(changed([](TranslationUnit& unit) { unit.arch = {9, 0}; }));
  CHECK(changed([](TranslationUnit& unit) {  // the last option is not the first kernel
    unit.kernels.insert(unit.kernels.begin(), unit.options.back());
    unit.options.pop_back();
  }));
}

TEST_CASE("a build result survives JSON with its binary") {
  BuildResult result;
  result.outcome = {Status::compile_error, StageId::build, "rejected", {{"error", "expected ';'", 3, 7}}};
  result.key = "abc";
  result.ptx = ".version 9.0\n";
  result.cubin = std::string(
      "\x7f"
      "ELF\0\xff\x80",
      7);
  result.log = "k.cu(3): error";
  KernelFacts kernel;
  kernel.expression = "k<4>";
  kernel.lowered_name = "_Z1kILi4EEvv";
  kernel.registers = 40;
  kernel.spill_store_bytes = 8;
  kernel.parameter_types = {"u64", "b8[128]"};
  kernel.max_threads = 256;
  result.kernels = {kernel};
  result.nvrtc_version = "13.0";
  result.cache_hit = true;
  result.compile_ms = 12.5;
  const BuildResult copy = build_result_from_json(parse_json(to_json(result).dump()));
  CHECK(to_json(copy) == to_json(result));
  CHECK(copy.cubin == result.cubin);
  CHECK(copy.outcome.status == Status::compile_error);
  CHECK(copy.outcome.stage == StageId::build);
  CHECK(copy.outcome.diagnostics.at(0).column == 7);
  CHECK(copy.kernels.at(0).parameter_types == kernel.parameter_types);
}

TEST_CASE("malformed messages are refused as bad input") {
  CHECK_THROWS_AS(translation_unit_from_json(Json::object()), Error);
  CHECK_THROWS_AS(build_result_from_json(parse_json(R"({"outcome": 3})")), Error);
  CHECK_THROWS_AS(device_facts_from_json(Json::array()), Error);
  Json facts = to_json(DeviceFacts{});
  facts["kind"] = "abacus";
  CHECK_THROWS_AS(device_facts_from_json(facts), Error);
  Json result = to_json(BuildResult{});
  result["outcome"]["stage"] = "lunch";
  CHECK_THROWS_AS(build_result_from_json(result), Error);
}

TEST_CASE("device facts survive JSON, and bandwidth follows from clock and bus") {
  DeviceFacts facts;
  facts.kind = DeviceKind::cuda;
  facts.name = "NVIDIA H200";
  facts.arch = {9, 0, 'a'};
  facts.sm_count = 132;
  facts.memory_bytes = std::int64_t{141} << 30;
  facts.memory_clock_mhz = 3201;
  facts.memory_bus_bits = 6016;
  const DeviceFacts copy = device_facts_from_json(parse_json(to_json(facts).dump()));
  CHECK(to_json(copy) == to_json(facts));
  CHECK(copy.arch == facts.arch);
  CHECK(copy.memory_bytes == facts.memory_bytes);
  CHECK(facts.peak_bandwidth().per_nanosecond() == Approx(4814.3).margin(0.1));
  CHECK(DeviceFacts{}.peak_bandwidth().per_nanosecond() == 0);
  CHECK(to_json(device_facts_from_json(to_json(DeviceFacts{}))) == to_json(DeviceFacts{}));
}

TEST_CASE("measurement roles have names") {
  CHECK(to_string(MeasurementRole::candidate) == "candidate");
  CHECK(to_string(MeasurementRole::champion) == "champion");
  CHECK(to_string(MeasurementRole::baseline) == "baseline");
}
