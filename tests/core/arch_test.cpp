// SPDX-License-Identifier: Apache-2.0
#include "core/device/arch.h"

#include <catch2/catch.hpp>

using namespace ak;

TEST_CASE("architectures are read as numbers, families and products") {
  CHECK(parse_arch("sm_80")->sm() == "sm_80");
  CHECK(parse_arch("sm_90a")->sm() == "sm_90a");
  CHECK(parse_arch("sm_100f")->sm() == "sm_100f");
  CHECK(parse_arch("compute_121")->sm() == "sm_121");
  CHECK(parse_arch("89")->sm() == "sm_89");
  CHECK(parse_arch("ampere")->sm() == "sm_80");
  CHECK(parse_arch("hopper")->sm() == "sm_90a");
  CHECK(parse_arch("blackwell")->sm() == "sm_100a");
  CHECK(parse_arch("h200")->sm() == "sm_90a");
  CHECK(parse_arch("B300")->sm() == "sm_103a");
  CHECK(parse_arch("RTX 4090")->sm() == "sm_89");
  CHECK(parse_arch("rtx-pro-6000-max-q")->sm() == "sm_120a");
  CHECK(parse_arch("thor")->sm() == "sm_110a");
}

TEST_CASE("every name that is offered can be read and has limits") {
  for (const std::string& name : arch_names()) {
    INFO(name);
    const Result<Arch> arch = parse_arch(name);
    REQUIRE(arch.ok());
    CHECK(limits(*arch).has_value());
    CHECK(parse_arch(arch->sm()).value() == *arch);
  }
}

TEST_CASE("an unknown architecture is refused with the nearest name") {
  const auto input_error = [](std::string_view text) { return parse_arch(text).error().message; };
  CHECK(input_error("sm_91").find("did you mean 'sm_90'?") != std::string::npos);
  CHECK(input_error("hoper").find("did you mean 'hopper'?") != std::string::npos);
  for (const char* text :
       {"", "sm_", "sm_80a", "sm_90f", "sm_90b", "sm_90aa", "sm_5", "sm_99999999999", "9.0.1", "gpu\n"}) {
    INFO(text);
    CHECK_FALSE(parse_arch(text).ok());
  }
}

TEST_CASE("a cubin loads on its own major version, not on an older minor one") {
  const auto loads = [](std::string_view device, std::string_view target) {
    return can_load(*parse_arch(device), *parse_arch(target));
  };
  CHECK(loads("sm_86", "sm_80"));
  CHECK_FALSE(loads("sm_80", "sm_86"));
  CHECK_FALSE(loads("sm_90", "sm_89"));
  CHECK(loads("sm_90a", "sm_90"));
  CHECK(loads("sm_90a", "sm_90a"));
  CHECK_FALSE(loads("sm_103a", "sm_100a"));
  CHECK(loads("sm_103a", "sm_100f"));
  CHECK(loads("sm_121a", "sm_120"));
  CHECK_FALSE(loads("sm_120a", "sm_100"));
}

TEST_CASE("limits are those of the programming guide") {
  const ArchLimits hopper = *limits(*parse_arch("sm_90a"));
  CHECK(hopper.max_threads_per_sm == 2048);
  CHECK(hopper.max_blocks_per_sm == 32);
  CHECK(hopper.registers_per_sm == 65536);
  CHECK(hopper.shared_bytes_per_sm == 233472);
  CHECK(hopper.shared_bytes_per_block == 232448);
  CHECK(hopper.max_registers_per_thread == 255);
  CHECK(limits(*parse_arch("orin"))->max_threads_per_sm == 1536);
  CHECK(limits(*parse_arch("thor"))->max_threads_per_sm == 1536);
  CHECK(limits(*parse_arch("t4"))->shared_bytes_per_block == 65536);
  CHECK_FALSE(limits(Arch{9, 1}).has_value());
}
