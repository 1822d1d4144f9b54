// SPDX-License-Identifier: Apache-2.0
// What lies between the calls of timed samples, and what is found in them, on the CPU device.
#include "runtime/timing/timed_inputs.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/support/device_bench.h"
#include "tests/support/timing_bench.h"

namespace ak::test {
namespace {

using runtime::Contents;

constexpr int kSamples = 40;
const char* const kRightKernel = "if (i < n) c[i] = a[i] + b[i];";
/// Counts its calls; `call` is the present one's.
std::string counting_inputs(const std::string& body) {
  return kernel("const unsigned call = calls / gridDim.x;\n" + body +
                    "\n__syncthreads(); if (threadIdx.x == 0) atomicAdd(&calls, 1u);",
                "float", "__device__ unsigned calls;\n");
}

struct Taken {
  std::optional<runtime::TimedFault> fault;
  std::vector<std::size_t> checked;
};

/// Samples of `source`, with warm-ups before, and what their checks say.
Taken take_samples(TimingBench& bench, const std::string& source, const runtime::SampleShape& shape,
                   const std::string& plan = elementwise_plan("k")) {
  const auto program = bench.program(source, "n1000", plan);
  const auto target = bench.target(program, "n1000");
  const runtime::TimingTarget* const targets[] = {&target};
  auto created = runtime::TimedInputs::create(bench.run_context(), bench.store(), targets, shape, 7);
  REQUIRE(created);
  runtime::TimedInputs inputs = std::move(created).value();
  for (int i = -3; i < kSamples; ++i) {
    if (auto fault = inputs.next()) return {.fault = std::move(fault), .checked = {}};
    const auto failed = inputs.for_calls(0, [](const runtime::CandidateRun& run) -> std::optional<Outcome> {
      run.reset();
      return run.enqueue();
    });
    REQUIRE_FALSE(failed);
    inputs.take(0);
    inputs.finish(i >= 0);
    REQUIRE(inputs.calls() == shape.calls);  // whether the sample is kept or not
  }
  std::vector<CheckRecord> records;
  std::vector<CheckRecord>* const all[] = {&records};
  Taken taken{.fault = inputs.verify_kept("in a timed call", all), .checked = inputs.checked()};
  return taken;
}

constexpr runtime::SampleShape kShapes[] = {{.contents = Contents::kept},
                                            {.contents = Contents::changing},
                                            {.contents = Contents::changing, .companion = true},
                                            {.contents = Contents::kept, .calls = 5},
                                            {.contents = Contents::changing, .calls = 5}};

TEST_CASE("a correct kernel passes the checks of timed samples, of which two at least are looked at") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  for (const auto& shape : kShapes) {
    const Taken taken = take_samples(bench, kernel(kRightKernel), shape);
    INFO((taken.fault ? taken.fault->outcome.message : ""));
    CHECK_FALSE(taken.fault);
    CHECK(taken.checked.size() >= 2);
    CHECK(taken.checked.back() < kSamples);
  }
}

TEST_CASE("no more timed samples are checked than the shape of a measurement says") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  for (const std::size_t most : {std::size_t{2}, std::size_t{3}, std::size_t{8}}) {
    for (const Contents contents : {Contents::kept, Contents::changing}) {
      const Taken taken =
          take_samples(bench, kernel(kRightKernel), {.contents = contents, .most_checks = most});
      CHECK(taken.checked.size() >= 2);
      CHECK(taken.checked.size() <= most);
    }
  }
}

TEST_CASE("a kernel that works in an eighth of its calls is found when they have ended") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  for (const auto& shape : kShapes) {
    const Taken taken =
        take_samples(bench, counting_inputs("if (i < n) c[i] = call % 8 == 0 ? a[i] + b[i] : a[i];"), shape);
    REQUIRE(taken.fault);
    CHECK(taken.fault->outcome.status == Status::incorrect);
    CHECK(taken.fault->outcome.gate == Gate::timed_outputs);
  }
}

TEST_CASE("a kernel that writes its inputs in later calls is found by what all calls left behind") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  const Taken taken = take_samples(
      bench,
      counting_inputs(
          "if (i < n) c[i] = a[i] + b[i];\nif (i == 0 && call > 3) const_cast<float*>(a)[999] = 0;"),
      {.contents = Contents::changing});
  REQUIRE(taken.fault);
  CHECK(taken.fault->outcome.gate == Gate::input_hash);
}

