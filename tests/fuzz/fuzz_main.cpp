// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry; AK_FUZZ_TARGET names the target.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const ak::fuzz::FuzzTarget& target : ak::fuzz::fuzz_targets()) {
    if (target.name == AK_FUZZ_TARGET) target.run({reinterpret_cast<const char*>(data), size});
  }
  return 0;
}
