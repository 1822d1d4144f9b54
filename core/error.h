// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ak {

/// Exit code of every executable. A public interface: documented in docs/exit_codes.md, never renumbered.
enum class ExitCode : int {
  ok = 0,
  internal_error = 1,  ///< a bug in AlphaKernel
  usage = 2,           ///< unknown flag, algorithm, shape, dtype or arch
  bad_input = 3,       ///< a file given by the user is missing or malformed
  no_kernel = 4,       ///< the run ended and no candidate was verified (or the evaluated file failed)
  environment = 5,     ///< CUDA toolkit, driver or device missing or unusable
  database = 6,        ///< not a database, newer schema, locked past the timeout, or disk full
  output = 7,          ///< an output file cannot be written
  expectation = 8,     ///< an experiment ran to its end and an expectation was not met
  audit = 9,           ///< a problem's checks accept a deliberate mistake, or reject its twin
  suspended = 10,      ///< a session waits for answers, and goes on with `session resume`
  interrupted = 130,   ///< stopped by Ctrl-C; the best verified kernel so far was written
};

/// Base of every exception AlphaKernel throws: the environment or the user's input failed, never a candidate
/// (that is an Outcome) and never a bug (that is AK_ASSERT). Caught in main and in the worker loop only.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Throws Error with a formatted message: what was being done, to which object, what was expected.
template <class... Args>
[[noreturn]] void fail(ExitCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// Where assertion_failed() writes instead of standard error, which stays open: that of a worker is a pipe to itself.
void report_bugs_to(int descriptor);
[[noreturn]] void assertion_failed(const char* condition, std::string_view meaning, const char* file,
                                   int line);

}  // namespace ak

/// Aborts with a message when a condition that only a bug can break does not hold. On in every build type.
#define AK_ASSERT(condition, meaning) \
  ((condition) ? static_cast<void>(0) : ::ak::assertion_failed(#condition, (meaning), __FILE__, __LINE__))
