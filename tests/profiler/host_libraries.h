// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>

/// Whether CUPTI can open what it needs for a chip's metrics; where not, that is said.
inline bool host_libraries_load() {
#if defined(__SANITIZE_ADDRESS__)
  WARN("not tested: CUPTI opens a library with RTLD_DEEPBIND, at which AddressSanitizer ends the program");
  return false;
#else
  return true;
#endif
}
