// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/calibrate.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/learn/stats.h"
#include "runtime/cuda/device_context.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/launch_inspector.h"
#include "runtime/cuda/nvml_probe.h"
#include "runtime/process/device_lock.h"

namespace ak::runtime {
namespace {

// PTX, which GPUs and the CPU device take as it is: no compiler of another version makes it another program. Four chains
// keep the pipeline of multiplications full; 16 bytes a thread are the widest access of every architecture.
const std::string kProgram = R"(
.version 6.3
.target sm_75
.address_size 64

.visible .entry calibrate_compute(.param .u64 results, .param .u32 rounds)
{
  .reg .pred %more;
  .reg .b32 %left, %block, %size, %index;
  .reg .b64 %to, %offset;
  .reg .f32 %a, %b, %c, %d, %factor, %term;
  ld.param.u64 %to, [results];
  ld.param.u32 %left, [rounds];
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %index, %tid.x;
  mad.lo.u32 %index, %block, %size, %index;
  cvt.rn.f32.u32 %a, %index;
  mov.f32 %factor, 0f3F7FFFFE;
  mov.f32 %term, 0f3F000000;
  add.f32 %b, %a, %term;
  add.f32 %c, %b, %term;
  add.f32 %d, %c, %term;
NEXT:
  fma.rn.f32 %a, %a, %factor, %term;
  fma.rn.f32 %b, %b, %factor, %term;
  fma.rn.f32 %c, %c, %factor, %term;
  fma.rn.f32 %d, %d, %factor, %term;
  fma.rn.f32 %a, %a, %factor, %term;
  fma.rn.f32 %b, %b, %factor, %term;
  fma.rn.f32 %c, %c, %factor, %term;
  fma.rn.f32 %d, %d, %factor, %term;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %more, %left, 0;
  @%more bra NEXT;
  add.f32 %a, %a, %b;
  add.f32 %c, %c, %d;
  add.f32 %a, %a, %c;
  mul.wide.u32 %offset, %index, 4;
  add.u64 %to, %to, %offset;
  st.global.f32 [%to], %a;
  ret;
}

.visible .entry calibrate_copy(.param .u64 source, .param .u64 target, .param .u32 vectors)
{
  .reg .pred %done;
  .reg .b32 %count, %index, %block, %size, %blocks, %stride, %x, %y, %z, %w;
  .reg .b64 %from, %to, %offset, %place;
  ld.param.u64 %from, [source];
  ld.param.u64 %to, [target];
  ld.param.u32 %count, [vectors];
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %index, %tid.x;
  mad.lo.u32 %index, %block, %size, %index;
  mov.u32 %blocks, %nctaid.x;
  mul.lo.u32 %stride, %size, %blocks;
NEXT:
  setp.ge.u32 %done, %index, %count;
  @%done bra END;
  mul.wide.u32 %offset, %index, 16;
  add.u64 %place, %from, %offset;
  ld.global.v4.u32 {%x, %y, %z, %w}, [%place];
  add.u64 %place, %to, %offset;
  st.global.v4.u32 [%place], {%x, %y, %z, %w};
  add.u32 %index, %index, %stride;
  bra NEXT;
END:
  ret;
}
)";

constexpr unsigned kCalibrationThreads = 256;
constexpr unsigned kVectorBytes = 16;  // of calibrate_copy

/// How much of it there is.
struct Extent {
  unsigned blocks = 0, rounds = 0;
  std::size_t copied_bytes = 0;
};
// As many blocks as an SM holds of such; of H200 some 130 us of multiplications and 70 us of a copy, whose two sides
// together are more than any L2 cache (126 MB of B200).
constexpr unsigned kBlocksOfSm = 8, kGpuRounds = 2'048;
constexpr std::size_t kGpuCopiedBytes = std::size_t{128} << 20;
// A hundredth of a second of this machine's time; the cost is exact however little there is to do.
constexpr Extent kCpuExtent{.blocks = 4, .rounds = 32, .copied_bytes = std::size_t{128} << 10};
// Medians of 300 stay within a tenth of a percent of each other where nothing has changed (docs/fleet.md).
constexpr int kCalibrationRounds = 6, kSamplesOfRound = 50;
// Launched first in every round, so that the queue is never empty while samples are taken.
constexpr int kLead = 20;
// A GPU at rest needs so long until its clocks are up (chosen).
constexpr std::chrono::milliseconds kWarmUp{300};

class CalibrationProgram {
 public:
  explicit CalibrationProgram(const Extent& extent)
      : extent_(extent),
        module_(load_module(kProgram, "the calibration")),
        stream_(create_stream()),
        results_(std::size_t{extent.blocks} * kCalibrationThreads * sizeof(float),
                 "the calibration's results"),
        from_(extent.copied_bytes, "the calibration's copy"),
        to_(extent.copied_bytes, "the calibration's copy"),
        compute_kernel_(get_function(module_, "calibrate_compute")),
        copy_kernel_(get_function(module_, "calibrate_copy")) {
    check(driver().cuMemsetD8Async(from_.address(), 0, from_.bytes(), stream_.get()), "clearing memory");
  }

