// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/cuda/driver.h"

namespace ak::test {

/// A driver that counts live handles and fails the n-th call that may fail. Only what buffers
/// and modules use.
struct FakeDriver {
  int calls_before_failure = -1;  ///< 0: the next call fails; below 0: none does
  int live = 0;                   ///< allocations, modules, streams, events, mappings, reservations

  struct Range {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
  };
  Range reserved, mapped;  ///< by the last calls that did

  FakeDriver();
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

 private:
  runtime::Driver table_;
  runtime::ScopedDriver installed_;
};

}  // namespace ak::test
