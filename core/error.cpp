// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <cstdio>
#include <cstdlib>

namespace ak {

void assertion_failed(const char* condition, std::string_view meaning, std::source_location where) {
  fmt::print(stderr, "bug: {} [{}] at {}:{}\n", meaning, condition, where.file_name(), where.line());
  std::abort();
}

}  // namespace ak
