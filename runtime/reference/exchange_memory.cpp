// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/exchange_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace ak::runtime {

ExchangeMemory::ExchangeMemory() : file_(::memfd_create("tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  // Sealed, so that the other process cannot cut off what this one has mapped.
  const bool made = file_ && ::ftruncate(file_.get(), kExchangeBytes) == 0 &&
                    ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  void* const memory =
      made ? ::mmap(nullptr, kExchangeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0) : MAP_FAILED;
  if (memory == MAP_FAILED)
    fail(ExitCode::environment, "making memory to share with a process: {}", std::strerror(errno));
  memory_ = static_cast<std::byte*>(memory);
}

ExchangeMemory::~ExchangeMemory() { ::munmap(memory_, kExchangeBytes); }

}  // namespace ak::runtime
