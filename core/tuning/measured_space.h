// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/text/json.h"
#include "core/tuning/tunable_space.h"

namespace ak {

constexpr double kNsPerMs = 1e6;

struct MeasuredPoint {
  TuningPoint point;
  std::optional<double> time_ns;                   ///< absent: the point failed
  std::string failure;                             ///< as the file says it; empty for a point with a time
  std::optional<double> compile_ms, benchmark_ms;  ///< what the tuner spent on it, where recorded
};

/// Points of a tuning space with what was measured at each: a record of a search, or the whole space.
struct MeasuredSpace {
  std::string kernel, device;  ///< as recorded; may be empty
  std::vector<TuningParameter> parameters;
  std::vector<MeasuredPoint> points;  ///< none twice
  std::vector<std::string> notes;     ///< what was odd in the file, one line each

  [[nodiscard]] std::optional<double> best_ns() const;  ///< nothing when all points failed
  [[nodiscard]] std::size_t failures() const;
};

/// A space as its definition gives it: Kernel Tuner's T1 file.
struct SpaceDefinition {
  std::string kernel;
  std::vector<TuningParameter> parameters;
  std::vector<std::string> constraints;
};

/// Reads a Kernel Tuner cache (any version, also one that was not closed), T4 results, or KTT's JSON, recognised by
/// their keys. Errors: none of these, a field that is missing or of a wrong type (named by path), no results.
[[nodiscard]] Result<MeasuredSpace> parse_measured_space(const std::string& text);
/// As above from a file, plain or packed (gzip, xz). Throws Error(bad_input) naming the file.
[[nodiscard]] MeasuredSpace read_measured_space(const std::filesystem::path& file);

[[nodiscard]] bool is_definition(const Json& json);
[[nodiscard]] Result<SpaceDefinition> parse_definition(const Json& json);

/// Why `measured` cannot be of the space: other parameters (of another kernel), or points that the space has
/// not (how many, the first). Nothing where it fits.
[[nodiscard]] std::optional<InputError> mismatch(const MeasuredSpace& measured, const TunableSpace& space);

/// The same points as a Kernel Tuner cache or as T4 results (schema 1.0.0).
[[nodiscard]] Json to_kernel_tuner_cache(const MeasuredSpace& space);
[[nodiscard]] Json to_t4(const MeasuredSpace& space);

/// Gathers points that are given by name and value; the parameters' values are those that occur, ascending,
/// unless given. For readers.
class MeasuredSpaceBuilder {
 public:
  struct Row {
    std::map<std::string, TuningValue> values{};
    MeasuredPoint result{};  ///< `point` is set by the builder
  };
  /// Of two rows at one point, the later counts.
  void add(Row row) { rows_.push_back(std::move(row)); }
  /// `names` in order; with `parameters`, their values come first and those only met in rows after them.
  [[nodiscard]] Result<MeasuredSpace> finish(std::vector<TuningParameter> parameters);

 private:
  std::vector<Row> rows_;
};

}  // namespace ak
