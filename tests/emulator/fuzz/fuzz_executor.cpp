// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tests/emulator/check/hostile_run.h"

/// libFuzzer's entry: PTX, the last eight bytes of which choose how it is run.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::uint64_t choices = 0;
  if (size >= sizeof choices) std::memcpy(&choices, data + size - sizeof choices, sizeof choices);
  static ak::ptx::test::HostileCounts counts;
  ak::ptx::test::run_hostile(text, choices, counts);
  return 0;
}
