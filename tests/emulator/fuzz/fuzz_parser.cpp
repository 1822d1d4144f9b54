// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "emulator/parse/parser.h"

/// libFuzzer's entry. Every text is also tried behind a module's header, which few mutations would find.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ak::ptx::parse(text);
  (void)ak::ptx::parse(std::string(".version 9.0 .target sm_90 .address_size 64\n").append(text));
  return 0;
}
