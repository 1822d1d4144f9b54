// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ak::codegen {

/// An optimisation of the kernel and what was measured of it.
struct OptimisationNote {
  std::string name, purpose;
  std::vector<int> lines;             ///< of the file, where it is; may be empty
  std::vector<std::string> tunables;  ///< that govern it
  std::vector<std::string> evidence;  ///< a sentence each; empty: nothing was measured
};

/// A launch of a call.
struct LaunchNote {
  std::string kernel;
  std::vector<std::string> optimisations;  ///< names of those in it
};

/// What a tunable's value is worth.
struct TunableNote {
  std::string name;
  std::vector<std::string> evidence;
};

/// Why a kernel is near its limit on one shape, or far from it.
struct LimitNote {
  std::string workload;
  std::optional<double> time_ns, floor_ns;  ///< the floor only where a time was measured
  std::string floor_reason;                 ///< what the minimum possible time is based on
  std::string basis;                  ///< what the bottleneck was named by: "counters", "counts", "facts"
  std::string bottleneck;             ///< empty: nothing was measured that would show it
  std::string evidence;               ///< the figures behind it
  double at_most = 1;                 ///< times faster without it
  std::vector<std::string> remedies;  ///< with what each may bring
  std::string next;                   ///< what limits it then; may be empty
};

/// A step on the way to the kernel.
struct LogNote {
  std::string what;            ///< the variant, its number and where it came from
  std::string who;             ///< proposed it
  std::string outcome_text;    ///< its time, or how it ended
  std::optional<double> gain;  ///< times as fast as the step before
};

/// What the sections of an explanation say in addition to what an evaluation has.
struct ExplanationParts {
  std::string approach;  ///< "wgmma, TMA, shared memory; 2 launches"
  std::vector<OptimisationNote> optimisations;
  std::vector<LaunchNote> launches;  ///< on the first shape
  std::vector<TunableNote> tunables;
  std::vector<LimitNote> limits;
  std::vector<LogNote> lineage;  ///< what it was made from, the oldest first; itself last
  std::vector<LogNote> leads;    ///< what took the lead in its search
  std::string ported;            ///< from where, and what it took there; empty: it was not ported
};

[[nodiscard]] std::string optimisations_section(const ExplanationParts& parts);
[[nodiscard]] std::string limits_section(const ExplanationParts& parts, bool emulated);
[[nodiscard]] std::string log_section(const ExplanationParts& parts);

/// The floor over the time: "87 %".
[[nodiscard]] std::string part_of_floor(double time_ns, double floor_ns);

/// "640 ns", "12.35 us", "1.234 ms".
[[nodiscard]] std::string time_text(double time_ns);

}  // namespace ak::codegen
