// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "core/text/file.h"

namespace ak::runtime {

/// Bytes of a slice in which tensors pass between a device worker and its reference process through memory of the host.
/// Pages that no tensor reached take no memory. Slices of more are no faster (chosen, untested).
inline constexpr std::size_t kExchangeBytes = std::size_t{64} << 20;

/// Memory that a child process maps too: a file without a name.
class ExchangeMemory {
 public:
  /// Throws Error(environment).
  ExchangeMemory();
  ~ExchangeMemory();
  ExchangeMemory(const ExchangeMemory&) = delete;
  ExchangeMemory& operator=(const ExchangeMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_, kExchangeBytes}; }
  [[nodiscard]] int descriptor() const { return file_.get(); }

 private:
  FileDescriptor file_;
  std::byte* memory_ = nullptr;
};

}  // namespace ak::runtime
