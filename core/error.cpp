// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/text/print_stderr.h"

#include <cstdio>
#include <cstdlib>

namespace ak {

void assertion_failed(const char* condition, std::string_view meaning, const char* file, int line) {
  print_stderr("bug: {} [{}] at {}:{}\n", meaning, condition, file, line);
  std::abort();
}

}  // namespace ak
