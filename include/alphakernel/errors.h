// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace alphakernel {

/// Why a call failed: the exit codes of the command line (docs/exit_codes.md), which never change.
enum class ErrorCode : int {
  internal_error = 1,  ///< a bug in AlphaKernel
  usage = 2,           ///< a request that makes no sense: an unknown problem, member, shape or device
  bad_input = 3,       ///< a file is missing or malformed
  no_kernel = 4,       ///< no candidate was verified
  environment = 5,     ///< CUDA toolkit, driver, device or the program for workers is missing or unusable
  database = 6,        ///< not a database, a newer schema, locked past the timeout, or the disk is full
  output = 7,          ///< a file cannot be written
  expectation = 8,     ///< an expectation of an experiment was not met
  audit = 9,           ///< a problem's checks accept a deliberate mistake
  suspended = 10,      ///< a session waits for answers to questions in a mailbox
  interrupted = 130,   ///< stopped
};

/// What every function throws when the caller or the environment did something wrong. A kernel that fails is
/// no error but an answer.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace alphakernel
