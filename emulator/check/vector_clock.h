// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace ak::emulator {

/// Parties that access a block's shared memory: its warps, and the copy engine last.
inline constexpr std::uint32_t kMaxWarps = 32, kCopyEngine = kMaxWarps;

/// A clock of a warp for each of its lanes.
using LaneRow = std::array<std::uint32_t, 32>;
inline void join(LaneRow& row, const LaneRow& other) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::max(row[i], other[i]);
}

/// Of some warps, up to which clock each lane's accesses are known to have happened before, where that is
/// more than is known of all its lanes: of a warp whose lane 0 alone arrives at an mbarrier.
class LaneRows {
 public:
  [[nodiscard]] std::uint32_t warps() const { return warps_; }
  /// Null: no more is known than of the warp.
  [[nodiscard]] const LaneRow* find(std::uint32_t warp) const {
    return (warps_ >> warp & 1u) != 0 ? &rows_[index_of(warp)] : nullptr;
  }
  /// The largest clock of a row that is there.
  [[nodiscard]] std::uint32_t latest(std::uint32_t warp) const { return latest_[index_of(warp)]; }
  /// A row of a warp behind those that are there.
  void append(std::uint32_t warp, const LaneRow& row) {
    warps_ |= 1u << warp;
    rows_.push_back(row);
    latest_.push_back(*std::max_element(row.begin(), row.end()));
  }

 private:
  [[nodiscard]] std::size_t index_of(std::uint32_t warp) const {
    return static_cast<std::size_t>(std::popcount(warps_ & ((1u << warp) - 1)));
  }
  std::uint32_t warps_ = 0;    ///< a bit for each that has a row
  std::vector<LaneRow> rows_;  ///< of these, in their order
  std::vector<std::uint32_t> latest_;
};

/// Per party, the clock up to which its accesses are known to have happened before.
struct VectorClock {
  alignas(32) std::array<std::uint32_t, 40> at{};  ///< padded to whole vectors
  /// What is known of single lanes beyond `at`; null: nothing. Clocks share it, so it never changes.
  std::shared_ptr<const LaneRows> lanes;

  void join(const VectorClock& other) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = std::max(at[i], other.at[i]);
    if (lanes != nullptr || other.lanes != nullptr) join_lanes(other.lanes.get());
  }
  /// Joins what is known of one warp's lanes.
  void join_row(std::uint32_t warp, const LaneRow& row);
  /// Null: of each lane no more is known than of the warp.
  [[nodiscard]] const LaneRow* row(std::uint32_t warp) const {
    return lanes != nullptr && warp < kMaxWarps ? lanes->find(warp) : nullptr;
  }
  /// Up to this clock some lane's accesses have happened before, if not all lanes'.
  [[nodiscard]] std::uint32_t latest(std::uint32_t party) const {
    return row(party) != nullptr ? std::max(at[party], lanes->latest(party)) : at[party];
  }
  /// The same for all parties, for who takes what one lane knows as known of all.
  [[nodiscard]] VectorClock of_any_lane() const;
  /// Up to this clock all warps' accesses have happened before. The copy engine does not count: its records
  /// are distinguished from the warps'.
  [[nodiscard]] std::uint32_t floor() const {
    std::uint32_t least = at[0];
    for (std::size_t i = 1; i < kMaxWarps; ++i) least = std::min(least, at[i]);
    return least;
  }
  /// Drops what `at` has caught up with.
  void drop_known_lanes() {
    if (lanes != nullptr) join_lanes(nullptr);
  }

 private:
  void join_lanes(const LaneRows* other);
};

}  // namespace ak::emulator
