// SPDX-License-Identifier: Apache-2.0
// What clocks know of single lanes.
#include "emulator/check/vector_clock.h"

#include <utility>

namespace ak::emulator {
namespace {

std::uint32_t latest_of(const LaneRow& row) { return *std::max_element(row.begin(), row.end()); }

/// Whether `row` says nothing that `known` does not say.
bool covers(const LaneRow& known, const LaneRow& row) {
  bool all = true;
  for (std::size_t i = 0; i < row.size(); ++i) all &= row[i] <= known[i];
  return all;
}

}  // namespace

// Most joins bring nothing new, and then nothing is built.
void VectorClock::join_lanes(const LaneRows* other) {
  const std::uint32_t mine = lanes != nullptr ? lanes->warps() : 0;
  const std::uint32_t theirs = other != nullptr && other != lanes.get() ? other->warps() : 0;
  bool changes = false;
  for (std::uint32_t left = mine; left != 0; left &= left - 1) {
    const auto warp = static_cast<std::uint32_t>(std::countr_zero(left));
    changes = changes || lanes->latest(warp) <= at[warp];
  }
  for (std::uint32_t left = theirs; left != 0; left &= left - 1) {
    const auto warp = static_cast<std::uint32_t>(std::countr_zero(left));
    const LaneRow *known = row(warp), &more = *other->find(warp);
    changes = changes || (other->latest(warp) > at[warp] && (known == nullptr || !covers(*known, more)));
  }
  if (!changes) return;
  auto joined = std::make_shared<LaneRows>();
  for (std::uint32_t left = mine | theirs; left != 0; left &= left - 1) {
    const auto warp = static_cast<std::uint32_t>(std::countr_zero(left));
    const LaneRow *known = row(warp), *more = (theirs >> warp & 1u) != 0 ? other->find(warp) : nullptr;
    LaneRow all = known != nullptr ? *known : *more;
    if (more != nullptr) emulator::join(all, *more);
    at[warp] = std::max(at[warp], *std::min_element(all.begin(), all.end()));
    if (latest_of(all) > at[warp]) joined->append(warp, all);
  }
  lanes = joined->warps() != 0 ? std::move(joined) : nullptr;
}

void VectorClock::join_row(std::uint32_t warp, const LaneRow& row) {
  LaneRows one;
  one.append(warp, row);
  join_lanes(&one);
}

VectorClock VectorClock::of_any_lane() const {
  VectorClock all{.at = at, .lanes = nullptr};
  for (std::uint32_t warp = 0; lanes != nullptr && warp < kMaxWarps; ++warp) all.at[warp] = latest(warp);
  return all;
}

}  // namespace ak::emulator