const std::string kPreparing = R"json({
  "workspace": [{"name": "doubled", "dtype": "float32", "count": "N", "prepared": true}],
  "prepare": [{"kernel": "prepare", "grid": ["ceil_div(N, 256)"], "block": [256],
               "args": ["b", "doubled", {"i64": "N"}]}],
  "launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256],
                "args": ["a", "doubled", "c", {"i64": "N"}]}]
})json";

/// c = a + b by way of 2 b, which `prepare` leaves; `body` follows it there.
std::string preparing(const std::string& call, const std::string& body = "") {
  return kernel(call, "float",
                "__device__ const float* found;\n__device__ unsigned calls;\n"
                "extern \"C\" __global__ void prepare(const float* b, float* doubled, long long n) {\n"
                "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
                "  if (i < n) doubled[i] = 2 * b[i];\n" +
                    body + "\n}\n");
}
const char* const kHalves = "if (i < n) c[i] = a[i] + 0.5f * b[i];";

TEST_CASE("new weights are prepared before every timed call, whatever else changes") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}, .weight = true});
  for (const auto& shape : kShapes) {
    const Taken taken = take_samples(bench, preparing(kHalves), shape, kPreparing);
    INFO((taken.fault ? taken.fault->outcome.message : ""));
    CHECK_FALSE(taken.fault);
    CHECK(taken.checked.size() >= 2);
  }
}

TEST_CASE("a timed call that changes prepared memory is found, in whatever call it is") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}, .weight = true});
  const std::string changes =
      std::string(kHalves) + "\nif (i == 999 && atomicAdd(&calls, 1u) == 20) const_cast<float*>(b)[0] += 1;";
  for (const auto& shape : kShapes) {
    const Taken taken = take_samples(bench, preparing(changes), shape, kPreparing);
    REQUIRE(taken.fault);
    CHECK(taken.fault->outcome.status == Status::integrity_violation);
    CHECK(taken.fault->outcome.gate == Gate::prepared_memory);
  }
}

TEST_CASE("preparation cannot read the inputs of which a call before has kept the address") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}, .weight = true});
  const Taken taken = take_samples(bench,
                                   preparing(std::string(kHalves) + "\nif (i == 0) found = a;",
                                             "if (i < n && found != nullptr) doubled[i] = found[i];"),
                                   {.contents = Contents::changing}, kPreparing);
  REQUIRE(taken.fault);
  CHECK(taken.fault->outcome.gate == Gate::initialised_reads);
}

/// Everything that a GPU is asked to do, by the present table of driver functions; addresses left out, as those that
/// decide where outputs are kept are no candidate's.
class DriverTrace {
 public:
  DriverTrace() : table_(const_cast<runtime::Driver&>(runtime::driver())), real_(table_) {
    present = this;
    table_.cuLaunchKernelEx = [](const CUlaunchConfig* config, CUfunction function, void** arguments,
                                 void** extra) {
      present->calls_.push_back(
          fmt::format("launch {} x {}", config->gridDimX, static_cast<void*>(function)));
      return present->real_.cuLaunchKernelEx(config, function, arguments, extra);
    };
    table_.cuMemsetD8Async = [](CUdeviceptr address, unsigned char value, std::size_t bytes,
                                CUstream stream) {
      present->calls_.push_back(fmt::format("set {} bytes to {}", bytes, value));
      return present->real_.cuMemsetD8Async(address, value, bytes, stream);
    };
    table_.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
      present->calls_.push_back(fmt::format("copy {} bytes", bytes));
      return present->real_.cuMemcpyDtoDAsync(to, from, bytes, stream);
    };
    table_.cuMemcpyDtoH = [](void* to, CUdeviceptr from, std::size_t bytes) {
      present->calls_.push_back(fmt::format("read {} bytes", bytes));
      return present->real_.cuMemcpyDtoH(to, from, bytes);
    };
    table_.cuStreamSynchronize = [](CUstream stream) {
      present->calls_.emplace_back("wait");
      return present->real_.cuStreamSynchronize(stream);
    };
  }
  ~DriverTrace() { table_ = real_; }
  DriverTrace(const DriverTrace&) = delete;
  DriverTrace& operator=(const DriverTrace&) = delete;

  [[nodiscard]] std::string take() { return fmt::format("{}", fmt::join(std::exchange(calls_, {}), "; ")); }

 private:
  static inline DriverTrace* present = nullptr;
  runtime::Driver& table_;
  runtime::Driver real_;
  std::vector<std::string> calls_;
};

