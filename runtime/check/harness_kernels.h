// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/problem.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/driver.h"

namespace ak::runtime {

/// What runtime/check/device/harness_kernels.cu is compiled with.
struct HarnessSource {
  std::string file_name, source;
  std::vector<std::string> options;  ///< in addition to the standard ones
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> kernels;
};
/// @param used dtypes to fill and compare; repetitions do no harm.
[[nodiscard]] HarnessSource harness_source(const std::vector<DType>& used);

/// One block's share of a comparison, as the kernels write it.
struct BlockComparison {
  double max_error, sum_error;
  std::uint64_t worst, wrong, nonfinite, first_nonfinite, unwritten, first_unwritten;
};

/// A tensor compared with the reference. Errors are |got - expected| / (|expected| + rms(expected)), over
/// elements where the twin is finite. Indices are -1 where there is none.
struct Comparison {
  std::int64_t count = 0;
  double max_error = 0, mean_error = 0;
  std::int64_t worst = -1;
  std::int64_t wrong = 0;      ///< over the tolerance, or of another class (NaN, +inf, -inf) than the twin's
  std::int64_t nonfinite = 0;  ///< of another class than the twin's
  std::int64_t first_nonfinite = -1;
  std::int64_t unwritten = 0;  ///< still holds the poison pattern
  std::int64_t first_unwritten = -1;
};
[[nodiscard]] Comparison merge_blocks(const std::vector<BlockComparison>& blocks, std::int64_t count);

struct ComparisonInput {
  DType dtype = DType::float32;
  CUdeviceptr got = 0;       ///< count elements of dtype
  CUdeviceptr expected = 0;  ///< count doubles, or 64-bit integers for an integer dtype
  CUdeviceptr twin = 0;      ///< count elements of dtype
  std::int64_t count = 0;
  double rms = 0, tolerance = 0;
};

/// The harness's kernels on one stream. Calls that return values synchronise. Throws CudaError.
class HarnessKernels {
 public:
  /// @param image a cubin; PTX text for the CPU device.
  HarnessKernels(const std::string& image, CUstream stream);

  void fill(BufferView out, DType dtype, std::int64_t count, std::array<std::uint32_t, 2> key,
            const InputDistribution& distribution) const;
  /// Root mean square of the finite elements of `count` doubles (or 64-bit integers).
  [[nodiscard]] double rms(CUdeviceptr values, bool floating, std::int64_t count) const;
  [[nodiscard]] Comparison compare(const ComparisonInput& input) const;
  [[nodiscard]] std::uint64_t hash(BufferView bytes) const;
  /// Writes the hash to `out` (8 bytes). Asynchronous.
  void hash_into(BufferView bytes, CUdeviceptr out) const;
  /// Index of the first byte that is not `expected`.
  [[nodiscard]] std::optional<std::uint64_t> scan(BufferView bytes, std::uint8_t expected) const;
  /// Offset of the first 8-byte word in which two buffers of equal size (8-byte aligned) differ.
  [[nodiscard]] std::optional<std::uint64_t> first_difference(BufferView a, BufferView b) const;
  /// Writes, then reads `buffer`: nothing else is left in an L2 of half its size, and no line
  /// is dirty. Asynchronous.
  void flush(BufferView buffer) const;
  /// Keeps the stream busy for `duration_ns`. Asynchronous.
  void spin(std::uint64_t duration_ns) const;

 private:
  ModuleHandle module_;
  CUstream stream_;
  DeviceBuffer scratch_;
};

}  // namespace ak::runtime
