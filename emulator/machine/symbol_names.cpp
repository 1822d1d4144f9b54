// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/symbol_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace ak::emulator {

std::optional<std::string> demangled(const std::string& symbol) {
  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }
  };
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status));
  if (status != 0 || text == nullptr) return std::nullopt;
  return text.get();
}

}  // namespace ak::emulator
