// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/prediction/call_facts.h"

namespace ak::profiler {

/// How often a call's operands move, from the fewest operations and bytes, the launch geometry and the
/// registers alone. A block that owns A outputs and needs an operand of each row and column of them once for
/// every term of a sum reads 2 sqrt(A) elements for A multiply-adds: the larger its tile, the less it reads.
struct OperandTraffic {
  double tile_outputs = 1;  ///< of one block at a time: what its accumulators hold, or its share of all
  double bytes = 0;         ///< from L2 into the SMs, all blocks; never less than the least bytes
  double shared_bytes = 0;  ///< read from shared memory by the lanes or the matrix units
  bool reused = false;      ///< more than the least: operands are read by several blocks or several times
};
[[nodiscard]] OperandTraffic operand_traffic(const CallFacts& facts);

/// Elements that are written, of the partial results too when those are more.
[[nodiscard]] double outputs_of(const CallFacts& facts);

}  // namespace ak::profiler
