// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/python_installation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "core/error.h"
#include "core/text/json.h"
#include "core/text/suggest.h"
#include "reference_python_files.h"
#include "runtime/process/child_process.h"
#include "runtime/process/program_output.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "ALPHAKERNEL_PYTHON";
constexpr const char* kSystemPython = "/usr/bin/python3";
// An interpreter starts in a twentieth of a second, from a network's disk in seconds.
constexpr std::chrono::seconds kProbeLimit{30};
// What environments of Python are found by.
constexpr const char* kPythonVariables[] = {"PYTHONPATH", "VIRTUAL_ENV", "PYENV_ROOT", "PYENV_VERSION"};
constexpr std::size_t kMaxText = 4'096;

std::string probe_source() {
  const auto files = reference_python_files();
  const auto found = std::ranges::find(files, "installation.py", &EmbeddedFile::name);
  AK_ASSERT(found != files.end(), "installation.py is compiled in");
  return std::string(found->text);
}

std::string text_or_empty(const Json& json) {
  return json.is_string() ? sanitize(json.get_ref<const std::string&>(), kMaxText) : "";
}

std::vector<std::string> texts(const Json& json) {
  std::vector<std::string> list;
  for (const Json& item : json) list.push_back(item.get<std::string>());
  return list;
}

/// Interpreters to try, in order; the first alone where `named`.
struct Candidates {
  std::vector<std::string> programs;
  std::string named_by;  ///< empty: nobody named one
};

std::vector<std::string> on_path() {
  std::vector<std::string> programs;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  std::error_code error;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path program = fs::path(folder) / "python3";
    if (!folder.empty() && fs::exists(program, error)) programs.push_back(program.string());
  }
  programs.emplace_back(kSystemPython);
  return programs;
}

Candidates candidates(const std::string& wanted) {
  if (!wanted.empty()) return {{wanted}, "--python or the configuration"};
  const char* const variable = std::getenv(kVariable);
  if (variable != nullptr && *variable != '\0') return {{variable}, kVariable};
  return {on_path(), ""};
}

std::string lack_of(const PythonInstallation& python) {
  if (python.torch.empty()) return fmt::format("Python {} has no PyTorch", python.version);
  return fmt::format("Python {} has PyTorch {}", python.version, python.torch);
}

}  // namespace

std::optional<TorchVersion> PythonInstallation::torch_version() const {
  TorchVersion found;
  const char* const end = torch.data() + torch.size();
  const auto major = std::from_chars(torch.data(), end, found.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, found.minor);
  return minor.ec == std::errc() ? std::optional(found) : std::nullopt;
}

bool PythonInstallation::suits(TorchVersion least) const {
  const auto found = torch_version();
  return found && *found >= least;
}

std::span<const EmbeddedFile> reference_package() { return reference_python_files(); }

std::vector<std::string> python_environment() {
  std::vector<std::string> environment = child_environment(true);
  for (const char* name : kPythonVariables)
    if (const char* value = std::getenv(name)) environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

Result<PythonInstallation> examine_python(const std::string& program) {
  const auto output = output_of({program, "-B", "-c", probe_source()}, python_environment(), kProbeLimit);
  if (!output) return InputError{output.error().message};
  const Json facts = try_parse_json(*output);
  try {
    PythonInstallation python{.program = text_or_empty(facts.at("executable")),
                              .version = text_or_empty(facts.at("version")),
                              .torch = text_or_empty(facts.at("torch")),
                              .cuda = text_or_empty(facts.at("cuda")),
                              .path = texts(facts.at("path")),
                              .readable = texts(facts.at("readable"))};
    if (!fs::path(python.program).is_absolute()) return InputError{"does not say where it is"};
    return python;
  } catch (const Json::exception&) {
    return InputError{"is no Python interpreter"};
  }
}

PythonInstallation find_python(const std::string& wanted) {
  const Candidates tried = candidates(wanted);
  std::vector<std::string> findings;
  for (const std::string& program : tried.programs) {
    const auto python = examine_python(program);
    if (python && python->suits(kTorchForReferences)) return *python;
    std::string finding = fmt::format("{}: {}", program, python ? lack_of(*python) : python.error().message);
    if (std::ranges::find(findings, finding) == findings.end()) findings.push_back(std::move(finding));
  }
  fail(ExitCode::environment,
       "no Python with PyTorch {}.{} or newer, which a reference in Python needs: {}{}. Name one with "
       "--python, the configuration's key \"python\" or {}",
       kTorchForReferences.major, kTorchForReferences.minor, fmt::join(findings, "; "),
       tried.named_by.empty() ? "" : fmt::format(" (named by {})", tried.named_by), kVariable);
}

}  // namespace ak::runtime
