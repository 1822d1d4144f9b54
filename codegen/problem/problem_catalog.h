// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plan/problem.h"

namespace ak::codegen {

/// A problem family as its folder describes it (docs/problem.md), before params are chosen.
struct Problem {
  std::string name;
  std::string summary;
  std::filesystem::path folder;
  std::vector<ParamSpec> params;
  std::vector<Expression> param_constraints;  ///< over params: combinations that the problem has
  Json json;                                  ///< problem.json, validated
};

/// Where problem folders are looked for, first hit wins: locations().templates, $ALPHAKERNEL_TEMPLATES
/// (colon-separated), then <program>/../share/alphakernel/templates (installed tree), for a program in its build folder
/// the source tree, and last the templates that are compiled in (codegen/problem/problem_files.h).
[[nodiscard]] std::vector<std::filesystem::path> template_search_path();

/// Every folder with a problem.json on the search path, sorted by name. A broken one does not hide the
/// others: its error is kept in `input_error`.
struct CatalogEntry {
  std::string name;
  std::filesystem::path folder;
  std::string summary;
  std::string input_error;  ///< empty when the problem loads
};
[[nodiscard]] std::vector<CatalogEntry> list_problems();

/// Folder of a shipped problem. Throws Error(usage) with the nearest known name.
[[nodiscard]] std::filesystem::path find_problem(std::string_view name);
/// The same of the problem that a kernel says it is of: where it does not come with the program, Error(usage) says how
/// its folder is named.
[[nodiscard]] std::filesystem::path find_problem_of_kernel(std::string_view name);

/// Tag of definitions whose results do not depend on their inputs: their kernels are not ranked (docs/schema.md).
inline constexpr std::string_view kDegenerateTag = "degenerate";

/// What shows that the problem's results do not depend on its inputs, as problem.json says; empty where they do.
[[nodiscard]] std::string degenerate_evidence(const Problem& problem);

/// Reads and validates problem.json. Throws Error(bad_input) naming file, field and what was expected.
[[nodiscard]] Problem load_problem(const std::filesystem::path& folder);

/// Fills in defaults and checks types and choices; `given` maps param name to the text of the flag ("bf16",
/// "true"). dtype spellings are normalised. Throws Error(usage) listing the allowed values.
[[nodiscard]] Params choose_params(const Problem& problem, const std::map<std::string, std::string>& given);

/// What a param is tried at beside its default: every other choice, of a range its ends and what it names between them.
[[nodiscard]] std::vector<Value> other_values(const ParamSpec& param);

/// Params under which a problem is audited: every combination of dtypes and of flags that it has, the others at
/// their defaults and the default combination first; then each of a param's other_values()
/// once: in the first of those before it that the problem has with it. A choice that takes two changes at
/// once is left out.
[[nodiscard]] std::vector<Params> covering_params(const Problem& problem);

/// The plain definition with its workloads, reference, formulas and templates.
/// Throws Error(bad_input) naming file, field and what was expected.
[[nodiscard]] std::shared_ptr<const ProblemInstance> instantiate(const Problem& problem,
                                                                 const Params& params);

/// The sizes of a shape, "N=1024,M=77". Throws Error(usage) where it is written otherwise or names an axis twice.
[[nodiscard]] AxisValues parse_shape(std::string_view shape);

/// A copy whose only workloads have the given sizes ("N=1024,M=77" each), by names of which each shape has one; roles check
/// and time. Held-out shapes are drawn around them. Throws Error(usage) for a shape that is there twice, an unknown axis, a missing one, a size < 1 or
/// one that breaks a constraint.
[[nodiscard]] std::shared_ptr<const ProblemInstance> with_shapes(const ProblemInstance& instance,
                                                                 std::span<const std::string> shapes);
[[nodiscard]] std::shared_ptr<const ProblemInstance> with_shape(const ProblemInstance& instance,
                                                                std::string_view shape);

}  // namespace ak::codegen
