// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/include_check.h"

#include <catch2/catch.hpp>

namespace ak::runtime {

TEST_CASE("every spelling of an include that could open a host file is refused") {
  for (const char* source : {
           "#include \"/etc/passwd\"",
           "#include </etc/passwd>",
           "  #  include <../../etc/passwd>",
           "#include <cuda/../../x>",
           "#define F </etc/passwd>\n#include F",
           "#inc\\\nlude </etc/passwd>",
           "#inc\\ \t\nlude </etc/passwd>",
           "%:include </etc/passwd>",
           "?\?=include </etc/passwd>",
           "#/* */include/**/</etc/passwd>",
           "#include_next <x.h>",
           "#import \"x.h\"",
           "#embed \"/etc/passwd\"",
           "#if __has_include(\"/etc/passwd\")\n#endif",
           "#include",
           "#include \"\\\n/etc/passwd\"",
       }) {
    INFO(source);
    CHECK(find_unsafe_include(source));
  }
}

TEST_CASE("plain names of headers pass, and a refusal has the line") {
  CHECK_FALSE(find_unsafe_include(
      "#include <cooperative_groups.h>\n#include \"cuda/barrier\"\n#define X 1\nint x = 1 % 2;"));
  const auto refused = find_unsafe_include("int a; \\\nint b;\n#include </x>\n");
  REQUIRE(refused);
  CHECK(refused->line == 3);
}

}  // namespace ak::runtime
