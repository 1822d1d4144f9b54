// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/problem.h"
#include "runtime/check/error_bounds.h"
#include "runtime/check/host_checks.h"
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
/// @param views also what compares views of outputs (runtime/check/output_view.h)
[[nodiscard]] HarnessSource harness_source(const std::vector<DType>& used, bool views = false);

/// What errors are relative to, as the kernels read it.
struct ErrorScale {
  double rms = 0;           ///< of the expected tensor
  CUdeviceptr row_rms = 0;  ///< of each of its rows, where these have scales of their own; else 0
  std::uint64_t row = 1;    ///< elements of a row
};
/// What the elements counted as wrong and as far off are beyond, as the kernels read it.
struct ErrorLimits {
  double element = 0, far = 0;
};

struct ComparisonInput {
  DType dtype = DType::float32;
  CUdeviceptr got = 0;       ///< count elements of dtype
  CUdeviceptr expected = 0;  ///< count doubles, or 64-bit integers for an integer dtype
  CUdeviceptr twin = 0;      ///< count elements of dtype
  std::int64_t count = 0;
  ErrorScale scale = {};
  ErrorLimits limits = {};
};

/// The rows of a tensor: all axes but the last.
struct Rows {
  std::int64_t count = 1, length = 1;
};
[[nodiscard]] Rows rows_of(const std::vector<std::int64_t>& shape);

/// The harness's kernels on one stream; of the CPU device most are done by the host (runtime/check/host_checks.h).
/// Calls that return values synchronise. Throws CudaError.
class HarnessKernels {
 public:
  /// @param image a cubin; PTX text for the CPU device
  /// @param inspector of the CPU device, whose memory the host can reach; null: all is done by kernels
  HarnessKernels(const std::string& image, CUstream stream, LaunchInspector* inspector = driver().inspector);

  /// Fills `out`, which holds draw.count elements.
  void fill(BufferView out, DType dtype, std::array<std::uint32_t, 2> key, const ak_random::Draw& draw) const;
  /// Root mean square of the finite elements of `count` doubles (or 64-bit integers).
  [[nodiscard]] double rms(CUdeviceptr values, bool floating, std::int64_t count) const;
  /// out[r] = the same of row r of `count` elements. Asynchronous.
  void row_rms(CUdeviceptr values, bool floating, const Rows& rows, CUdeviceptr out) const;
  /// Of `count` doubles rounded to a type with that roundoff.
  [[nodiscard]] RoundingError rounding_error(CUdeviceptr expected, std::int64_t count,
                                             const ErrorScale& scale, double roundoff) const;
  [[nodiscard]] Comparison compare(const ComparisonInput& input) const;
  /// out = the elements as doubles. Asynchronous, as are the next two.
  void widen(CUdeviceptr values, DType dtype, std::int64_t count, CUdeviceptr out) const;
  /// out = what indices of `dtype` select from the rows of `source`; NaN for an index that is out of range or
  /// that its row has already.
  void gather(CUdeviceptr indices, DType dtype, const Rows& rows, CUdeviceptr source, DType source_dtype,
              std::int64_t source_row, CUdeviceptr out) const;
  /// out = the doubles of each row in ascending order.
  void sort_rows(CUdeviceptr values, const Rows& rows, CUdeviceptr out) const;
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
  /// Reads `buffer` (16-byte aligned), so that L2 holds what fits of it. Asynchronous.
  void read(BufferView buffer) const;
  /// Keeps the stream busy for `duration_ns`. Asynchronous.
  void spin(std::uint64_t duration_ns) const;

 private:
  /// Of the CPU device: `count` elements of `size` bytes, and all that a scale or a comparison points to.
  [[nodiscard]] std::byte* on_host(CUdeviceptr address, std::int64_t count, std::size_t size) const;
  [[nodiscard]] host_checks::Scale on_host(const ErrorScale& scale, std::int64_t count) const;
  [[nodiscard]] host_checks::Compared on_host(const ComparisonInput& input) const;

  ModuleHandle module_;
  CUstream stream_;
  LaunchInspector* inspector_;
  DeviceBuffer scratch_;
};

}  // namespace ak::runtime
