// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/build.h"
#include "core/device/device_facts.h"
#include "core/device/floor.h"
#include "core/profile.h"
#include "profiler/analysis/roofline.h"

namespace ak::profiler {

/// All that is known of one launch when it is judged. What is not known stays empty: rules that need it are
/// then not judged.
struct AnalysisInput {
  LaunchProfile launch;  ///< counters of CUPTI or exact counts of the CPU device; may be partly missing
  std::string method;    ///< Profile::method: "cupti", "emulator", or empty when nothing ran
  KernelFacts kernel;
  std::optional<Occupancy> occupancy;
  std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  DeviceFacts device;
  std::optional<double> time_ns;     ///< measured without a profiler, of the whole call
  Work work;                         ///< least work of the whole call
  Floor floor;                       ///< least time of the whole call
  int launches = 1;                  ///< of the call: work and floor are of one launch only when it is 1
  std::optional<DType> matrix_type;  ///< operands' type, where the problem is a matrix product that matrix
                                     ///< units take (matrix_type_of)
  bool float64 = false;              ///< the problem's own types are float64
};

/// Operand type for which matrix units could do the problem's products; nothing when it has none, or asks
/// for float32 as it is.
[[nodiscard]] std::optional<DType> matrix_type_of(const ProblemInstance& problem);

/// A unit of the GPU that a kernel can be limited by.
struct Unit {
  std::string_view name;    ///< "dram", "l2", "shared", "tensor", ...
  std::string_view words;   ///< "device memory"
  std::string_view metric;  ///< its used share, percent
};
[[nodiscard]] std::span<const Unit> units();

/// Metrics of a launch, and what follows from them and the launch's facts, by name ("launch/waves",
/// "global/sector_use"). What is not known is NaN, so that every comparison with it is false.
class Quantities {
 public:
  explicit Quantities(const AnalysisInput& input);

  [[nodiscard]] double operator[](std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  /// Share of warps' time spent waiting for these reasons together, percent; NaN when no stall is known.
  [[nodiscard]] double waiting(std::initializer_list<std::string_view> reasons) const;
  /// Used share of the busiest unit, percent; those named are left out.
  [[nodiscard]] double busiest(std::initializer_list<std::string_view> but = {}) const;
  [[nodiscard]] const Unit* busiest_unit() const;
  /// What passes through L2 goes on to device memory.
  [[nodiscard]] bool streams() const;

  struct Less {
    std::string_view unit;
    double factor;  ///< of the unit's work that would remain
  };
  /// How many times faster the launch becomes at most when units have less to do and when a part `gone` (0 to
  /// 1) of the waiting for `reasons` goes: until the unit that is then busiest is busy all the time, and not
  /// below what remains when that part of the time spent waiting, or on those units, is gone (Amdahl).
  /// Without reasons, or where no stall is known, only the units count.
  [[nodiscard]] double speedup(std::initializer_list<Less> less,
                               std::initializer_list<std::string_view> reasons = {}, double gone = 1) const;

 private:
  [[nodiscard]] double or_zero(std::string_view name) const;
  [[nodiscard]] double estimated_l2() const;
  void add(const std::string& name, double value);
  void add_launch(const AnalysisInput& input);
  void add_memory();
  void add_instructions();
  void add_stalls();
  void add_counted_shares(const AnalysisInput& input);
  using Values = std::map<std::string, double, std::less<>>;
  Values values_;
};

}  // namespace ak::profiler
