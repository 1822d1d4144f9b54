// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/plan/dtype.h"
#include "core/plan/expression.h"
#include "core/result.h"
#include "core/text/json.h"

namespace ak {

/// A tunable of a candidate: the values search may choose from.
struct Tunable {
  std::string name;                  ///< [A-Z][A-Z0-9_]*
  std::vector<std::int64_t> values;  ///< distinct, at least one; booleans are 0 and 1
  std::int64_t default_value = 0;    ///< one of `values`
};
using TunableValues = std::map<std::string, std::int64_t, std::less<>>;

enum class WorkspaceInit : std::uint8_t { none, zero };  ///< zero: a memset inside the timed sequence

struct WorkspacePlan {
  std::string name;
  std::string dtype = "float32";  ///< a dtype, or the param that holds one
  Expression count;               ///< elements
  WorkspaceInit init = WorkspaceInit::none;
  bool prepared = false;  ///< `prepare` writes it, launches of calls only read it
};

enum class ScalarType : std::uint8_t { i32, i64, f32, f64, boolean };

struct ScalarArgument {
  ScalarType type = ScalarType::i32;
  std::variant<Expression, double> value;  ///< a literal for f32 and f64 that is not an integer expression
};
struct NamedArgument {
  std::string name;  ///< tensor, scalar input, workspace or tensor map
};
struct OptionalArgument {
  std::string name;  ///< a tensor that the problem has under some params only; else the pointer is null
};
using ArgumentPlan = std::variant<NamedArgument, OptionalArgument, ScalarArgument>;

struct TensorMapPlan {
  std::string name;
  std::string tensor;             ///< tensor or workspace it describes
  std::string dtype = "float32";  ///< of its elements: a dtype, or the param that holds one
  std::vector<Expression> dims, strides_bytes, box, element_strides;  ///< innermost first; strides: rank - 1
  std::string interleave = "none", swizzle = "none", l2_promotion = "none", oob_fill = "none";
};

struct LoopPlan {
  std::string variable;
  Expression low, high;  ///< low <= variable < high
};

/// Blocks of a grid and threads of a block, by dimension: the same for every compute capability since 7.5 (CUDA C++ Programming
/// Guide, technical specifications).
inline constexpr std::array<std::int64_t, 3> kMaxGrid{2147483647, 65535, 65535}, kMaxBlock{1024, 1024, 64};
inline constexpr std::int64_t kMaxClusterBlocks = 16;  ///< non-portable maximum, Hopper and later
/// Ours: far above any honest plan, small enough that a hostile one cannot exhaust the harness.
inline constexpr std::int64_t kMaxSharedBytes = 1 << 20;

struct LaunchPlanEntry {
  std::string kernel;                            ///< C++ name expression (nvrtcAddNameExpression)
  std::vector<Expression> grid, block, cluster;  ///< 1 to 3 entries; cluster may be empty
  std::vector<ArgumentPlan> arguments;
  std::optional<Expression> shared_bytes;  ///< dynamic shared memory
  bool cooperative = false;
  bool pdl = false;  ///< programmatic dependent launch on the launch before
  std::optional<Expression> when;
  std::optional<LoopPlan> loop;
};

/// The launch plan of a candidate: data, written as JSON in the leading comment of its
/// .cu file (docs/candidate.md).
struct LaunchPlan {
  std::vector<Tunable> tunables;
  std::vector<TunableValues>
      starts;  ///< whole points that a search tries after the default one, the best first
  std::vector<Expression> constraints;
  std::vector<std::pair<std::string, Expression>> let;  ///< in order; a later one may use an earlier one
  std::vector<Expression> time_terms;  ///< amounts that the time of a call is a sum of, each with a factor
  std::vector<WorkspacePlan> workspace;
  std::vector<TensorMapPlan> tensor_maps;
  std::vector<LaunchPlanEntry> prepare;  ///< once for a set of weights, before any call on it
  std::vector<LaunchPlanEntry> launches;
  std::vector<std::string> options;  ///< allow-listed build options, e.g. "fast_math", "maxrregcount=64"
  // A finished output also carries what it was made for, so that `evaluate k.cu` needs no flag.
  std::string problem;   ///< family name or empty
  Json params;           ///< object or null
  TunableValues frozen;  ///< values chosen by a search; empty in a template
};

/// Reads a plan; errors name the field by path ("launches[0].grid[1]") and what was expected.
[[nodiscard]] Result<LaunchPlan> launch_plan_from_json(const Json& json);
[[nodiscard]] Json to_json(const LaunchPlan& plan);

// ---- resolved: every expression evaluated for one workload

struct ResolvedScalar {
  ScalarType type = ScalarType::i32;
  std::int64_t integer = 0;  ///< for i32, i64 (i32 is range-checked)
  double real = 0;           ///< for f32, f64
};
struct ResolvedPointer {
  std::string name;  ///< tensor or workspace; empty: a null pointer
};
struct ResolvedTensorMapReference {
  std::string name;
};
/// An input that is a scalar: its value comes with each data set.
struct ResolvedScalarInput {
  std::string name;
  ScalarType type = ScalarType::f32;  ///< of the kernel's parameter
};
using ResolvedArgument =
    std::variant<ResolvedPointer, ResolvedScalar, ResolvedTensorMapReference, ResolvedScalarInput>;

struct ResolvedLaunch {
  std::string kernel;
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  bool cooperative = false;
  bool pdl = false;
  std::vector<ResolvedArgument> arguments;
};
struct ResolvedWorkspace {
  std::string name;
  DType dtype = DType::float32;
  std::int64_t count = 0;
  WorkspaceInit init = WorkspaceInit::none;
  bool prepared = false;
};
struct ResolvedTensorMap {
  std::string name, tensor;
  DType dtype = DType::float32;
  std::vector<std::int64_t> dims, strides_bytes, box, element_strides;
  std::string interleave, swizzle, l2_promotion, oob_fill;
};
/// A plan under concrete sizes, params, tunables and device facts: what a device worker executes, in order.
struct ResolvedPlan {
  std::vector<ResolvedWorkspace> workspace;
  std::vector<ResolvedTensorMap> tensor_maps;
  std::vector<ResolvedLaunch> launches;
  std::vector<ResolvedLaunch> prepare = {};  ///< once for a set of weights
};

/// Evaluates the plan. `environment` holds axes, params, tunables, device facts and what ProblemInstance::environment
/// says of tensors and scalars; `let` is added here.
/// Errors (a candidate's fault): an expression fails, a constraint does not hold, a dimension is < 1 or over
/// the CUDA limits (docs/candidate.md), workspace over 16 GiB, more than 4,096 launches.
[[nodiscard]] Result<ResolvedPlan> resolve(const LaunchPlan& plan, const Environment& environment);

[[nodiscard]] Json to_json(const ResolvedPlan& plan);
[[nodiscard]] ResolvedPlan resolved_plan_from_json(const Json& json);  ///< throws Error(bad_input)

[[nodiscard]] std::string_view to_string(ScalarType type);
[[nodiscard]] bool is_floating(ScalarType type);
/// The type by which a scalar of that dtype is passed. Nothing for dtypes that are never passed by value.
[[nodiscard]] std::optional<ScalarType> scalar_type(DType dtype);

}  // namespace ak
