// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/time_model.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "profiler/prediction/model_file.h"
#include "profiler/prediction/operand_traffic.h"

namespace ak::profiler {
namespace {

DeviceFacts h200() {
  DeviceFacts device;
  device.kind = DeviceKind::cuda;
  device.name = "NVIDIA H200";
  device.arch = {.major = 9, .minor = 0, .feature = 'a'};
  device.sm_count = 132;
  device.max_threads_per_sm = 2048;
  device.l2_bytes = 60 << 20;
  device.clock_mhz = 1980;
  device.memory_clock_mhz = 3201;
  device.memory_bus_bits = 6016;
  return device;
}

/// A copy of `bytes` by blocks of `threads`, a thread for every 16 bytes.
CallFacts copy(double bytes, double threads, const std::string& space = "copy") {
  CallFacts facts;
  facts.knowledge = Knowledge::build;
  facts.space = space;
  facts.kernels = "copy";
  facts.dtype = "float32";
  facts.work = {.flops = 0, .bytes_read = bytes / 2, .bytes_written = bytes / 2};
  const double blocks = std::ceil(bytes / 32 / threads);
  const Residency fit{.blocks_per_sm = 2048 / threads, .occupancy = 1};
  facts.launches.push_back(
      {.blocks = blocks, .threads = threads, .registers = 32, .planned = fit, .built = fit});
  facts.tunables = {{"BLOCK", static_cast<std::int64_t>(threads)}};
  return facts;
}

/// A product of square matrices by blocks of `registers` a thread that each own `tile` x `tile` results.
CallFacts square_product(double size, double tile, double registers, double shared_bytes = 96 << 10) {
  CallFacts facts = copy(1 << 20, 256, "product");
  facts.dtype = "bfloat16";
  facts.element_bytes = 2;
  facts.matrix_unit = MatrixUnit::warp_group;
  facts.work = {
      .flops = 2 * size * size * size, .bytes_read = 4 * size * size, .bytes_written = 2 * size * size};
  const Residency fit{.blocks_per_sm = 1, .occupancy = 0.125};
  facts.launches = {{.blocks = size * size / (tile * tile),
                     .threads = 384,
                     .planned_shared_bytes = shared_bytes,
                     .shared_bytes = shared_bytes,
                     .registers = registers,
                     .planned = fit,
                     .built = fit}};
  return facts;
}

/// What the copies "take": the analytic time, more for large blocks, and twice that of "slow".
double truth(const CallFacts& facts) {
  const double slower = 1 + facts.launches.front().threads / 2048;
  return analytic_time(facts, h200()).total_ns * 1.3 * slower * (facts.space == "slow" ? 2 : 1);
}

std::vector<MeasuredCall> measured() {
  std::vector<MeasuredCall> calls;
  for (const char* space : {"copy", "slow"}) {
    for (int size = 20; size < 34; ++size) {
      for (const int threads : {64, 128, 192, 256, 384, 512, 768, 1024}) {
        MeasuredCall call;
        call.facts = copy(std::pow(2.0, size), threads, space);
        call.algorithm = call.definition = call.candidate = space;
        call.variant = std::to_string(threads);
        call.workload = std::to_string(size);
        call.device = h200();
        call.measured_ns = truth(call.facts);
        calls.push_back(std::move(call));
      }
    }
  }
  return calls;
}

/// A file that is gone afterwards.
struct ModelFile {
  ~ModelFile() { std::filesystem::remove(path); }
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("ak_model_" + std::to_string(::getpid()) + ".json");
};

std::string input_error(const std::string& content) {
  const ModelFile file;
  std::ofstream(file.path) << content;
  try {
    static_cast<void>(read_models(file.path));
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Contains(file.path.string()));
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
  return "";
}

TEST_CASE("the analytic time never falls when there is more to do") {
  double before = 0;
  for (int size = 10; size < 36; ++size) {
    const double time = analytic_time(copy(std::pow(2.0, size), 256), h200()).total_ns;
    CHECK(time >= before);
    before = time;
  }
  CallFacts counted = copy(1 << 24, 256);
  counted.knowledge = Knowledge::count;
  for (const char* name : {"global/sectors", "shared/wavefronts", "inst/warp", "inst/thread/special_function",
                           "inst/thread/fp32", "flop/tensor/float16", "atomic/conflicts"}) {
    CAPTURE(name);
    const double without = analytic_time(counted, h200()).total_ns;
    counted.counts[name] = std::uint64_t{1} << 32;
    CHECK(analytic_time(counted, h200()).total_ns > without);
  }
}

TEST_CASE("the analytic time names what limits a call") {
  CHECK(analytic_time(copy(1 << 12, 256), h200()).limiter() == "launch");
  CHECK(analytic_time(copy(std::pow(2.0, 31), 256), h200()).limiter() == "dram");
  CallFacts large = square_product(8192, 160, 168, 200 << 10);
  CHECK(analytic_time(large, h200()).limiter() == "tensor");
  large.matrix_unit = MatrixUnit::none;
  CHECK(analytic_time(large, h200()).limiter() == "fp32");
  CHECK(analytic_time(square_product(8192, 32, 67, 16 << 10), h200()).limiter() == "latency");
}

TEST_CASE("a large copy takes what its bytes take at the memory's speed") {
  const double bytes = std::pow(2.0, 31);
  const double floor_ns = bytes / h200().peak_bandwidth().per_nanosecond();
  const double time = analytic_time(copy(bytes, 256), h200()).total_ns;
  CHECK(time > floor_ns);
  CHECK(time < 1.3 * floor_ns);
}

TEST_CASE("one block more than a wave fills costs the SMs another round") {
  const auto imbalance = [](double blocks) {
    CallFacts facts = copy(1 << 20, 256);
    facts.launches.front().blocks = blocks;
    return analytic_time(facts, h200()).imbalance;
  };
  CHECK(imbalance(132) == Approx(1));
  CHECK(imbalance(133) == Approx(2 * 132 / 133.0));
  CHECK(imbalance(66) == Approx(2));
}

TEST_CASE("larger tiles read operands less often, as far as registers hold them") {
  const double small = operand_traffic(square_product(4096, 64, 168)).bytes;
  CHECK(operand_traffic(square_product(4096, 128, 168)).bytes == Approx(small / 2));
  CHECK(operand_traffic(square_product(4096, 128, 51)).bytes ==
        Approx(small));  // 16 accumulators of 256 threads
  CHECK_FALSE(operand_traffic(copy(1 << 24, 256)).reused);
  CHECK(operand_traffic(copy(1 << 24, 256)).bytes == 1 << 24);
}

TEST_CASE("more bytes on the way hide the latency of memory") {
  const auto latency = [](const CallFacts& facts) {
    const AnalyticTime time = analytic_time(facts, h200());
    return std::ranges::find(time.terms, "latency", &TimeTerm::name)->time_ns;
  };
  CHECK(latency(square_product(4096, 64, 51, 192 << 10)) ==
        Approx(latency(square_product(4096, 64, 51)) / 2));
  CallFacts few = copy(1 << 28, 256);
  few.launches.front().blocks = 132;  // every thread makes many trips
  CallFacts fewer_registers = few;
  fewer_registers.launches.front().registers = 16;
  CHECK(latency(few) < 0.5 * latency(fewer_registers));
}

TEST_CASE("the launch that stages operands is the main one, not the larger one that adds partial results") {
  CallFacts split = square_product(4096, 128, 168);
  split.launches.push_back({.blocks = 65536, .threads = 256});
  CHECK(&split.main_launch() == &split.launches.front());
  split.matrix_unit = MatrixUnit::none;
  CHECK(&split.main_launch() == &split.launches.back());
}

TEST_CASE("a model recovers what times differ by from the analytic ones") {
  const std::vector<MeasuredCall> calls = measured();
  std::vector<const MeasuredCall*> all;
  for (const MeasuredCall& call : calls) all.push_back(&call);
  const TimeModel model = TimeModel::fit(all, Knowledge::build);
  for (const MeasuredCall& call : calls) {
    const Prediction prediction = model.predict(call.facts, call.device);
    CHECK(prediction.known_space);
    CHECK(prediction.time_ns == Approx(call.measured_ns).epsilon(0.08));
  }
}

TEST_CASE("held-out variants are predicted, ranked, and their intervals hold nine of ten") {
  const std::vector<MeasuredCall> calls = measured();
  const HeldOutTimes times = leave_variants_out(calls, Knowledge::build);
  const Accuracy accuracy = accuracy_of(calls, times);
  CHECK(accuracy.mean_error < 0.1);
  CHECK(accuracy.calls == calls.size());
  CHECK(accuracy.spaces == 2);
  std::size_t inside = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const double error = std::log(calls[i].measured_ns / times[i]);
    inside += error >= accuracy.errors.low - 1e-9 && error <= accuracy.errors.high + 1e-9 ? 1 : 0;
  }
  CHECK(static_cast<double>(inside) >= 0.88 * static_cast<double>(calls.size()));
}

TEST_CASE(
    "intervals made without a group hold its times where groups are alike, and miss those of a stranger") {
  const std::vector<MeasuredCall> calls = measured();
  const HeldOutTimes times = leave_variants_out(calls, Knowledge::build);
  const Coverage fifths = interval_coverage(calls, times, fifths_of(calls));
  CHECK(fifths.by_group.size() == 5);
  CHECK(fifths.share > 0.5);
  // nothing tells the slow algorithm from the other: what is learned of one is wrong of the other
  const Coverage algorithms =
      interval_coverage(calls, leave_one_algorithm_out(calls, Knowledge::build), algorithms_of(calls));
  CHECK(algorithms.by_group.size() == 2);
  CHECK(algorithms.share < 0.2);
}

TEST_CASE("an algorithm that was left out is predicted worse than one that is known") {
  const std::vector<MeasuredCall> calls = measured();
  const double fresh = accuracy_of(calls, leave_one_algorithm_out(calls, Knowledge::build)).mean_error;
  CHECK(fresh > 0.3);  // nothing tells the slow one from the other
}

TEST_CASE("pruning by perfect predictions regrets nothing, by reversed ones much") {
  const std::vector<MeasuredCall> calls = measured();
  HeldOutTimes perfect, reversed;
  for (const MeasuredCall& call : calls) {
    perfect.push_back(call.measured_ns);
    reversed.push_back(1e12 / call.measured_ns);
  }
  CHECK(pruning_regret(calls, perfect).worst == 0);
  CHECK(pruning_regret(calls, reversed).worst > 0.1);
}

TEST_CASE("a model is the same after it was written and read, and says what it is based on") {
  const std::vector<MeasuredCall> calls = measured();
  const FittedModels models = fit_models(calls, "sm_90a");
  const ModelFile file;
  write_models(file.path, models);
  const FittedModels read = read_models(file.path);
  CHECK(read.arch == "sm_90a");
  CHECK(read.device.sm_count == 132);
  CHECK(read.training.at("calls") == calls.size());
  CHECK(read.training.at("variants_by_algorithm").at("slow") == 8);
  for (const Knowledge knowledge : {Knowledge::plan, Knowledge::build}) {
    const CallFacts facts = calls[5].facts.limited_to(knowledge);
    const Prediction before = models.models.at(knowledge).predict(facts, h200());
    const Prediction after = read.models.at(knowledge).predict(facts, h200());
    CHECK(after.time_ns == before.time_ns);
    CHECK(after.low_ns == before.low_ns);
    CHECK(after.low_ns < after.time_ns);
    CHECK(after.high_ns > after.time_ns);
  }
  CHECK(read.model_for(calls[5].facts.limited_to(Knowledge::plan)).knowledge() == Knowledge::plan);
  // whose held-out error is least, of those that what is known suffices for
  FittedModels better = read;
  better.accuracy[Knowledge::plan]["known_space"]["mean_error"] = 0.3;
  better.accuracy[Knowledge::build]["known_space"]["mean_error"] = 0.2;
  CHECK(better.model_for(calls[5].facts).knowledge() == Knowledge::build);
  better.accuracy[Knowledge::plan]["known_space"]["mean_error"] = 0.1;
  CHECK(better.model_for(calls[5].facts).knowledge() == Knowledge::plan);
}

TEST_CASE("the interval of a plan that was never measured is that of algorithms left out") {
  const FittedModels models = fit_models(measured(), "sm_90a");
  const Prediction known = models.models.at(Knowledge::build).predict(copy(1 << 24, 256, "copy"), h200());
  const Prediction fresh = models.models.at(Knowledge::build).predict(copy(1 << 24, 256, "other"), h200());
  CHECK_FALSE(fresh.known_space);
  CHECK(fresh.high_ns / fresh.low_ns > known.high_ns / known.low_ns);
}

TEST_CASE("what is not a model is refused with the reason") {
  CHECK_THAT(input_error("no json"), Catch::Contains("parse"));
  CHECK_THAT(input_error("[1]"), Catch::Contains("alphakernel model fit"));
  CHECK_THAT(input_error(R"({"format": "alphakernel time model", "version": 99})"),
             Catch::Contains("has format 99; this AlphaKernel reads up to 4: update AlphaKernel"));
  CHECK_THAT(input_error(R"({"format": "alphakernel time model", "version": 3})"),
             Catch::Contains("fit it again"));
  CHECK_THAT(input_error(R"({"format": "alphakernel time model", "version": 4})"), Catch::Contains("arch"));
}

TEST_CASE("who knows only the plan does not see what ptxas said") {
  CallFacts facts = copy(1 << 24, 256);
  facts.launches.front().built.blocks_per_sm = 1;
  facts.launches.front().spill_bytes = 64;
  facts.counts["inst/warp"] = 7;
  const CallFacts plan = facts.limited_to(Knowledge::plan);
  CHECK(plan.knowledge == Knowledge::plan);
  CHECK(plan.launches.front().built.blocks_per_sm == 8);
  CHECK(plan.launches.front().spill_bytes == 0);
  CHECK(plan.launches.front().registers == 0);
  CHECK(plan.counts.empty());
}

}  // namespace
}  // namespace ak::profiler
