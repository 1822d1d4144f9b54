// SPDX-License-Identifier: Apache-2.0
#include "tools/guarded_main.h"

#include <CLI/Error.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "core/error.h"
#include "core/text/print_stderr.h"

namespace ak::tools {
namespace {

constexpr const char* kOutputLost = "cannot write to standard output";

/// What is not an Error.
int unexpected(const std::exception& error) {
  const bool output_lost = std::ferror(stdout) != 0;  // fmt throws what the system says of a full disk
  if (output_lost) print_stderr("error: {}: {}\n", kOutputLost, error.what());
  if (!output_lost) print_stderr("bug: unexpected {}\n", error.what());
  return static_cast<int>(output_lost ? ExitCode::output : ExitCode::internal_error);
}

/// Beyond a limit on the size of files (ulimit -f) the signal would end the program in the middle of its work: with a
/// handler the write fails instead, as on a full disk. Programs that this one starts have the default again.
void fail_at_the_limit_of_files() {
  std::signal(SIGXFSZ, [](int) {});
}

}  // namespace

int guarded_main(const std::function<int()>& body) {
  fail_at_the_limit_of_files();
  try {
    const int code = body();
    // A full disk behind stdout must not look like success.
    if (std::fflush(stdout) != 0) fail(ExitCode::output, "{}", kOutputLost);
    return code;
  } catch (const Error& error) {
    print_stderr("error: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::filesystem::filesystem_error& error) {
    // The standard library's own: a link to itself, a folder that may not be entered, a file that went away.
    print_stderr("error: cannot use {}: {}\n", error.path1().string(), error.code().message());
    return static_cast<int>(ExitCode::bad_input);
  } catch (const CLI::OptionAlreadyAdded& error) {
    // Options of our own differ from each other, in every run: the other one is a param's.
    print_stderr(
        "error: a param of the problem has the name of an option of this command ({}): rename it in "
        "problem.json\n",
        error.what());
    return static_cast<int>(ExitCode::bad_input);
  } catch (const std::exception& error) {
    return unexpected(error);
  }
}

}  // namespace ak::tools
