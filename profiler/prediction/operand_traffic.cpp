// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/operand_traffic.h"

#include <algorithm>
#include <cmath>

namespace ak::profiler {
namespace {

constexpr double kWarp = 32, kWarpGroup = 128;
constexpr double kPartialBytes = 4;  // partial results are float32
constexpr double kMinAccumulators = 8, kMaxAccumulators = 128;
constexpr double kWarpGroupRows = 64;  // of the tile of one wgmma, whose left operand is read for each
// float4 loads that several lanes of a warp share
constexpr double kLanesThatShare = 4;

/// Registers that hold what a thread accumulates, of all it has: the rest are addresses and operands, which
/// wgmma takes from shared memory, mma from registers, lanes element by element.
double accumulators(const CallFacts& facts) {
  const double registers = facts.main_launch().registers;
  if (registers == 0) return kMaxAccumulators;
  const double left = facts.matrix_unit == MatrixUnit::warp_group ? registers - 35
                      : facts.matrix_unit == MatrixUnit::warp     ? (registers - 54) / 2
                                                                  : (registers - 40) * 0.75;
  return std::clamp(left, kMinAccumulators, kMaxAccumulators);
}

/// Of a block: where warp groups multiply, one of several only moves data.
double multiplying_threads(const CallFacts& facts) {
  const double threads = facts.main_launch().threads;
  const bool producer = facts.matrix_unit == MatrixUnit::warp_group && threads > kWarpGroup;
  return producer ? threads - kWarpGroup : threads;
}

double shared_reads(const CallFacts& facts, double tile_outputs) {
  const double threads = multiplying_threads(facts);
  const double operand_bytes = facts.work.flops * facts.element_bytes;
  switch (facts.matrix_unit) {
    case MatrixUnit::warp_group: {
      const double columns = tile_outputs * kWarpGroup / threads / kWarpGroupRows;
      return operand_bytes / 2 * (1 / kWarpGroupRows + 1 / columns);
    }
    case MatrixUnit::warp:
      return operand_bytes / std::sqrt(std::max(1.0, tile_outputs * kWarp / threads));
    case MatrixUnit::none:
      return operand_bytes / std::sqrt(std::max(1.0, tile_outputs / threads)) / kLanesThatShare;
  }
  return 0;
}

}  // namespace

double outputs_of(const CallFacts& facts) {
  return std::max(
      {1.0, facts.work.bytes_written / facts.element_bytes, facts.workspace_bytes / kPartialBytes});
}

OperandTraffic operand_traffic(const CallFacts& facts) {
  const double least = facts.work.bytes_read + facts.work.bytes_written;
  OperandTraffic traffic;
  // fewer than 16 outputs: a sum that threads share, whose terms are read once
  traffic.tile_outputs = std::max(16.0, std::min(outputs_of(facts) / facts.main_launch().blocks,
                                                 multiplying_threads(facts) * accumulators(facts)));
  traffic.bytes = facts.work.flops * facts.element_bytes / std::sqrt(traffic.tile_outputs);
  traffic.reused = traffic.bytes > least;
  traffic.bytes = std::max(least, traffic.bytes);
  if (traffic.reused) traffic.shared_bytes = shared_reads(facts, traffic.tile_outputs);
  return traffic;
}

}  // namespace ak::profiler
