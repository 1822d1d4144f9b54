// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/plan/dtype.h"
#include "core/plan/random_values.cuh"

namespace ak {

/// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC11).
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key);

/// Key of one tensor's stream: mixes the run's seed with the tensor's name.
[[nodiscard]] std::array<std::uint32_t, 2> tensor_key(std::uint64_t seed, std::string_view tensor);

/// All elements of an integer tensor, as `draw` and the run's seed give them.
[[nodiscard]] std::vector<std::int64_t> random_integers(std::uint64_t seed, std::string_view tensor,
                                                        const ak_random::Draw& draw);

/// A scalar by value: one of the numbers of `draw`, which has some.
[[nodiscard]] double random_scalar(std::array<std::uint32_t, 2> key, const ak_random::Draw& draw);

/// Conversions with round to nearest even, as the GPU's cvt.rn does. fp8 saturates to finite as
/// __nv_fp8 types do.
[[nodiscard]] std::uint16_t float_to_half(float value);
[[nodiscard]] float half_to_float(std::uint16_t bits);
[[nodiscard]] std::uint16_t float_to_bfloat16(float value);
[[nodiscard]] float bfloat16_to_float(std::uint16_t bits);
[[nodiscard]] std::uint8_t float_to_e4m3(float value);
[[nodiscard]] float e4m3_to_float(std::uint8_t bits);
[[nodiscard]] std::uint8_t float_to_e5m2(float value);
[[nodiscard]] float e5m2_to_float(std::uint8_t bits);

}  // namespace ak
