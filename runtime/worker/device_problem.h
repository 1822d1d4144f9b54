// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "runtime/check/data_set.h"
#include "runtime/cuda/launch_profiler.h"
#include "runtime/cuda/nvml_events.h"
#include "runtime/cuda/profiler_factory.h"
#include "runtime/process/device_lock.h"
#include "runtime/reference/make_reference.h"
#include "runtime/timing/timing.h"

namespace ak::runtime {

/// One problem opened on a device: its references, data sets, and the candidates run against
/// them. One thread.
class DeviceProblem {
 public:
  /// Starts the process of a reference in Python, which has to come before the worker confines itself.
  /// @param report called before anything that may take long or hang. Throws CudaError, Error(environment),
  /// Error(bad_input) where the reference cannot be used.
  /// @param make_profiler null: nothing can be profiled
  DeviceProblem(OpenProblem problem, std::function<void(const Progress&)> report,
                MakeLaunchProfiler make_profiler = nullptr);

  /// Never throws for what a candidate does. The answer's `lost` says that the process must be given up.
  [[nodiscard]] DeviceAnswer run(const DeviceTask& task);

 private:
  void report_waiting();
  void take_turn_alone();
  [[nodiscard]] bool run_apart(const DeviceTask& task, DeviceAnswer& answer);
  void run_stage(StageId stage, const DeviceTask& task, ProgramLoader& program, DeviceAnswer& answer,
                 std::chrono::steady_clock::time_point start);
  void check_all(const DeviceTask& task, ProgramLoader& program, DeviceAnswer& answer);
  void time_all(const DeviceTask& task, ProgramLoader& program, DeviceAnswer& answer);
  void time_pairs(const DeviceTask& task, DeviceAnswer& answer);
  void time_library_pairs(const DeviceTask& task, DeviceAnswer& answer);
  void profile_all(const DeviceTask& task, const ProfileOptions& profile_options, DeviceAnswer& answer);
  void measure_energies(const DeviceTask& task, ProgramLoader& program, DeviceAnswer& answer,
                        std::chrono::steady_clock::time_point start);
  [[nodiscard]] TimingTarget target(const WorkloadLayout& layout, const ResolvedPlan& plan,
                                    const LoadedImage& image, MeasurementRole role);
  void time_libraries(const DeviceTask& task, DeviceAnswer& answer);
  void settle(DeviceAnswer& answer);
  void blame_hardware(DeviceAnswer& answer);

  OpenProblem problem_;
  DeviceContext context_;
  StreamHandle stream_;
  HarnessKernels kernels_;
  RunContext run_context_;
  std::unique_ptr<Reference> reference_;
  DeviceLock& lock_;  ///< of all problems of this process on this device
  DataStore store_;
  MakeLaunchProfiler make_profiler_;
  std::unique_ptr<LaunchProfiler> profiler_;  ///< made when first needed
  std::optional<NvmlEvents> events_;          ///< of a GPU
  std::optional<Timer> timer_;                ///< on a GPU; the CPU device has costs instead of times
};

}  // namespace ak::runtime
