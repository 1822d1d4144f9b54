// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/device/device_facts.h"
#include "core/plan/problem.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::app {

/// Where candidates run and what they are compiled for.
struct Target {
  DeviceKind kind = DeviceKind::none;
  int ordinal = 0;
  Arch arch;
  std::optional<DeviceFacts> device;  ///< the GPU or emulator, when there is one
  /// Of a search on several devices, the first of which is `device`; else empty.
  std::vector<runtime::DevicePlace> pool = {};
  int confirm_devices = 1;    ///< of the pool, that have to agree about a champion
  bool cpu_fallback = false;  ///< of the pool: where its GPUs are gone, a search goes on with the CPU device
  bool fell_back = false;     ///< so it is the CPU device, because none was there, or none is any more
  std::string notice;         ///< one line for the user when no GPU will execute anything, and why

  [[nodiscard]] bool executes() const { return kind != DeviceKind::none; }
  /// Of this machine, where examinations and PyTorch run, too.
  [[nodiscard]] bool here() const { return pool.empty() || pool.front().worker_command.empty(); }
};

/// What the CPU emulator replaces when no one says.
[[nodiscard]] Arch emulated_by_default();

/// Resolves --device (auto, cuda, cuda:N, emulator, none) and --arch (empty, native, a name) against the
/// devices found. With `auto`, the CPU emulator stands in where there is no GPU or one that cannot load the
/// target's code: the notice says so. It runs the code of any target; without one that of sm_90a.
/// Throws Error(usage) for a bad flag, Error(environment) when a named device is missing.
[[nodiscard]] Target choose_target(const std::string& device_flag, const std::string& arch_flag);

/// The CPU device in the place of a GPU.
[[nodiscard]] Target cpu_device_of(const Arch& arch);

/// The same for a search, which may also have several GPUs of this machine (cuda:all, cuda:0,2) or, where `pool` is not
/// empty, the devices of that pool file in place of --device. Waits until the first of them has joined. Throws as
/// read_pool() does, too.
[[nodiscard]] Target choose_search_target(const std::string& device_flag, const std::string& pool,
                                          const std::string& arch_flag);

/// The --device that names the target's devices; empty where a pool file has to.
[[nodiscard]] std::string device_flag_of(const Target& target);

/// Time a run should reach, from "60us", "1.5ms", "500TFLOPS", "2000GB/s" or "90%sol"; nanoseconds of the
/// weighted geometric mean over the timed workloads. Throws Error(usage) listing the forms.
[[nodiscard]] double parse_target_performance(const std::string& text, const ProblemInstance& problem,
                                              const std::optional<DeviceFacts>& device);

}  // namespace ak::app
