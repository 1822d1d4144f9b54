// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "codegen/problem_catalog.h"
#include "core/json_reader.h"

namespace ak::codegen {

/// One of the param's choices, or within its range.
[[nodiscard]] bool is_allowed(const ParamSpec& param, const Value& value);

/// Checks everything in problem.json that does not depend on the params. Throws JsonComplaint.
[[nodiscard]] Problem read_problem(const Json& json, const std::filesystem::path& folder);

/// The instance under chosen params, without workloads, reference.cu and templates. Throws JsonComplaint.
[[nodiscard]] ProblemInstance read_instance(const Problem& problem, const Params& params);

/// One line of workloads.jsonl; nothing when its `when` does not hold. Throws JsonComplaint.
[[nodiscard]] std::optional<Workload> read_workload(const Json& json, const ProblemInstance& instance);

/// Why these sizes cannot be an input of the definition; empty when they can.
[[nodiscard]] std::string size_complaint(const ProblemInstance& instance, const AxisValues& sizes);

}  // namespace ak::codegen
