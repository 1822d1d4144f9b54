// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/exit_codes.h"
#include "tools/manual/reference_pages.h"

namespace ak::tools {
namespace {

constexpr const char* kBefore =
    R"(# Exit codes

Every executable ends with one of these codes.
They are a public interface: scripts may rely on them, and a code is never given another meaning.
The text on standard error says what was being done, to which object, and what was expected.
The table is generated: `alphakernel manual --docs docs` writes this page.

| code | name | what happened | what to do |
|---:|---|---|---|
)";
constexpr const char* kAfter =
    R"(
An overnight session ([sessions.md](sessions.md)) ends with the code of what ended it: 5 for a device that did not come back, 6 for a full disk or its database, 10 where it waits for answers, 130 where it was stopped; else with the first code of its searches that is not 0.

Two endings come from the system, not from this table: 134 (the process aborted: an assertion failed, which is a bug, to be reported like code 1) and 137 (the system killed it, mostly for want of memory: ask for fewer workers).

A candidate that fails is not an error of the command.
It ends with a status (`compile_error`, `incorrect`, `hang`, ...) that is stored and reported; the command's own code is 4 only when no candidate was left.
)";

}  // namespace

std::string exit_code_page() {
  std::string text = kBefore;
  for (const ExitCodeInfo& info : exit_codes())
    text += fmt::format("| {} | `{}` | {} | {} |\n", static_cast<int>(info.code), info.name, info.happened,
                        info.remedy);
  return text + kAfter;
}

}  // namespace ak::tools
