// SPDX-License-Identifier: Apache-2.0
// Whether a kernel can tell timed samples that are checked from those that are not: a probe records what it can see.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <numeric>

#include "runtime/timing/timing.h"
#include "tests/support/boosted_trees.h"
#include "tests/support/device_bench.h"
#include "tests/support/timing_bench.h"

namespace ak::test {
namespace {

using runtime::Contents;

constexpr std::size_t kFeatures = 16, kMaxCalls = 4096;

/// What the first thread of a call sees before it does its work. `log` survives from call to call.
const std::string kProbe = kernel(
    "if (i == 0) probe(a, b, c, n);\n"
    "if (i < n) c[i] = a[i] + b[i];",
    "float",
    R"cu(
using u64 = unsigned long long;
__device__ u64 log_of_calls[4096][16];
__device__ unsigned calls;
__device__ u64 last_ns;
__device__ __forceinline__ u64 nanoseconds() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ __forceinline__ u64 grid_id() { u64 g; asm volatile("mov.u64 %0, %%gridid;" : "=l"(g)); return g; }
__device__ __forceinline__ unsigned sm_id() { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }
__device__ __noinline__ u64 latency(const float* line) {
  const u64 start = clock64();
  float value;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(line));
  u64 end;
  asm volatile("{ .reg .f32 t; add.f32 t, %1, 0f00000000; mov.u64 %0, %%clock64; }" : "=l"(end) : "f"(value));
  return end - start;
}
__device__ void probe(const float* a, const float* b, float* c, long long n) {
  u64* seen = log_of_calls[calls % 4096];
  const u64 now = nanoseconds(), start = clock64();
  seen[0] = now - last_ns;
  seen[1] = grid_id();
  seen[2] = now % 1000000000;
  seen[3] = start;
  seen[4] = sm_id();
  seen[5] = latency(c);
  seen[6] = latency(c + n - 1);
  seen[7] = latency(a);
  seen[8] = latency(b + n / 2);
  seen[9] = latency(reinterpret_cast<const float*>(log_of_calls[(calls + 2048) % 4096]));
  seen[10] = __float_as_uint(c[0]);
  seen[11] = __float_as_uint(a[0]);
  seen[12] = reinterpret_cast<u64>(a);
  seen[13] = reinterpret_cast<u64>(c);
  u64 spun = 0;
  while (nanoseconds() - now < 2000) ++spun;
  seen[14] = clock64() - start;
  seen[15] = spun;
  last_ns = now;
  ++calls;
}
)cu");

using Record = std::array<std::uint64_t, kFeatures>;

/// What the probe has recorded, call by call.
std::vector<Record> read_log(const TimingBench::Program& program) {
  std::vector<Record> log(kMaxCalls);
  std::uint32_t calls = 0;
  for (const runtime::BufferView& variable : program.loaded->variables(program.image)) {
    void* to = variable.bytes == sizeof calls                  ? static_cast<void*>(&calls)
               : variable.bytes == log.size() * sizeof(Record) ? static_cast<void*>(log.data())
                                                               : nullptr;
    if (to != nullptr)
      runtime::check(runtime::driver().cuMemcpyDtoH(to, variable.address, variable.bytes), "reading");
  }
  REQUIRE(calls > 0);
  REQUIRE(calls <= kMaxCalls);
  log.resize(calls);
  return log;
}

/// A way to take samples.
struct Method {
  const char* name;
  runtime::TimingMode mode;
  bool pairs = false;
};
constexpr Method kMethods[] = {
    {.name = "cold, contents kept", .mode = {.contents = Contents::kept}},
    {.name = "cold, contents changing", .mode = {.contents = Contents::changing}},
    {.name = "warm", .mode = {.contents = Contents::changing, .cold = false}},
    {.name = "batch, contents kept", .mode = {.contents = Contents::kept, .batch = true}},
    {.name = "batch, contents changing", .mode = {.contents = Contents::changing, .batch = true}},
    {.name = "pairs", .mode = {.contents = Contents::changing}, .pairs = true}};

class Recognition {
 public:
  explicit Recognition(DeviceKind device)
      : bench_(device, {.check_sizes = {100'000}}),
        image_(bench_.program(kProbe, "n100000")),
        rival_(bench_.program(kProbe, "n100000")),
        timer_(bench_.run_context(), bench_.store()) {}

  /// As many samples that were checked as others, from measurements of their own.
  LabelledRows rows(const Method& method, std::size_t wanted) {
    LabelledRows data;
    while (data.rows.size() < wanted) add_measurement(method, data);
    return data;
  }

 private:
  void add_measurement(const Method& method, LabelledRows& data) {
    image_.loaded = std::make_unique<runtime::LoadedImage>(image_.image, "the probe");
    rival_.loaded = std::make_unique<runtime::LoadedImage>(rival_.image, "the other probe");
    const auto target = bench_.target(image_, "n100000"), other = bench_.target(rival_, "n100000");
    Measurement measured;
    if (method.pairs) {
      auto pair = timer_.measure_in_pairs(target, other, false);
      REQUIRE(pair);
      measured = std::move(pair.value()[0]);
    } else {
      auto one =
          timer_.measure(target, method.mode, 1,
                         {.minimum_samples = 20, .maximum_samples = 20, .gpu_ms = 1e6, .relative_error = 0});
      INFO((one ? "" : one.error().message));
      REQUIRE(one);
      measured = std::move(one).value();
    }
    add_rows(measured, method.mode.cold ? 1 : 2, data);
  }

  // Warm-ups come first, so that samples are counted from the end.
  void add_rows(const Measurement& measured, std::size_t calls_per_timed, LabelledRows& data) {
    const std::vector<Record> log = read_log(image_);
    const std::size_t samples = measured.samples_ns.size();
    const std::size_t calls = static_cast<std::size_t>(measured.launches_per_sample) * calls_per_timed;
    REQUIRE(calls > 0);
    REQUIRE(log.size() > samples * calls);
    const std::vector<std::size_t>& checked = timer_.checked_samples();
    std::vector<std::size_t> unchecked;
    for (std::size_t i = 0; i < samples; ++i)
      if (!std::ranges::binary_search(checked, i)) unchecked.push_back(i);
    std::shuffle(unchecked.begin(), unchecked.end(), bench_.run_context().random);
    const std::size_t each = std::min(checked.size(), unchecked.size());
    for (std::size_t i = 0; i < each; ++i) {
      for (const auto& [sample, label] : {std::pair{checked[i], true}, {unchecked[i], false}}) {
        const std::size_t first = log.size() - (samples - sample) * calls;
        data.rows.push_back(features(log, first, first + calls - 1, sample));
        data.labels.push_back(label);
      }
    }
  }

  // As a kernel knows them: of the sample's first call and its last, and how they differ from those of the call before.
  static std::vector<double> features(const std::vector<Record>& log, std::size_t first, std::size_t last,
                                      std::size_t sample) {
    std::vector<double> row{static_cast<double>(sample)};
    for (const std::size_t call : {first, last}) {
      for (std::size_t f = 0; f < kFeatures; ++f) {
        row.push_back(static_cast<double>(log[call][f]));
        row.push_back(static_cast<double>(static_cast<std::int64_t>(log[call][f] - log[call - 1][f])));
      }
    }
    return row;
  }

  TimingBench bench_;
  TimingBench::Program image_, rival_;
  runtime::Timer timer_;
};

TEST_CASE("a kernel cannot tell timed samples that are checked from those that are not, by any method") {
  Recognition recognition(DeviceKind::cuda);
  for (const Method& method : kMethods) {
    const auto try_once = [&] {
      const LabelledRows train = recognition.rows(method, 1'000);
      return tell_apart(train, recognition.rows(method, 1'000));
    };
    Accuracy accuracy = try_once();
    // An interval of 95 % leaves out the truth one time in twenty; what can be seen, is seen again.
    if (!accuracy.is_chance()) accuracy = try_once();
    INFO(method.name << ": " << 100 * accuracy.share << " % distinguished, interval " << 100 * accuracy.low
                     << " to " << 100 * accuracy.high << " %");
    CHECK(accuracy.is_chance());
  }
}

TEST_CASE("the probe sees what it could recognise a sample by: warm caches and calls of a batch") {
  Recognition recognition(DeviceKind::cuda);
  const auto relabelled = [&](std::size_t method, bool label, std::size_t rows) {
    LabelledRows data = recognition.rows(kMethods[method], rows);
    data.labels.assign(data.labels.size(), label);
    return data;
  };
  const auto both = [&] {
    LabelledRows data = relabelled(1, false, 200);
    const LabelledRows warm = relabelled(2, true, 200);
    data.rows.insert(data.rows.end(), warm.rows.begin(), warm.rows.end());
    data.labels.insert(data.labels.end(), warm.labels.begin(), warm.labels.end());
    return data;
  };
  const LabelledRows train = both();
  CHECK(tell_apart(train, both()).share > 0.95);
}

}  // namespace
}  // namespace ak::test
