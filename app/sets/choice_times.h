// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "app/sets/member_measurements.h"
#include "core/sets/set_record.h"

namespace ak::app {

/// Shapes that a rule is asked about.
struct ChoiceQuestion {
  std::vector<Workload> shapes;
  std::vector<std::size_t> chosen;  ///< by shape, the member that the rule gives it to
  std::vector<std::vector<double>>
      estimated_ns;  ///< by member and shape; infinite where it does not take one
};

/// Times members where they are chosen or their estimates come near the least (near_shapes()): what the rule chooses on each
/// shape, and the fastest of them there. A shape without a time of the chosen member is left out; nothing where there was no
/// answer.
/// @param go_on called before each member; what it throws ends this
[[nodiscard]] std::vector<SetShapeRecord> time_choice(MemberMeasurements& measurements,
                                                      const std::vector<Candidate>& members,
                                                      const ChoiceQuestion& question,
                                                      const std::function<void()>& go_on);

}  // namespace ak::app
