// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/definition.h"
#include "core/plan/expression.h"
#include "core/plan/held_out_range.h"
#include "core/plan/input_draw.h"
#include "core/plan/tolerance.h"

namespace ak {

enum class ParamType : std::uint8_t { choice, integer, boolean };

/// A parameter of a problem family (dtype, head_dim, causal, ...). Becomes a command-line flag.
struct ParamSpec {
  std::string name;
  ParamType type = ParamType::choice;
  std::vector<Value> choices;  ///< allowed values; empty only for an integer with minimum and maximum
  std::optional<std::int64_t> minimum, maximum;
  std::vector<Value> tried;  ///< between them: what an audit tries beside them
  Value default_value;
  std::string help;
};

using Params = std::map<std::string, Value, std::less<>>;

enum class WorkloadRole : std::uint8_t { check, time };

/// A named shape.
struct Workload {
  std::string name;
  std::string uid;  ///< stable id: hash of definition name and axes unless the file gives one
  AxisValues axes;  ///< every varying axis of the definition
  std::vector<WorkloadRole> roles;
  WorkloadTier tier = WorkloadTier::gpu;
  double weight = 1;  ///< in the geometric mean of the score; only for `time`
  /// Of the problem's, in this order; it is timed under the first. Empty: all of them.
  std::vector<std::string> distributions = {};

  [[nodiscard]] bool has(WorkloadRole role) const;
};

/// One set of inputs that candidates are checked on.
struct InputDistribution {
  std::string name;  ///< stored with every check
  InputDraw draw;    ///< of every input that `tensors` does not name
  std::map<std::string, InputDraw, std::less<>> tensors = {};

  [[nodiscard]] const InputDraw& draw_of(std::string_view tensor) const;
};

/// A deliberately wrong variant that the checks must reject (the problem audit).
struct Mutation {
  std::string name;
  std::string what;   ///< the mistake, in words
  std::string macro;  ///< reference.cu compiled with this macro defined makes the mistake
  std::vector<std::string> fails_on = {};  ///< distributions under which it must be rejected; empty: any one
};

/// A mistake that the audit makes by itself, out of the results of the problem's twin.
struct AutomaticMutation {
  std::string_view name, what;
};
inline constexpr std::array kAutomaticMutations{
    AutomaticMutation{"zeros", "all zeros"},
    AutomaticMutation{"constant", "the mean of the result everywhere"},
    AutomaticMutation{"identity", "the first input of the same size"},
    AutomaticMutation{"last_elements", "right but for its last 32 elements, which are zero"},
    AutomaticMutation{"low_precision",
                      "rounded to bfloat16; to 3 bits of mantissa where the type has 16 bits"},
};

/// Vendor libraries that a problem may name as baselines (docs/problem.md).
inline constexpr std::array kLibraryBaselines{std::string_view("cublaslt"),
                                              std::string_view("cublaslt_first"), std::string_view("cudnn")};

/// A reference that is a Python file: PyTorch computes what is right (docs/python.md).
struct PythonReference {
  std::string file;               ///< absolute path
  std::string source;             ///< what it held when the problem was read
  std::string kind;               ///< of kPythonKinds
  Json options = Json::object();  ///< the object "python" of problem.json
};

/// How a Python reference is written (docs/python.md).
inline constexpr std::array kPythonKinds{std::string_view("function"), std::string_view("kernelbench"),
                                         std::string_view("flashinfer_bench"), std::string_view("gpu_mode")};

struct CandidateFile {
  std::string name;  ///< file name, e.g. "softmax.cu"
  std::string source;
};

/// A problem family after choosing params: everything needed to generate, check, time and report.
/// Immutable once made; shared between threads as shared_ptr<const ProblemInstance>.
struct ProblemInstance {
  std::string problem;  ///< family name, e.g. "softmax"
  std::filesystem::path folder;
  Params params;
  Definition definition;
  std::map<std::string, std::string> aliases;  ///< output -> input that shares its memory (in place)
  Expression flops;                            ///< operations of one call
  Expression bytes_read;                       ///< fewest bytes that must be read from device memory
  Expression bytes_written;
  Tolerance tolerance;
  std::vector<InputDistribution> distributions;  ///< the first one is also used for timing
  std::vector<Mutation> mutations;
  /// Automatic mutation -> tensor for which it is right here (empty: every output) -> why.
  std::map<std::string, std::map<std::string, std::string>> audit_exempt = {};
  std::vector<Workload> workloads;
  bool shapes_given = false;             ///< the workloads are the caller's, not those of the folder
  std::string reference_cu;              ///< reference kernel in the candidate contract; empty: see `python`
  std::vector<CandidateFile> templates;  ///< every other .cu of the folder, sorted by name
  std::vector<std::string> sources_cited;
  std::vector<std::string> baselines = {};  ///< of kLibraryBaselines: timed alongside candidates on a GPU
  std::vector<HeldOutRange> held_out = {};
  std::vector<TensorSpec> absent_outputs = {};         ///< that the problem has under other params
  std::vector<std::string> absent_distributions = {};  ///< the same
  std::optional<PythonReference> python = {};          ///< the reference where it is no kernel

  /// Params, fixed axes, `sizes`, the axes derived from them, `sizeof_<tensor>` (bytes of an element) and
  /// `scalar_<input>` (the dtype of a scalar), for evaluating formulas and launch plans.
  [[nodiscard]] Environment environment(const AxisValues& sizes) const;
  /// The text of the reference, whatever it is written in.
  [[nodiscard]] const std::string& reference_text() const { return python ? python->source : reference_cu; }
  /// Those that `workload` is checked with; it is timed under the first.
  [[nodiscard]] std::vector<const InputDistribution*> distributions_of(const Workload& workload) const;
  /// How every input of a workload with these sizes is drawn, in order. Errors: as resolve_draw, with the input.
  [[nodiscard]] Result<std::vector<ak_random::Draw>> draws(const InputDistribution& distribution,
                                                           const AxisValues& sizes) const;
};

}  // namespace ak
