// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/profile.h"
#include "core/text/json.h"
#include "profiler/analysis/analysis.h"

namespace ak::profiler {

/// A launch with what it was judged by and the judgement.
struct ProfiledLaunch {
  AnalysisInput input;
  Analysis analysis;
};

/// to_json(profile) with "facts" in each of its "launches", which are those of `launches`: all that an
/// analysis needs, so that it can be made again from the file.
[[nodiscard]] Json profile_json(const Profile& profile, std::span<const ProfiledLaunch> launches);

/// The launch that takes longest decides: its "bottleneck", "evidence", "at_most" and "remedies", with those
/// of every launch in "launches".
[[nodiscard]] Json analysis_json(std::span<const ProfiledLaunch> launches);

/// The one that takes longest, by its measured duration; nullptr when there is none.
[[nodiscard]] const ProfiledLaunch* longest(std::span<const ProfiledLaunch> launches);

}  // namespace ak::profiler
