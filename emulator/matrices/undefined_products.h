// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "emulator/check/undefined_values.h"
#include "emulator/matrices/matrix_form.h"

namespace ak::emulator {

/// Values that no one wrote among the factors of a product, by row of A and column of B: 0 where all are defined.
struct UndefinedFactors {
  std::array<UndefinedValues::Origin, kMaxM> rows{};
  std::array<UndefinedValues::Origin, kMaxN> columns{};
};

/// Marks the elements of D that depend on values that no one wrote: each on its row of A, its column of B and its
/// element of C. Of a tile that is loaded past the matrix only the rows behind the end are undefined.
/// @param factors what is known of scales, if there are any.
void mark_products(Warp& warp, const Fragments& all, UndefinedFactors factors);
/// The same, at no cost in warps without such values. Before D is written.
inline void carry_undefined(Warp& warp, const Fragments& all, const UndefinedFactors& factors = {}) {
  if (warp.undefined != nullptr) [[unlikely]]
    mark_products(warp, all, factors);
}

}  // namespace ak::emulator
