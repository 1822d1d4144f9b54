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
  std::vector<OtherDeviceReport>
      deviations;            ///< places of which others say the opposite, the champion's own included
  bool refuted = false;      ///< it must not lead
  bool unconfirmed = false;  ///< another device contradicts it, and it is not known which of the two is right
};

/// Has so many devices of the champion's pool check and time it as those did that made it the champion; on GPUs in turns
/// with the runner-up, too. Where a worker elsewhere made it the champion at least one other device is asked, this
/// machine's own first, whose word is final. Where workers elsewhere contradict each other further ones are asked, until
/// more say the one than the other. What a worker elsewhere says against a champion that this machine's own devices, or
/// most of the workers, stand for is committed as `infrastructure_error` and takes it from nobody.
/// @param devices that have to say the same, the first included
/// @param evaluate nothing: it did not end in time
/// @param commit under this arm
[[nodiscard]] OtherDevicesVerdict ask_other_devices(
    const Champion& champion, const std::vector<PoolPlace>& places, int devices, bool on_gpu,
    const std::function<std::optional<Completed>(EvaluationRequest)>& evaluate,
    const std::function<void(const Completed&, std::string arm)>& commit);

/// Who is asked whether a fault that `place` found is one: a device of this machine, whose word is final, else two other
/// workers. None where the place is this machine's own, or alone.
[[nodiscard]] std::vector<PoolPlace> second_opinions(const std::vector<PoolPlace>& places,
                                                     const std::string& place);

/// Makes of a fault that a worker elsewhere found what it is where others do not find it.
void disbelieve(Completed& completed);

}  // namespace ak::agent
