// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "codegen/source/assemble.h"
#include "core/plan/device_headers.h"
#include "core/plan/include_scan.h"
#include "core/text/suggest.h"
#include "shim_files.h"

namespace ak::codegen {
namespace {

/// Folders of the toolkit whose headers candidates may include.
constexpr std::array<std::string_view, 8> kHeaderFolders{
    "cuda/", "cooperative_groups/", "cub/", "nv/", "crt/", "thrust/", "cccl/", "cuda/std/"};
/// Headers of libraries that run on the host: including one is a misunderstanding worth a sentence.
constexpr std::array<std::string_view, 8> kHostHeaders{"torch/", "ATen/",    "c10/",   "vector",
                                                       "string", "iostream", "chrono", "thread"};
/// How names of the toolkit's headers outside of its folders begin that declare something for the device.
constexpr std::array<std::string_view, 13> kDeviceHeaders{
    "cuda_",    "cuda.",        "cooperative_groups", "mma.h",   "math_",    "sm_",
    "curand_",  "vector_types", "vector_functions",   "device_", "texture_", "surface_",
    "cuComplex"};

bool starts_with_any(const std::string& name, const auto& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.rfind(prefix, 0) == 0; });
}

Diagnostic error_at(int line, std::string message, Gate gate = Gate::source_rules) {
  return {.severity = "error", .message = std::move(message), .line = line, .column = 0, .gate = gate};
}

Diagnostic bad_include(int line, std::string message) {
  return error_at(line, std::move(message), Gate::includes);
}

