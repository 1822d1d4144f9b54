// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/loop.h"
#include "app/evaluate/kernel_choice.h"
#include "app/setup/config.h"
#include "app/setup/target.h"

namespace ak::app {

/// A kernel that is to be brought to another target or to other params of its problem.
struct PortOrigin {
  KernelChoice choice;
  std::string word;  ///< as the command line names it
};

/// What a search begins with when it ports a kernel: the origin where it can be built for the target, else
/// the best relative in the database that can. Nothing else of the search changes.
struct Port {
  std::vector<Candidate> candidates;             ///< to be searched first: one, or none where nothing builds
  std::vector<agent::FirstPoint> first_points;   ///< other good points of the first of them
  std::map<std::size_t, agent::Origin> origins;  ///< of `candidates`, by index
  std::string from;                ///< "from variant 12 (softmax_bf16 for sm_90a, 12.30 us on ...)"
  std::vector<std::string> notes;  ///< what could not be ported, and why; what was changed
  std::string device;              ///< where the origin was timed; empty: it was not
  std::optional<double> origin_ns;
};

/// Throws Error(usage) where the kernel is for another problem; blocks while candidates are built.
[[nodiscard]] Port port_kernel(const PortOrigin& origin,
                               const std::shared_ptr<const ProblemInstance>& problem, const Target& target,
                               const Config& config, const std::filesystem::path& database);

/// For a language model: what the first candidate was made for, and what for now.
[[nodiscard]] std::string port_lesson(const Port& port, const ProblemInstance& problem, const Target& target);

/// The port for k.result.json. @param account it and the result, in words
[[nodiscard]] Json port_json(const Port& port, const std::string& account);

/// The point of the candidate's plan that is nearest to its own among those that can run on `device`: fewest
/// tunables changed, then by the least ratio of values. Of a plan whose space is refused it is its own or none. Errors:
/// no point can, the space is refused (plan_space()).
[[nodiscard]] Result<TunableValues> nearest_point(const Candidate& candidate, const ProblemInstance& problem,
                                                  const DeviceFacts& device, const Arch& arch);

}  // namespace ak::app
