// SPDX-License-Identifier: Apache-2.0
#include "codegen/emit/stand_alone_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ak::codegen {
namespace {

/// What Nsight Compute calls a kernel by default: its name without namespaces and template arguments.
std::string function_name(const std::string& expression) {
  const std::string name = expression.substr(0, expression.find('<'));
  const std::size_t space = name.rfind("::");
  return space == std::string::npos ? name : name.substr(space + 2);
}

// In single quotes; a quote of its own ends them, stands escaped, and begins them again.
std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::set<std::string> names_of(const ResolvedPlan& plan) {
  std::set<std::string> names;
  for (const ResolvedLaunch& launch : plan.launches) names.insert(function_name(launch.kernel));
  return names;
}

/// Launches of the references that the kernel's names match, too: exact and in low precision.
std::ptrdiff_t launches_before(const std::set<std::string>& names, const ResolvedPlan& reference) {
  constexpr std::ptrdiff_t kReferences = 2;
  return kReferences * std::ranges::count_if(reference.launches, [&](const ResolvedLaunch& launch) {
           return names.contains(function_name(launch.kernel));
         });
}

}  // namespace

// nvcc's `native` and `-arch=sm_90a` also compile for plain compute_90, which lacks the
// instructions of sm_90a.
std::string nvcc_target(const Arch& arch) {
  if (arch.feature == 0) return "-arch=native";
  return fmt::format("-gencode arch=compute_{0},code=sm_{0}", arch.sm().substr(3));
}

std::string nvcc_flag(const std::string& option) {
  if (option == "fast_math") return "--use_fast_math";
  if (option == "ftz") return "--ftz=true";
  if (option.starts_with("maxrregcount=")) return "--" + option;
  const std::size_t end = option.find("_false");
  if (end == std::string::npos) return "--extra-device-vectorization";
  std::string name = option.substr(0, end);
  std::ranges::replace(name, '_', '-');
  return "--" + name + "=false";
}

std::string stand_alone_commands(const std::string& stem, const ProfiledWorkload& profiled,
                                 const std::string& checked) {
  const std::set<std::string> names = names_of(*profiled.kernel);
  const std::ptrdiff_t skipped = launches_before(names, *profiled.reference);
  std::string text = fmt::format(
      "ncu --set full --import-source yes --kernel-name {} {}--launch-count {} -f -o {}_ncu "
      "./{}_test --no-time --workload {}\n"
      "ncu --import {}_ncu.ncu-rep --page source --print-source cuda,sass --csv\n",
      shell_quoted(fmt::format("regex:^({})$", fmt::join(names, "|"))),
      skipped == 0 ? "" : fmt::format("--launch-skip {} ", skipped), profiled.kernel->launches.size(), stem,
      stem, shell_quoted(profiled.name), stem);
  for (const char* tool : {"memcheck", "racecheck", "initcheck", "synccheck"})
    text += fmt::format("compute-sanitizer --tool {} ./{}_test --no-time --workload {}\n", tool, stem,
                        shell_quoted(checked));
  return text;
}

}  // namespace ak::codegen
