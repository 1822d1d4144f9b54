// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "codegen/problem/problem_catalog.h"
#include "core/text/json_reader.h"

namespace ak::codegen {

/// One of the param's choices, or within its range.
[[nodiscard]] bool is_allowed(const ParamSpec& param, const Value& value);

/// Checks everything in problem.json that does not depend on the params. Throws JsonInputError.
[[nodiscard]] Problem read_problem(const Json& json, const std::filesystem::path& folder);

/// The instance under chosen params, without workloads, reference.cu and templates. Throws JsonInputError.
[[nodiscard]] ProblemInstance read_instance(const Problem& problem, const Params& params);

/// How reference.py is written, as problem.json's "python" says; without `file` and `source`. Throws JsonInputError.
[[nodiscard]] PythonReference read_python_reference(const Problem& problem);

/// One line of workloads.jsonl; nothing when its `when` does not hold. Throws JsonInputError.
[[nodiscard]] std::optional<Workload> read_workload(const Json& json, const ProblemInstance& instance);

/// The role of the line is "held_out": it is for read_held_out.
[[nodiscard]] bool is_held_out(const Json& json);

/// A line of workloads.jsonl with ranges of held-out shapes; nothing when its `when` does not hold. Throws
/// JsonInputError, also when no shape drawn from the ranges satisfies the constraints.
[[nodiscard]] std::optional<HeldOutRange> read_held_out(const Json& json, const ProblemInstance& instance);

/// Stable id of a shape whose workload gives none.
[[nodiscard]] std::string workload_uid(const ProblemInstance& instance, const AxisValues& sizes);

/// Why these sizes cannot be an input of the definition; empty when they can.
[[nodiscard]] std::string size_error(const ProblemInstance& instance, const AxisValues& sizes);

}  // namespace ak::codegen
