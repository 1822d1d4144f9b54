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

namespace ak {

enum class ParamType : std::uint8_t { choice, integer, boolean };

/// A parameter of a problem family (dtype, head_dim, causal, ...). Becomes a command-line flag.
struct ParamSpec {
  std::string name;
  ParamType type = ParamType::choice;
  std::vector<Value> choices;  ///< allowed values; empty only for an integer with minimum and maximum
  std::optional<std::int64_t> minimum, maximum;
  Value default_value;
  std::string help;
};

using Params = std::map<std::string, Value, std::less<>>;

enum class WorkloadRole : std::uint8_t { check, time };
enum class WorkloadTier : std::uint8_t { emulator, gpu, deep };  ///< smallest device class it is meant for

/// A named shape.
struct Workload {
  std::string name;
  std::string uid;  ///< stable id: hash of definition name and axes unless the file gives one
  AxisValues axes;  ///< every varying axis of the definition
  std::vector<WorkloadRole> roles;
  WorkloadTier tier = WorkloadTier::gpu;
  double weight = 1;  ///< in the geometric mean of the score; only for `time`

  [[nodiscard]] bool has(WorkloadRole role) const;
};

/// Values that an axis of a held-out shape may take, both bounds included.
struct AxisRange {
  std::int64_t low = 1, high = 1;
};

/// Where held-out shapes are drawn from when a search ends: known shapes could be learned, these cannot.
struct HeldOutRange {
  std::string name;
  std::map<std::string, AxisRange, std::less<>> axes;  ///< every varying axis of the definition
  WorkloadTier tier = WorkloadTier::gpu;
};

/// How the values of an input are drawn. Kinds are implemented bit-identically on host and device
/// (core/plan/random_input.h). A check uses several sets; each set names a kind for every floating input.
enum class InputKind : std::uint8_t {
  normal,         ///< standard normal times `scale` plus `shift`
  uniform,        ///< [-1, 1) times `scale` plus `shift`
  small_integer,  ///< integers in [-3, 3] times `scale`: sums stay exact
  zero_one,       ///< 0 or 1
  outliers,       ///< normal, one element in 1024 multiplied by 100
  ramp,           ///< (index mod 1024) / 1024 - 0.5, times `scale`: ties and order
  peaked,         ///< normal, one element in 256 raised by 20: softmax-like work
};
[[nodiscard]] std::string_view to_string(InputKind kind);
[[nodiscard]] std::optional<InputKind> parse_input_kind(std::string_view text);

struct InputDistribution {
  std::string name;  ///< stored with every check
  InputKind kind = InputKind::normal;
  float scale = 1;
  float shift = 0;
};

/// Pass if every element's error is at most `factor` times the error of the honest low-precision twin on the
/// same inputs, and non-finite values agree (docs/checking.md).
struct Tolerance {
  double factor = 4;
  double floor_ulps =
      2;  ///< the twin's error counts as at least this many unit roundoffs of the output dtype
  std::string reason;
  bool allow_nondeterministic =
      false;  ///< float atomics permitted: repeated runs may differ within tolerance
};

/// A deliberately wrong variant that the checks must reject (the problem audit).
struct Mutation {
  std::string name;
  std::string what;   ///< the mistake, in words
  std::string macro;  ///< reference.cu compiled with this macro defined makes the mistake
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
inline constexpr std::array kLibraryBaselines{std::string_view("cublaslt"), std::string_view("cudnn")};

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
  std::map<std::string, std::string> audit_exempt = {};  ///< automatic mutation that is right here -> why
  std::vector<Workload> workloads;
  std::string reference_cu;              ///< reference kernel in the candidate contract
  std::vector<CandidateFile> templates;  ///< every other .cu of the folder, sorted by name
  std::vector<std::string> sources_cited;
  std::vector<std::string> baselines = {};  ///< of kLibraryBaselines: timed alongside candidates on a GPU
  std::vector<HeldOutRange> held_out = {};

  /// Params, fixed axes, `sizes`, and `sizeof_<tensor>` (bytes of an element), for evaluating the formulas.
  [[nodiscard]] Environment environment(const AxisValues& sizes) const;
};

}  // namespace ak
