// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/profile.h"
#include "profiler/analysis/profile_json.h"

namespace ak::profiler {

/// A page to read: of each launch its units, memory traffic, occupancy, waiting, hot lines, and what to do.
/// @param source the candidate's file, for the text of hot lines; may be empty
[[nodiscard]] std::string render_profile(const Profile& profile, std::span<const ProfiledLaunch> launches,
                                         std::string_view source);

/// What changed from `before` to `after`, launch by launch in the plan's order: time and bottleneck first,
/// then metrics, those that changed most first; changes under 2 % are left out.
[[nodiscard]] std::string render_comparison(std::span<const ProfiledLaunch> before,
                                            std::span<const ProfiledLaunch> after);

}  // namespace ak::profiler
