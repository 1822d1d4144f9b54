// SPDX-License-Identifier: Apache-2.0
#include "core/text/print_stderr.h"

#include <cstdio>

#include "core/text/shown_text.h"

namespace ak {
namespace {

constexpr std::size_t kMaxLoggedLineBytes = 16u << 10;  // nobody reads a longer one; chosen

}  // namespace

void control_stderr(std::string_view sequence) {
  static_cast<void>(std::fwrite(sequence.data(), 1, sequence.size(), stderr));
}

void write_stderr(std::string_view text) { control_stderr(shown_text(text, kMaxLoggedLineBytes)); }

}  // namespace ak
