// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "core/text/print_stderr.h"

namespace ak {
namespace {

std::atomic<int> bug_descriptor{STDERR_FILENO};

}  // namespace

void report_bugs_to(int descriptor) { bug_descriptor = descriptor; }

void assertion_failed(const char* condition, std::string_view meaning, const char* file, int line) {
  if (bug_descriptor != STDERR_FILENO) ::dup2(bug_descriptor, STDERR_FILENO);
  print_stderr("bug: {} [{}] at {}:{}\n", meaning, condition, file, line);
  std::abort();
}

}  // namespace ak
