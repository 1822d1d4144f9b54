// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace ak {

/// Time as the loop sees it; tests install a virtual one.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override {
    return std::chrono::steady_clock::now();
  }
};

}  // namespace ak