int line_at(std::string_view text, std::size_t offset) {
  return 1 +
         static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

void check_device_header(const IncludeLine& include, std::vector<Diagnostic>& found) {
  std::vector<std::string> names;
  for (const EmbeddedFile& header : device_headers()) names.emplace_back(header.name);
  if (std::ranges::find(names, include.name) == names.end()) {
    found.push_back(
        bad_include(include.line, fmt::format("there is no device header '{}'{}; known: {}", include.name,
                                              did_you_mean(include.name, names), fmt::join(names, ", "))));
  } else if (!include.top_level) {
    found.push_back(bad_include(
        include.line,
        fmt::format("the device header '{}' is included inside of #if; include it outside", include.name)));
  }
}

void check_include(const IncludeLine& include, std::vector<Diagnostic>& found) {
  if (is_device_header(include.name)) return check_device_header(include, found);
  if (include.name.empty()) {
    found.push_back(
        bad_include(include.line, "an include must name its header in <> or \"\", not through a macro"));
  } else if (include.name.front() == '/' || include.name.find("..") != std::string::npos) {
    found.push_back(bad_include(
        include.line,
        fmt::format("the header '{}' is outside the CUDA toolkit; a candidate is one self-contained file",
                    include.name)));
  } else if (is_host_header(include.name)) {
    found.push_back(bad_include(include.line,
                                fmt::format("<{}> is a host header; a candidate is device code only: memory, "
                                            "launch and timing belong to the harness",
                                            include.name)));
  } else if (include.name.find('/') != std::string::npos && !starts_with_any(include.name, kHeaderFolders)) {
    found.push_back(bad_include(
        include.line, fmt::format("the header '{}' is not part of the CUDA toolkit", include.name)));
  }
}

// By these a candidate learns which files the machine has.
void check_oracles(const std::string& source, std::vector<Diagnostic>& found) {
  const std::string code = blank_comments_and_strings(source);
  for (const std::string_view oracle : {"__has_include", "__has_embed"}) {
    if (const std::size_t at = code.find(oracle); at != std::string::npos)
      found.push_back(bad_include(line_at(code, at), fmt::format("{} is not allowed", oracle)));
  }
}

constexpr const char* kNoLaunch =
    "kernels are launched by the harness as the launch plan says; remove the <<<...>>> launch and list it "
    "under \"launches\"";
constexpr const char* kNoMain =
    "remove main(): a candidate is device code only, and the harness calls the kernels";
constexpr const char* kNoRuntime =
    "the CUDA runtime is host code: the harness owns memory, launches and synchronisation (use \"workspace\" "
    "for scratch memory)";
constexpr const char* kNoHostTypes =
    "this standard library type needs the host; device code has plain arrays and shared memory";
constexpr const char* kNoFramework =
    "PyTorch is host code; write the kernel alone and list its arguments in the launch plan";

constexpr std::array<std::string_view, 11> kRuntimeCalls{"cudaMalloc",
                                                         "cudaMemcpy",
                                                         "cudaMemset",
                                                         "cudaFree",
                                                         "cudaStream",
                                                         "cudaEvent",
                                                         "cudaDeviceSynchronize",
                                                         "cudaGetLastError",
                                                         "cudaLaunchKernel",
                                                         "cudaFuncSetAttribute",
                                                         "cudaSetDevice"};
constexpr std::array<std::string_view, 7> kHostTypes{"vector", "string",     "cout",      "cerr",
                                                     "thread", "unique_ptr", "shared_ptr"};
constexpr std::array<std::string_view, 3> kFrameworks{"torch", "at", "c10"};

bool is_one_of(std::string_view word, const auto& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// An identifier of a source text and what is around it.
struct Word {
  std::string_view text, before;  ///< before: the identifier in front, with only blanks between
  std::string_view scope;         ///< the name in front of a "::" before this one
  bool called = false;            ///< followed by "("
  bool scopes = false;            ///< followed by "::"
  std::size_t offset = 0;
};

/// What is wrong with one identifier as device code; null when nothing is.
const char* host_error(const Word& word) {
  if (word.called && word.text == "main" &&
      (word.before == "int" || word.before == "void" || word.before == "auto"))
    return kNoMain;
  if (word.called && starts_with_any(std::string(word.text), kRuntimeCalls)) return kNoRuntime;
  if (word.scope == "std" && is_one_of(word.text, kHostTypes)) return kNoHostTypes;
  if (word.scopes && is_one_of(word.text, kFrameworks)) return kNoFramework;
  return nullptr;
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Calls `visit` for every identifier or number of `code`, in order.
template <class Visit>
void for_each_word(std::string_view code, Visit visit) {
  std::string_view previous, scope;
  for (std::size_t at = 0; at < code.size();) {
    if (!is_word_character(code[at])) {
      if (code.substr(at, 2) == "::") {
        scope = previous;
        ++at;
      } else if (code[at] != ' ' && code[at] != '\n' && code[at] != '\t') {
        scope = {};
        previous = {};
      }
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < code.size() && is_word_character(code[end])) ++end;
    const std::size_t next = std::min(code.find_first_not_of(" \t\n", end), code.size());
    const std::string_view text = code.substr(at, end - at);
    visit(Word{text, previous, scope, code.substr(next, 1) == "(", code.substr(next, 2) == "::", at});
    previous = text;
    scope = {};
    at = end;
  }
}

/// Each kind of mistake once, at its first place.
void check_host_code(const std::string& code, std::vector<Diagnostic>& found) {
  std::set<std::string_view> reported;
  const auto tell = [&](std::size_t offset, const char* message) {
    if (reported.insert(message).second) found.push_back(error_at(line_at(code, offset), message));
  };
  if (const std::size_t launch = code.find("<<<"); launch != std::string::npos) tell(launch, kNoLaunch);
  for_each_word(code, [&](const Word& word) {
    if (const char* message = host_error(word)) tell(word.offset, message);
  });
}

std::set<std::string> tensor_names(const ProblemInstance& problem) {
  std::set<std::string> names;
  for (const TensorSpec& tensor : problem.definition.inputs) names.insert(tensor.name);
  for (const TensorSpec& tensor : problem.definition.outputs) names.insert(tensor.name);
  return names;
}

void check_arguments(const LaunchPlanEntry& launch, const std::set<std::string>& names,
                     const std::set<std::string>& tensors, std::vector<Diagnostic>& found) {
  for (const ArgumentPlan& argument : launch.arguments) {
    const auto* named = std::get_if<NamedArgument>(&argument);
    if (!named || names.contains(named->name)) continue;
    found.push_back(
        error_at(1, fmt::format("launch plan: kernel '{}' is passed unknown '{}'; tensors are {}, scalars "
                                "are written {{\"i32\": \"{}\"}}",
                                launch.kernel, named->name, fmt::join(tensors, ", "), named->name)));
  }
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
  for (const auto* launches : {&plan.prepare, &plan.launches})
    for (const LaunchPlanEntry& launch : *launches) check_arguments(launch, names, tensors, found);
}

}  // namespace

bool is_host_header(std::string_view name) {
  // Headers of the library have no ending; a user's "vector_ops.h" is none of them.
  const bool of_framework = name.find('/') != std::string_view::npos;
  return starts_with_any(std::string(name), kHostHeaders) &&
         (of_framework || name.find(".h") == std::string_view::npos);
}

bool is_toolkit_header(std::string_view name) {
  if (is_host_header(name) || name.find("..") != std::string_view::npos) return false;
  const bool ours = std::ranges::any_of(
      shim_files(), [&](const EmbeddedFile& shim) { return shim.name == fmt::format("shims/{}", name); });
  return ours || starts_with_any(std::string(name), name.find('/') == std::string_view::npos
                                                        ? std::span<const std::string_view>(kDeviceHeaders)
                                                        : std::span<const std::string_view>(kHeaderFolders));
}

const char* host_mistake(std::string_view code) {
  if (code.find("<<<") != std::string_view::npos) return kNoLaunch;
  const char* found = nullptr;
  for_each_word(code, [&](const Word& word) {
    if (found == nullptr) found = host_error(word);
  });
  return found;
}

std::vector<Diagnostic> pre_check(const ProblemInstance& problem, const Candidate& candidate) {
  std::vector<Diagnostic> found;
  if (gate_enabled(Gate::includes)) {
    for (const IncludeLine& include : scan_includes(candidate.source)) check_include(include, found);
    check_oracles(candidate.source, found);
  }
  if (gate_enabled(Gate::source_rules)) check_host_code(blank_comments_and_strings(candidate.source), found);
  check_plan(problem, candidate.plan, found);
  return found;
}

}  // namespace ak::codegen
