// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/outcome.h"
#include "core/plan/launch_plan.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/driver.h"
#include "runtime/process/device_messages.h"

namespace ak::runtime {

using AddressTable = std::map<std::string, BufferView, std::less<>>;
/// What the scalar inputs of a data set are.
using ScalarValues = std::map<std::string, double, std::less<>>;

/// A candidate's program on the device. Loading it again gives `__device__` variables their
/// initial values back.
class LoadedImage {
 public:
  /// Throws CudaError when the driver refuses the image or a symbol.
  LoadedImage(const KernelImage& image, const std::string& what);
  /// The function behind a plan's kernel name, or nothing.
  [[nodiscard]] CUfunction find(const std::string& expression) const;
  [[nodiscard]] const std::string& file_name() const noexcept { return file_name_; }
  /// Where its `__device__` and `__constant__` variables lie. @param image what it was loaded from
  [[nodiscard]] std::vector<BufferView> variables(const KernelImage& image) const;

 private:
  ModuleHandle module_;
  std::map<std::string, CUfunction> functions_;
  std::string file_name_;
};

/// Loads one program as often as it is wanted again.
class ProgramLoader {
 public:
  /// `image` must outlive it.
  ProgramLoader(const KernelImage& image, std::string what) : image_(image), what_(std::move(what)) {}
  /// The program with its `__device__` variables as they were written; the one loaded before is gone, and so
  /// must be whatever used it. Throws CudaError.
  [[nodiscard]] const LoadedImage& load();

 private:
  const KernelImage& image_;
  std::string what_;
  std::optional<LoadedImage> loaded_;
};

/// A resolved plan bound to functions and addresses: ready to be enqueued any number of times.
/// The image and the memory behind the addresses must outlive it.
class PreparedPlan {
 public:
  /// Errors (an Outcome at StageId::check): a kernel or buffer the plan names is missing, argument count or
  /// size differs from the kernel's parameters (invalid_candidate), a tensor map the driver refuses
  /// (invalid_candidate), too many threads or too much shared memory (resource_exceeded).
  [[nodiscard]] static Result<PreparedPlan, Outcome> prepare(const ResolvedPlan& plan,
                                                             const LoadedImage& image,
                                                             const AddressTable& addresses);

  /// Enqueues the whole sequence, zeroing workspace first where the plan says so.
  /// @param scalars a value for every scalar input that the plan passes
  /// Errors: launch_error or resource_exceeded, naming the kernel.
  [[nodiscard]] std::optional<Outcome> enqueue(CUstream stream, const ScalarValues& scalars) const;
  /// Enqueues what prepares weights, zeroing prepared workspace first where the plan says so. Errors: as above.
  [[nodiscard]] std::optional<Outcome> enqueue_preparation(CUstream stream) const;
  [[nodiscard]] bool prepares_weights() const noexcept { return !preparation_.launches.empty(); }

  [[nodiscard]] std::size_t launch_count() const noexcept { return call_.launches.size(); }
  [[nodiscard]] const std::string& first_kernel() const { return call_.launches.front().kernel; }
  [[nodiscard]] std::string kernel_list() const;

  /// An argument whose value comes with the data.
  struct ScalarPlace {
    std::size_t argument = 0;
    ResolvedScalarInput input;
  };
  /// One kernel launch; `storage` holds the arguments one after the other, each at a multiple of 64 bytes.
  struct Launch {
    std::string kernel;
    CUfunction function = nullptr;
    std::array<std::uint32_t, 3> grid{}, block{}, cluster{1, 1, 1};
    std::uint32_t shared_bytes = 0;
    bool cooperative = false, pdl = false;
    std::vector<std::array<std::byte, 128>> arguments;  ///< large enough for a CUtensorMap
    std::vector<ScalarPlace> scalars;
  };

 private:
  struct Sequence {
    std::vector<BufferView> zeroed;
    std::vector<Launch> launches;

    [[nodiscard]] std::optional<Outcome> enqueue(CUstream stream, const ScalarValues& scalars) const;
  };
  Sequence preparation_, call_;
};

/// What a failed CUDA call means for a candidate. `kernels` names what was running.
[[nodiscard]] Outcome outcome_of(CUresult result, StageId stage, const std::string& kernels);

}  // namespace ak::runtime
