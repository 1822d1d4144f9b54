// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/text/json.h"

namespace ak {

/// What is to be seen of a candidate's launches.
struct ProfileOptions {
  std::vector<std::string> metrics;  ///< by the hardware's names ("dram__bytes_read.sum")
  bool sample_lines = false;         ///< where warps spend their time, line by line
};

/// Hardware metrics of one launch by name, e.g. "dram/bytes_read". The metric catalogue of profiler lists the
/// names, units and meanings; one that was not measured is missing.
using Metrics = std::map<std::string, double>;

/// Samples of warps' program counters that fell on one line of the candidate's file, by stall reason
/// ("long_scoreboard", "barrier", ...; "selected": the warp was issuing).
struct LineSamples {
  int line = 0;  ///< 0: code of no line of that file (headers, the compiler's own)
  std::map<std::string, std::uint64_t> samples;
};

/// What was seen of one launch of a candidate's plan.
struct LaunchProfile {
  std::string kernel;  ///< as the plan names it
  Metrics metrics;
  std::vector<LineSamples> lines;  ///< in order of lines; empty: not sampled
};

/// What was seen of one workload.
struct Profile {
  std::string workload;
  std::string method;                        ///< "cupti" or "emulator"
  std::vector<LaunchProfile> launches;       ///< in the plan's order
  std::map<std::string, std::string> units;  ///< of the metrics, by name
  std::vector<std::string> degradation;      ///< why something asked for is missing; empty: it is all there
  int passes = 0;                            ///< calls of the sequence that the metrics took
  double setup_ms = 0, collect_ms = 0;       ///< host time: of getting ready once, and of the passes
};

[[nodiscard]] Json to_json(const ProfileOptions& profile_options);
[[nodiscard]] ProfileOptions profile_options_from_json(const Json& json);
[[nodiscard]] Json to_json(const Profile& profile);
[[nodiscard]] Profile profile_from_json(const Json& json);

}  // namespace ak
