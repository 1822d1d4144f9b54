// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "codegen/problem/problem_catalog.h"
#include "core/device/arch.h"
#include "core/plan/candidate.h"
#include "core/text/file.h"

namespace ak::codegen::shipped {

inline constexpr Arch kAmpere{8, 0, 0}, kHopper{9, 0, 'a'};

inline std::shared_ptr<const ProblemInstance> problem_of(const std::string& name,
                                                         const std::map<std::string, std::string>& params) {
  const Problem problem = load_problem(find_problem(name));
  return instantiate(problem, choose_params(problem, params));
}
inline std::shared_ptr<const ProblemInstance> problem_of(const std::string& name, const std::string& dtype) {
  return problem_of(name, std::map<std::string, std::string>{{"dtype", dtype}});
}

inline Candidate template_of(const ProblemInstance& problem, const std::string& file_name) {
  for (const CandidateFile& file : problem.templates)
    if (file.name == file_name) return parse_candidate(file.name, file.source).value();
  FAIL("no template " << file_name);
  return {};
}

/// A command of the shell that has ended.
struct Ended {
  int exit_code;
  std::string output;
};

inline Ended shell(const std::filesystem::path& folder, const std::string& command) {
  const std::string line = fmt::format("cd '{}' && {{ {}; }} > output.txt 2>&1", folder.string(), command);
  const int status = std::system(line.c_str());
  return {WEXITSTATUS(status), read_file(folder / "output.txt")};
}

inline bool nvcc_is_missing() {
  static const bool missing = std::system("nvcc --version > /dev/null 2>&1") != 0;
  if (missing) WARN("skipped: there is no nvcc on PATH, so files are not compiled");
  return missing;
}

}  // namespace ak::codegen::shipped
