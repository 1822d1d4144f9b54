// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <random>
#include <string>

#include "runtime/check/harness_kernels.h"
#include "runtime/cuda/device_context.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/launch_inspector.h"
#include "runtime/process/device_messages.h"

namespace ak::runtime {

/// What the worker is about to do, and how long the parent should wait for the next sign of life before it
/// takes the worker for hung.
struct Progress {
  std::string
      activity;      ///< "reference", "candidate" or "harness": whose fault silence would be; or "waiting"
  std::string what;  ///< workload or kernel
  double limit_ms = 0;
};

/// What every step on the device needs. Owned by DeviceProblem; one thread.
struct RunContext {
  const DeviceContext& context;
  CUstream stream;
  const HarnessKernels& kernels;
  const OpenProblem& problem;
  std::function<void(const Progress&)> report;
  std::mt19937_64 random;  ///< of addresses, the order of samples and the seeds of changing inputs
  LaunchInspector* inspector = nullptr;  ///< of the CPU device; null on a GPU

  /// Multiple of kBufferAlignment below 4 KiB.
  std::size_t random_shift() {
    return kBufferAlignment * std::uniform_int_distribution<std::size_t>(0, 15)(random);
  }
  [[nodiscard]] std::size_t tensor_bytes(const WorkloadLayout& workload, std::size_t tensor) const {
    return static_cast<std::size_t>(workload.elements(tensor)) *
           static_cast<std::size_t>(info(problem.tensors[tensor].dtype).bytes);
  }
  /// Memory that is yet to be written; asynchronous.
  void poison(BufferView memory, DType dtype) const {
    check(driver().cuMemsetD8Async(memory.address, poison_byte(dtype), memory.bytes, stream),
          "poisoning memory");
  }
  /// Asynchronous.
  void zero(BufferView memory) const {
    check(driver().cuMemsetD8Async(memory.address, 0, memory.bytes, stream), "zeroing memory");
  }
  void synchronize(const std::string& what) const {
    check(driver().cuStreamSynchronize(stream), "running {}", what);
  }
};

}  // namespace ak::runtime
