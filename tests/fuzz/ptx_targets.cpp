// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <string>

#include "emulator/parse/parser.h"
#include "runtime/precision/precision_flow.h"
#include "tests/emulator/check/hostile_run.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ak::fuzz {
namespace {

void follow_data(std::string_view text) {
  if (const auto module = emulator::parse(text)) (void)runtime::find_narrowed_use(*module, {});
}

}  // namespace

/// Every text is also tried behind a module's header, which few mutations would find.
void read_ptx(std::string_view input) {
  follow_data(input);
  follow_data(std::string(".version 9.0 .target sm_90 .address_size 64\n").append(input));
}

/// The last eight bytes choose how the kernels of the text are run.
void execute_ptx(std::string_view input) {
  std::uint64_t choices = 0;
  if (input.size() >= sizeof choices)
    std::memcpy(&choices, input.data() + input.size() - sizeof choices, sizeof choices);
  static emulator::test::HostileCounts counts;
  emulator::test::run_hostile(input, choices, counts);
}

}  // namespace ak::fuzz
