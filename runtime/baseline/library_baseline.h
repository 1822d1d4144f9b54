// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/launch.h"

namespace ak::runtime {

/// One way in which a library does a workload: a candidate as far as running and timing go.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// Enqueues the call on the problem's tensors; asynchronous. Errors: what the library
  /// refuses, at StageId::time.
  [[nodiscard]] virtual std::optional<Outcome> enqueue(const AddressTable& addresses,
                                                       CUstream stream) const = 0;
};

/// A vendor's library, loaded with dlopen, that does the operation of some problems. Owns its handles and
/// device memory; the device's context must be current, and outlive it. One thread.
class LibraryBaseline {
 public:
  virtual ~LibraryBaseline() = default;
  /// Name and version: "cublaslt 13.0.2".
  [[nodiscard]] virtual const std::string& label() const = 0;
  /// The library's proposals for one workload, the one it thinks best first; they must not outlive the
  /// library. The error says why it does not do the operation.
  [[nodiscard]] virtual Result<std::vector<std::unique_ptr<const LibraryCall>>> calls(
      const OpenProblem& problem, const WorkloadLayout& workload) = 0;
};

/// Loads one of kLibraryBaselines (core/plan/problem.h). The error says why there is none here.
[[nodiscard]] Result<std::unique_ptr<LibraryBaseline>> open_library_baseline(const std::string& name);

/// dlopen of the first of `file_names` that the dynamic linker knows or that is next to NVRTC in the CUDA
/// toolkit. Never unloaded: such libraries register with the driver. The error names what was looked for.
[[nodiscard]] Result<void*> load_vendor_library(const std::vector<std::string>& file_names);

}  // namespace ak::runtime
