// SPDX-License-Identifier: Apache-2.0
#include "agent/search/remaining_numbers.h"

#include <algorithm>

namespace ak::agent {
namespace {

std::uint64_t value_or_key(const std::unordered_map<std::uint64_t, std::uint64_t>& map, std::uint64_t key) {
  const auto found = map.find(key);
  return found == map.end() ? key : found->second;
}

}  // namespace

std::uint64_t RemainingNumbers::at(std::uint64_t place) const { return value_or_key(moved_, place); }

bool RemainingNumbers::contains(std::uint64_t number) const {
  return value_or_key(places_, number) != kTaken;
}

void RemainingNumbers::take(std::uint64_t number) {
  const std::uint64_t place = value_or_key(places_, number);
  if (place == kTaken) return;
  const std::uint64_t last = at(--size_);
  moved_.erase(size_);
  if (last != number) {
    moved_[place] = last;
    places_[last] = place;
  }
  places_[number] = kTaken;
}

std::uint64_t RemainingNumbers::draw(Engine& engine) const { return at(draw_below(engine, size_)); }

std::vector<std::uint64_t> RemainingNumbers::sample(Engine& engine, std::size_t count) const {
  const std::uint64_t drawn = std::min<std::uint64_t>(count, size_);
  std::unordered_map<std::uint64_t, std::uint64_t> swapped;  // place -> place, of a shuffle's first steps
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < drawn; ++i) {
    const std::uint64_t other = i + draw_below(engine, size_ - i);
    const std::uint64_t place = value_or_key(swapped, other);
    swapped[other] = value_or_key(swapped, i);
    result.push_back(at(place));
  }
  return result;
}

}  // namespace ak::agent