TEST_CASE("the device is asked for the same before and after every sample, whether it is checked or not") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  const auto program = bench.program(kernel(kRightKernel), "n1000");
  const auto target = bench.target(program, "n1000");
  const runtime::TimingTarget* const targets[] = {&target, &target};
  for (const auto& shape : kShapes) {
    auto created = runtime::TimedInputs::create(bench.run_context(), bench.store(), targets, shape, 7);
    REQUIRE(created);
    runtime::TimedInputs inputs = std::move(created).value();
    DriverTrace trace;
    std::set<std::string> seen;
    for (int i = -3; i < kSamples; ++i) {
      REQUIRE_FALSE(inputs.next());
      for (const std::size_t which : {0u, 1u}) inputs.take(which);
      inputs.finish(i >= 0);
      seen.insert(trace.take());
    }
    INFO(fmt::format("{}", fmt::join(seen, "\n")));
    CHECK(seen.size() == 1);
  }
}

/// A device that has no memory left for the outputs of samples, however few: requests of some sizes fail.
class FullDevice {
 public:
  explicit FullDevice(std::set<std::size_t> refused)
      : table_(const_cast<runtime::Driver&>(runtime::driver())), real_(table_), refused_(std::move(refused)) {
    present = this;
    table_.cuMemAlloc = [](CUdeviceptr* address, std::size_t bytes) {
      if (!present->refused_.contains(bytes)) return present->real_.cuMemAlloc(address, bytes);
      present->seen_.insert(bytes);
      return CUDA_ERROR_OUT_OF_MEMORY;
    };
  }
  ~FullDevice() { table_ = real_; }
  FullDevice(const FullDevice&) = delete;
  FullDevice& operator=(const FullDevice&) = delete;

  [[nodiscard]] bool refused_all() const { return seen_ == refused_; }

 private:
  static inline FullDevice* present = nullptr;
  runtime::Driver& table_;
  runtime::Driver real_;
  std::set<std::size_t> refused_, seen_;
};

TEST_CASE(
    "where the device has no room for the outputs of samples the host keeps them, and they are checked") {
  constexpr std::size_t kCallBytes = 4096;  // of 1,000 floats, up to the next multiple of 256
  constexpr std::size_t kSampleBytes = 2 * kCallBytes;
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  for (const bool correct : {true, false}) {
    FullDevice full({(8 + 2) * kSampleBytes, (2 + 2) * kSampleBytes, (1 + 2) * kSampleBytes});
    const Taken taken = take_samples(
        bench,
        correct ? kernel(kRightKernel) : counting_inputs("if (i < n) c[i] = call < 3 ? a[i] + b[i] : a[i];"),
        {.contents = Contents::kept});
    CHECK(full.refused_all());
    CHECK(taken.fault.has_value() != correct);
    if (correct) CHECK(taken.checked.size() == 1);
    if (taken.fault) CHECK(taken.fault->outcome.gate == Gate::timed_outputs);
  }
}

TEST_CASE("outputs that were put aside are known again, and what was written over them is seen") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000}});
  const auto program = bench.program(kernel(kRightKernel), "n1000");
  const auto target = bench.target(program, "n1000");
  std::vector<runtime::CandidateRun> runs;
  for (const std::uint64_t seed : {1, 2}) {
    auto data = bench.store().get(target.workload, "normal", seed);
    REQUIRE(data);
    auto run = target.bind(data.value(), nullptr);
    REQUIRE(run);
    runs.push_back(std::move(run).value());
    runs.back().reset();
    REQUIRE_FALSE(runs.back().enqueue());
  }
  const auto side = GENERATE(runtime::MemorySide::device, runtime::MemorySide::host);
  runtime::KeptOutputs kept(bench.run_context(), runs.front(), 2, 1, 1, side);
  REQUIRE(kept.places() == 2);
  const auto put_aside = [&](std::size_t which, std::size_t place) {
    auto hashes = kept.take(0, {&runs[which], 1});
    kept.keep(place);
    return hashes.front();
  };
  const runtime::CallHashes first = put_aside(0, 0), second = put_aside(1, 1);
  CHECK(first.outputs != second.outputs);
  CHECK(kept.restore(1, 0, 0, runs[1], second));
  CHECK(kept.restore(0, 0, 0, runs[0], first));
  static_cast<void>(put_aside(1, 0));
  CHECK_FALSE(kept.restore(0, 0, 0, runs[0], first));
}

}  // namespace
}  // namespace ak::test
