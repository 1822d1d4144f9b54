// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/device_breaker.h"

#include <algorithm>

namespace ak::runtime {

bool DeviceBreaker::note_loss(TimePoint now) {
  if (++losses_ < kTolerated) return false;
  constexpr int kMostDoublings = 10;  // past the longest rest
  const auto rest = kFirstRest * (1 << std::min(losses_ - kTolerated, kMostDoublings));
  rests_until_ = now + std::min<std::chrono::seconds>(rest, longest_rest_);
  return true;
}

void DeviceBreaker::rest(TimePoint now) {
  distrust();
  static_cast<void>(note_loss(now));
}

}  // namespace ak::runtime
