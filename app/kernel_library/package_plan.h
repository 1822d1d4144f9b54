// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plan/problem.h"
#include "core/text/json.h"

namespace ak::app {

/// An operator that a library is to have.
struct PackageEntry {
  std::string name;    ///< of the operator; empty: the definition's
  std::string kernel;  ///< as choose_kernel() takes it; empty: the best of a definition
  std::string problem = {};
  std::string place = {};                          ///< in the plan's file, for messages; empty: it is of none
  std::string phase = {};                          ///< of the model's step, as the plan names it
  std::map<std::string, std::string> params = {};  ///< param -> the text of its flag
  std::vector<Json> axes = {};                     ///< the shapes that the plan names
  double share = 0;  ///< of the time of its steps, added, as the plan estimates it
};

/// The operators of a plan as `alphakernel library plan --json` writes it, each once with all of its shapes; one that is
/// another kernel in every phase has their names, too ("attention_decode"). Rows whose algorithm is "other" are left out.
/// Throws Error(bad_input) with what is wrong.
[[nodiscard]] std::vector<PackageEntry> package_plan(const std::filesystem::path& file);

/// A session that tunes entries on their shapes.
struct TuningOrder {
  std::vector<PackageEntry> entries;
  std::string arch;    ///< that it is for; empty: this machine's
  std::string device;  ///< a --device; empty: the machine's
  int minutes;         ///< of all searches together; checking what they find comes on top
  std::vector<std::filesystem::path> problems = {};  ///< folders of problems that are not shipped
  bool unaudited = false;
};

/// A manifest of it: those that take most of the model's time first and longest. Each has its own minutes: with one time for
/// all, a first kernel that took longer left none for the others.
[[nodiscard]] Json tuning_manifest(const TuningOrder& order);

}  // namespace ak::app
