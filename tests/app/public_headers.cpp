// SPDX-License-Identifier: Apache-2.0
// Compiled as C++17 without extensions and with all warnings: what the headers promise to those who include them.
#include <alphakernel/errors.h>
#include <alphakernel/library.h>
#include <alphakernel/operations.h>
#include <alphakernel/values.h>

static_assert(__cplusplus < 202002L, "the headers are tried in C++17");

std::size_t members_of_answers();

/// Every struct's members can be visited.
std::size_t members_of_answers() {
  std::size_t count = 0;
  const auto visitor = [&count](const char*, const auto&) { ++count; };
  const auto visit = [&visitor](auto answer) { decltype(answer)::visit(answer, visitor); };
#define VISIT(name, Type) visit(alphakernel::Type##Answer());
  ALPHAKERNEL_OPERATIONS(VISIT)
#undef VISIT
  return count;
}
