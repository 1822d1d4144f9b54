// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/outcome.h"

namespace ak::runtime {

/// Programs that took their device worker down, by key. What did so twice is not run a third time: each loss
/// costs a restart of the device, and one may have been the machine's fault but hardly two. One thread.
class Quarantine {
 public:
  /// The worker was lost while the program ran, which ended as `outcome`: a second loss is the program's
  /// fault, whatever the outcome says, and `outcome` then says so.
  void count_loss(const std::string& key, Outcome& outcome);
  /// How a program ends that is not run any more; nothing for one that may run.
  [[nodiscard]] std::optional<Outcome> refusal(const std::string& key) const;

 private:
  struct Losses {
    int count = 0;
    Outcome last;
  };
  std::map<std::string, Losses> losses_;
};

}  // namespace ak::runtime