  void compute() const { launch(compute_kernel_, results_.address(), extent_.rounds); }
  void copy() const {
    launch(copy_kernel_, from_.address(), to_.address(),
           static_cast<std::uint32_t>(extent_.copied_bytes / kVectorBytes));
  }
  void record(const EventHandle& event) const {
    check(driver().cuEventRecord(event.get(), stream_.get()), "recording an event");
  }
  void synchronize() const { check(driver().cuStreamSynchronize(stream_.get()), "running the calibration"); }

 private:
  template <class... Args>
  void launch(CUfunction kernel, Args... args) const {
    void* parameters[] = {&args...};
    CUlaunchConfig config{};
    config.gridDimX = extent_.blocks;
    config.blockDimX = kCalibrationThreads;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream_.get();
    check(driver().cuLaunchKernelEx(&config, kernel, parameters, nullptr), "launching the calibration");
  }

  Extent extent_;
  ModuleHandle module_;
  StreamHandle stream_;
  DeviceBuffer results_, from_, to_;
  CUfunction compute_kernel_, copy_kernel_;
};

double ns_between(const EventHandle& before, const EventHandle& after) {
  float ms = 0;
  check(driver().cuEventElapsedTime(&ms, before.get(), after.get()), "reading events");
  return double{ms} * 1e6;
}

void raise_clocks(const CalibrationProgram& program) {
  const auto end = std::chrono::steady_clock::now() + kWarmUp;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < kLead; ++i) {
      program.compute();
      program.copy();
    }
    program.synchronize();
  }
}

Calibration time_on_gpu(const DeviceContext& context) {
  const CalibrationProgram program({.blocks = kBlocksOfSm * static_cast<unsigned>(context.facts().sm_count),
                                    .rounds = kGpuRounds,
                                    .copied_bytes = kGpuCopiedBytes});
  raise_clocks(program);
  std::vector<EventHandle> events;
  for (int i = 0; i < 2 * kSamplesOfRound + 1; ++i) events.push_back(create_event());
  std::vector<double> computed, copied;
  for (int round = 0; round < kCalibrationRounds; ++round) {
    for (int i = 0; i < kLead; ++i) program.compute();
    program.record(events.front());
    for (std::size_t i = 0; i < kSamplesOfRound; ++i) {
      program.copy();
      program.record(events[2 * i + 1]);
      program.compute();
      program.record(events[2 * i + 2]);
    }
    program.synchronize();
    for (std::size_t i = 0; i < kSamplesOfRound; ++i) {
      copied.push_back(ns_between(events[2 * i], events[2 * i + 1]));
      computed.push_back(ns_between(events[2 * i + 1], events[2 * i + 2]));
    }
  }
  const NvmlProbe nvml(context.facts().uuid);
  const auto errors = nvml.memory_errors();
  return {.compute_ns = median(computed),
          .copy_ns = median(copied),
          .memory_errors = errors ? std::optional(*errors) : std::nullopt,
          .sm_clock_mhz = nvml.read().sm_clock_mhz};
}

Calibration cost_on_cpu() {
  LaunchInspector* inspector = driver().inspector;
  AK_ASSERT(inspector != nullptr, "the CPU device counts costs");
  const CalibrationProgram program(kCpuExtent);
  const auto cost_of = [&](void (CalibrationProgram::*kernel)() const) {
    const ScopedInspection inspection(inspector, {.count_cost = true});
    static_cast<void>(inspector->take_counts());
    (program.*kernel)();
    program.synchronize();
    return inspector->take_counts().cost_ns;
  };
  return {.compute_ns = cost_of(&CalibrationProgram::compute), .copy_ns = cost_of(&CalibrationProgram::copy)};
}

}  // namespace

Calibration calibrate(DeviceKind kind, int ordinal, const std::function<void()>& on_wait) {
  const DeviceContext context(ordinal);
  if (kind == DeviceKind::emulator) return cost_on_cpu();
  const ScopedTurn turn(device_lock(context.facts().uuid), DeviceLock::Turn::alone, on_wait);
  return time_on_gpu(context);
}

}  // namespace ak::runtime
