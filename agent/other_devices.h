// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/champion.h"
#include "agent/loop.h"

namespace ak::agent {

/// What other devices of a pool say of a champion.
struct OtherDevicesVerdict {
  std::vector<OtherDeviceReport> reports;
  bool refuted = false;      ///< it must not lead
  bool unconfirmed = false;  ///< another device contradicts it, and it is not known which of the two is right
};

/// Has so many devices of the champion's pool check and time it as those did that made it the champion; on GPUs in turns
/// with the runner-up, too. Where a worker elsewhere made it the champion at least one other device is asked, this
/// machine's own first, whose word is final. What a worker elsewhere says against a champion of this machine's own devices
/// takes it from nobody: it is committed as `infrastructure_error`, and the champion is unconfirmed.
/// @param devices that have to say the same, the first included
/// @param evaluate nothing: it did not end in time
/// @param commit under this arm
[[nodiscard]] OtherDevicesVerdict ask_other_devices(
    const Champion& champion, const std::vector<PoolPlace>& places, int devices, bool on_gpu,
    const std::function<std::optional<Completed>(EvaluationRequest)>& evaluate,
    const std::function<void(const Completed&, std::string arm)>& commit);

}  // namespace ak::agent
