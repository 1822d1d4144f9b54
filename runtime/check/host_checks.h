// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/plan/problem.h"
#include "runtime/check/comparison.h"
#include "runtime/check/error_bounds.h"

/// What the harness's kernels do (runtime/check/harness_kernels.h), by the host on the memory of the CPU device: the same
/// for every element, for the text is one (runtime/check/device/element_checks.cuh), but sums in the order of elements.
/// Emulated, the kernels took nine tenths of the time of a small kernel's checks.
namespace ak::runtime::host_checks {

/// Fills what `out` points to: draw.count elements.
void fill(std::byte* out, DType dtype, std::array<std::uint32_t, 2> key, const ak_random::Draw& draw);
/// Root mean square of the finite ones of `count` doubles, or 64-bit integers.
[[nodiscard]] double rms(const std::byte* values, bool floating, std::int64_t count);

/// As ErrorScale of the kernels, with an address of the host.
struct Scale {
  double rms = 0;
  const double* row_rms = nullptr;
  std::uint64_t row = 1;
};
[[nodiscard]] RoundingError rounding_error(const double* expected, std::int64_t count, const Scale& scale,
                                           double roundoff);

struct Compared {
  DType dtype = DType::float32;
  const std::byte *got = nullptr, *expected = nullptr, *twin = nullptr;
  std::int64_t count = 0;
  Scale scale = {};
  double element_limit = 0, far_limit = 0;
  std::uint8_t poison = 0;
};
/// As one block.
[[nodiscard]] BlockComparison compare(const Compared& compared);

[[nodiscard]] std::uint64_t hash(const std::byte* bytes, std::uint64_t count);
/// Index of the first byte that is not `expected`.
[[nodiscard]] std::optional<std::uint64_t> scan(const std::byte* bytes, std::uint64_t count,
                                                std::uint8_t expected);
/// Offset of the first 8-byte word in which two buffers of that size differ.
[[nodiscard]] std::optional<std::uint64_t> first_difference(const std::byte* a, const std::byte* b,
                                                            std::uint64_t count);

}  // namespace ak::runtime::host_checks
