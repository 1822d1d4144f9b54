// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/text/json.h"
#include "profiler/analysis/analysis.h"

namespace ak::profiler {

/// What an analysis takes, out of one of the "launches" of profile_json(). What is missing stays unknown.
/// Throws Json::exception where a field is of the wrong type.
[[nodiscard]] AnalysisInput input_from_json(const Json& launch, const std::string& method);

}  // namespace ak::profiler
