// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/package_compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <thread>

#include "core/error.h"
#include "runtime/process/program_output.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

// A launcher of many launches takes seconds (measured: 2 s for 40); a loaded machine some times that (chosen).
constexpr std::chrono::minutes kCompileLimit{5};

std::string compiler_command(const std::string& named) {
  if (!named.empty()) return named;
  const char* const environment = std::getenv("CXX");
  return environment != nullptr && *environment != '\0' ? environment : "c++";
}

/// Of the user's environment what a compiler needs.
std::vector<std::string> environment() {
  std::vector<std::string> list;
  for (const char* name : {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH"})
    if (const char* value = std::getenv(name)) list.push_back(fmt::format("{}={}", name, value));
  return list;
}

/// What its command fails with; empty: nothing.
std::string failure(const std::vector<std::string>& command) {
  const Result<std::string> output =
      runtime::output_of(command, environment(), kCompileLimit, {.last_words = true});
  return output.ok() ? "" : output.error().message;
}

std::string object_of(const std::string& file) { return file + ".o"; }

}  // namespace

void require_compiler(const std::string& command) { static_cast<void>(PackageCompiler(command)); }

PackageCompiler::PackageCompiler(const std::string& command) : command_(compiler_command(command)) {
  const std::string why = failure({command_, "--version"});
  if (!why.empty())
    fail(ExitCode::environment,
         "the library's launcher is compiled by a C++ compiler, and '{}' does not run: {}; install one or "
         "name "
         "it with --compiler",
         command_, why);
}

void PackageCompiler::compile(const fs::path& folder, const std::vector<std::string>& files) const {
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t begin = 0; begin < files.size(); begin += threads) {
    std::vector<std::future<std::string>> running;
    const std::size_t end = std::min(begin + threads, files.size());
    for (std::size_t i = begin; i < end; ++i)
      running.push_back(std::async(std::launch::async, [&, i] {
        // Machine code is included by paths below the folder.
        return failure({command_, "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w", "-I",
                        folder.string(), fmt::format("-Wa,-I,{}", folder.string()), "-c",
                        (folder / files[i]).string(), "-o", (folder / object_of(files[i])).string()});
      }));
    std::string wrong;
    for (auto& one : running)
      if (const std::string why = one.get(); !why.empty() && wrong.empty()) wrong = why;
    if (!wrong.empty()) fail(ExitCode::environment, "the library's launcher does not compile: {}", wrong);
  }
}

void PackageCompiler::link(const fs::path& folder, const std::vector<std::string>& files,
                           const fs::path& output, const std::vector<std::string>& options) const {
  std::vector<std::string> command{command_, "-shared", "-o", output.string()};
  for (const std::string& file : files) command.push_back((folder / object_of(file)).string());
  command.insert(command.end(), options.begin(), options.end());
  if (const std::string why = failure(command); !why.empty())
    fail(ExitCode::environment, "the library's launcher does not link: {}", why);
}

}  // namespace ak::app
