// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry. The name by which the program is called is that of the target: fuzz_ptx, fuzz_plan ...
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/fuzz/fuzz_targets.h"

namespace {

const ak::fuzz::FuzzTarget* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  const std::string name = std::filesystem::path((*argv)[0]).filename().string();
  for (const ak::fuzz::FuzzTarget& one : ak::fuzz::fuzz_targets())
    if (name == "fuzz_" + std::string(one.name)) target = &one;
  if (target) return 0;
  std::cerr << "fuzz: no target is called '" << name << "'; expected fuzz_NAME, NAME one of:";
  for (const ak::fuzz::FuzzTarget& one : ak::fuzz::fuzz_targets()) std::cerr << ' ' << one.name;
  std::cerr << '\n';
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
