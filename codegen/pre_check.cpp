// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <set>

#include "codegen/assemble.h"
#include "codegen/include_scan.h"

namespace ak::codegen {
namespace {

/// Folders of the toolkit whose headers candidates may include.
constexpr std::array<std::string_view, 8> kHeaderFolders{
    "cuda/", "cooperative_groups/", "cub/", "nv/", "crt/", "thrust/", "cccl/", "cuda/std/"};
/// Headers of libraries that run on the host: including one is a misunderstanding worth a sentence.
constexpr std::array<std::string_view, 8> kHostHeaders{"torch/", "ATen/",    "c10/",   "vector",
                                                       "string", "iostream", "chrono", "thread"};

bool starts_with_any(const std::string& name, const auto& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.rfind(prefix, 0) == 0; });
}

Diagnostic error_at(int line, std::string message) {
  return {.severity = "error", .message = std::move(message), .line = line, .column = 0};
}

void check_include(const IncludeLine& include, std::vector<Diagnostic>& found) {
  if (include.name.empty()) {
    found.push_back(
        error_at(include.line, "an include must name its header in <> or \"\", not through a macro"));
  } else if (include.name.front() == '/' || include.name.find("..") != std::string::npos) {
    found.push_back(error_at(
        include.line,
        fmt::format("the header '{}' is outside the CUDA toolkit; a candidate is one self-contained file",
                    include.name)));
  } else if (starts_with_any(include.name, kHostHeaders) && include.name.find(".h") == std::string::npos) {
    found.push_back(
        error_at(include.line, fmt::format("<{}> is a host header; a candidate is device code only: memory, "
                                           "launch and timing belong to the harness",
                                           include.name)));
  } else if (include.name.find('/') != std::string::npos && !starts_with_any(include.name, kHeaderFolders)) {
    found.push_back(
        error_at(include.line, fmt::format("the header '{}' is not part of the CUDA toolkit", include.name)));
  }
}

struct HostPattern {
  const char* pattern;
  const char* message;
};
constexpr HostPattern kHostPatterns[] = {
    {R"(<<<)",
     "kernels are launched by the harness as the launch plan says; remove the <<<...>>> launch and list it "
     "under \"launches\""},
    {R"(\b(int|void|auto)\s+main\s*\()",
     "remove main(): a candidate is device code only, and the harness calls the kernels"},
    {R"(\bcuda(Malloc|Memcpy|Memset|Free|Stream|Event|DeviceSynchronize|GetLastError|LaunchKernel|FuncSetAttribute)\w*\s*\()",
     "the CUDA runtime is host code: the harness owns memory, launches and synchronisation (use "
     "\"workspace\" for scratch memory)"},
    {R"(\bstd\s*::\s*(vector|string|cout|cerr|thread|unique_ptr)\b)",
     "this standard library type needs the host; device code has plain arrays and shared memory"},
    {R"(\b(torch|at|c10)\s*::)",
     "PyTorch is host code; write the kernel alone and list its arguments in the launch plan"},
};

int line_at(const std::string& text, std::ptrdiff_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + offset, '\n'));
}

void check_host_code(const std::string& code, std::vector<Diagnostic>& found) {
  for (const HostPattern& entry : kHostPatterns) {
    std::smatch match;
    if (std::regex_search(code, match, std::regex(entry.pattern)))
      found.push_back(error_at(line_at(code, match.position()), entry.message));
  }
}

std::set<std::string> tensor_names(const ProblemInstance& problem) {
  std::set<std::string> names;
  for (const TensorSpec& tensor : problem.definition.inputs) names.insert(tensor.name);
  for (const TensorSpec& tensor : problem.definition.outputs) names.insert(tensor.name);
  return names;
}

void check_plan(const ProblemInstance& problem, const LaunchPlan& plan, std::vector<Diagnostic>& found) {
  std::set<std::string> names = tensor_names(problem);
  const std::set<std::string> tensors = names;
  for (const WorkspacePlan& workspace : plan.workspace) {
    if (!names.insert(workspace.name).second)
      found.push_back(error_at(1, fmt::format("launch plan: two things are called '{}'", workspace.name)));
  }
  for (const TensorMapPlan& map : plan.tensor_maps) {
    if (!names.contains(map.tensor))
      found.push_back(error_at(1, fmt::format("launch plan: tensor map '{}' describes unknown tensor '{}'",
                                              map.name, map.tensor)));
    if (!names.insert(map.name).second)
      found.push_back(error_at(1, fmt::format("launch plan: two things are called '{}'", map.name)));
  }
  const Environment known = problem.environment({});
  for (const Tunable& tunable : plan.tunables) {
    const bool axis = std::any_of(problem.definition.axes.begin(), problem.definition.axes.end(),
                                  [&](const Axis& a) { return a.name == tunable.name; });
    if (axis || known.contains(tunable.name))
      found.push_back(error_at(
          1,
          fmt::format("launch plan: the tunable '{}' has the name of an axis or parameter", tunable.name)));
  }
  for (const LaunchPlanEntry& launch : plan.launches) {
    for (const ArgumentPlan& argument : launch.arguments) {
      const auto* named = std::get_if<NamedArgument>(&argument);
      if (!named || names.contains(named->name)) continue;
      found.push_back(
          error_at(1, fmt::format("launch plan: kernel '{}' is passed unknown '{}'; tensors are {}, scalars "
                                  "are written {{\"i32\": \"{}\"}}",
                                  launch.kernel, named->name, fmt::join(tensors, ", "), named->name)));
    }
  }
}

}  // namespace

std::vector<Diagnostic> pre_check(const ProblemInstance& problem, const Candidate& candidate) {
  std::vector<Diagnostic> found;
  for (const IncludeLine& include : scan_includes(candidate.source)) check_include(include, found);
  check_host_code(blank_comments_and_strings(candidate.source), found);
  check_plan(problem, candidate.plan, found);
  return found;
}

}  // namespace ak::codegen
