// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "app/sets/member_measurements.h"
#include "core/sets/set_record.h"

namespace ak::app {

/// An estimate that says nothing: whoever has it is timed.
inline constexpr double kMayBeFastest = 0;

/// Shapes that a rule is asked about.
struct ChoiceQuestion {
  std::vector<Workload> shapes;
  std::vector<std::size_t> chosen;  ///< by shape, the member that the rule gives it to
  std::vector<std::vector<double>>
      estimated_ns;  ///< by member and shape; infinite where it does not take one
};

/// By member, the shapes on which it is chosen or its estimate comes near the least (near_shapes()).
[[nodiscard]] std::vector<std::vector<std::size_t>> asked_of(const ChoiceQuestion& question);

/// Times members where they are chosen or may be the fastest (asked_of()): what the rule chooses on each shape, and the
/// fastest of them there. A shape without a time of the chosen member is left out; nothing where there was no
/// answer.
/// @param go_on called before each member; what it throws ends this
[[nodiscard]] std::vector<SetShapeRecord> time_choice(MemberMeasurements& measurements,
                                                      const std::vector<Candidate>& members,
                                                      const ChoiceQuestion& question,
                                                      const std::function<void()>& go_on);

}  // namespace ak::app
