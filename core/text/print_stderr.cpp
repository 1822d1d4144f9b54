// SPDX-License-Identifier: Apache-2.0
#include "core/text/print_stderr.h"

#include "core/text/shown_text.h"
#include "core/text/terminal.h"

namespace ak {
namespace {

constexpr std::size_t kMaxLoggedLineBytes = 16u << 10;  // nobody reads a longer one; chosen

}  // namespace

void write_stderr(std::string_view text) { write_above_block(shown_text(text, kMaxLoggedLineBytes)); }

}  // namespace ak
