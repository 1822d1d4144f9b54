// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/device/arch.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/text/json.h"

namespace ak::app {

/// The fastest known point of one source on one shape and device.
struct BestPoint {
  std::string problem;     ///< family: "softmax"
  Json params;             ///< object: {"dtype": "bfloat16"}
  std::string definition;  ///< name: "softmax_bf16"
  std::string source;      ///< SHA-256: a key of BestPoints::sources
  TunableValues tunables;
  std::string workload;  ///< name of the shape
  AxisValues shape;
  std::string device;  ///< product name
  Arch arch;           ///< target of the compiler
  double time_ns = 0;  ///< median of a call; of a device of the CPU an estimated cost
  std::int64_t samples = 0;
  bool emulated = false;   ///< `time_ns` is such a cost
  bool confirmed = false;  ///< measured again, in its own process
  std::string date;        ///< ISO 8601 UTC
  Json provenance;         ///< where it was measured: database row ids, version, driver, host
};

/// A file of a kernel that points are of.
struct BestSource {
  std::string name;
  LaunchPlan plan;
};

struct BestPoints {
  std::map<std::string, BestSource> sources;  ///< by SHA-256
  std::vector<BestPoint> points;
};

/// The best points of everything a database holds; of one problem family only where it is named. Nothing when
/// there is no database. Throws Error(database).
[[nodiscard]] BestPoints best_points_of(const std::filesystem::path& database,
                                        const std::string& problem = "");

/// docs/tuning.md describes the file.
[[nodiscard]] Json to_json(const BestPoints& points);
/// Throws Error(bad_input) naming the file and what was expected, also for a newer version of the format.
[[nodiscard]] BestPoints read_best_points(const std::filesystem::path& file);

}  // namespace ak::app
