// SPDX-License-Identifier: Apache-2.0
#include "agent/search/members.h"
#include "strategy_table.h"

namespace ak::agent {

const Strategy kMultiStart{
    "multi-start", "first better neighbour, again from anywhere",
    [](std::shared_ptr<const TunableSpace> space, std::uint64_t seed, const EarlierSearches& earlier) {
      return stand_alone(std::move(space), seed, earlier, local_search(false));
    }};

}  // namespace ak::agent
