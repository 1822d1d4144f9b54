// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/launch_plan.h"
#include "core/result.h"

namespace ak {

/// One .cu file: CUDA C++ device code with its launch plan in the leading comment. What a template, a model
/// and a user all write. `tunables` says which point of the template's space this candidate is.
struct Candidate {
  std::string name;    ///< where it came from, for messages: a file name or "proposal 12"
  std::string source;  ///< the whole file, comment included
  LaunchPlan plan;
  TunableValues tunables;  ///< a value for every tunable of the plan
  std::string headers =
      {};  ///< texts of the device headers that the source includes (core/plan/device_headers.h)

  /// The file with the texts of its device headers inside: it needs nothing but the CUDA toolkit.
  [[nodiscard]] std::string self_contained() const;
  /// Whether its launches or its code may depend on how many multiprocessors there are.
  [[nodiscard]] bool asks_for_multiprocessors() const;
  /// Key of the source text and its device headers (SHA-256).
  [[nodiscard]] std::string source_hash() const;
  /// Key of that and tunables: two candidates with equal keys are the same variant of one definition.
  [[nodiscard]] std::string variant_hash() const;
};

/// Limits on candidate text: larger is refused before anything parses it (a model's answer is 10-50 kB).
inline constexpr std::size_t kMaxCandidateBytes = 1u << 20;

/// Reads a candidate that includes the device headers of this program; tunables are set to `frozen` where given, else to their defaults. Errors: empty,
/// too large, binary (NUL bytes), no leading `/* alphakernel ... */` comment, malformed JSON (with
/// line), malformed plan.
[[nodiscard]] Result<Candidate> parse_candidate(std::string name, std::string_view source);

/// The same file with the JSON of its leading comment replaced by `plan`.
[[nodiscard]] std::string with_plan(std::string_view source, const LaunchPlan& plan);

/// The constraints that rule out the point `tunables`, in the plan's order, as written: those that follow from
/// tunables and names known in `environment`, also through `let`, and do not hold.
[[nodiscard]] std::vector<std::string> broken_constraints(const LaunchPlan& plan, Environment environment,
                                                          const TunableValues& tunables);
/// Whether `tunables` are one of the values of every tunable of the plan, and broken_constraints() has none.
[[nodiscard]] bool has_point(const LaunchPlan& plan, const Environment& environment,
                             const TunableValues& tunables);

}  // namespace ak
