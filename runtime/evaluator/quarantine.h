// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/outcome.h"

namespace ak::runtime {

/// Programs that took their device worker down, by key. What did so twice is not run a third time: each loss
/// costs a restart of the device. A program is blamed only where another one came to a verdict since its
/// first loss: on a lost GPU every program takes the worker down, and none is at fault. One thread.
class Quarantine {
 public:
  /// An evaluation ended and the worker lives.
  void count_verdict() { ++verdicts_; }
  /// The worker was lost while the program ran, which ended as `outcome`. Where the program is to blame,
  /// `outcome` is made its fault and says so.
  void count_loss(const std::string& key, Outcome& outcome);
  /// How often the worker was lost while the program ran.
  [[nodiscard]] int losses(const std::string& key) const;
  /// How a program ends that is not run any more; nothing for one that may run.
  [[nodiscard]] std::optional<Outcome> refusal(const std::string& key) const;

 private:
  struct Losses {
    int count = 0;
    std::int64_t verdicts_before = 0;
    Outcome last;
  };
  [[nodiscard]] bool to_blame(const Losses& losses) const;

  std::int64_t verdicts_ = 0;
  std::map<std::string, Losses> losses_;
};

}  // namespace ak::runtime
