// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/text/say.h"

#include <cstdio>
#include <cstdlib>

namespace ak {

void assertion_failed(const char* condition, std::string_view meaning, const char* file, int line) {
  say("bug: {} [{}] at {}:{}\n", meaning, condition, file, line);
  std::abort();
}

}  // namespace ak
