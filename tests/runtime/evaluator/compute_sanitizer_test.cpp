// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/compute_sanitizer.h"

#include <catch2/catch.hpp>

namespace ak::runtime {
namespace {

TEST_CASE("a log of memcheck gives the number of errors and the first of them") {
  const auto log = read_sanitizer_log(
      "========= COMPUTE-SANITIZER\n"
      "a line of the program\n"
      "========= Invalid __global__ read of size 4 bytes\n"
      "=========     at scale(float *)+0x90 in k.cu:7\n"
      "=========     by thread (32,0,0) in block (1,0,0)\n"
      "=========     Access at 0x7f00 is out of bounds\n"
      "=========     and is 1 bytes after the nearest allocation\n"
      "========= \n"
      "========= Invalid __global__ write of size 4 bytes\n"
      "========= ERROR SUMMARY: 2 errors\n");
  REQUIRE(log);
  CHECK(log->errors == 2);
  CHECK(log->finding ==
        "Invalid __global__ read of size 4 bytes; at scale(float *)+0x90 in k.cu:7; by thread (32,0,0) in "
        "block "
        "(1,0,0); Access at 0x7f00 is out of bounds");
}

TEST_CASE("warnings of racecheck are not errors") {
  const auto log = read_sanitizer_log(
      "========= COMPUTE-SANITIZER\n"
      "========= Warning: Race reported between Write access at sum+0x120 in k.cu:9\n"
      "=========     and Read access at sum+0x1a0 in k.cu:11 [16 hazards]\n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n");
  REQUIRE(log);
  CHECK(log->errors == 0);
  CHECK(log->finding.empty());
  const auto race = read_sanitizer_log(
      "========= COMPUTE-SANITIZER\n"
      "========= Error: Race reported between Write access at sum+0x120 in k.cu:9\n"
      "=========     and Read access at sum+0x1a0 in k.cu:11 [16 hazards]\n"
      "========= \n"
      "========= RACECHECK SUMMARY: 12 hazards displayed (12 errors, 0 warnings)\n");
  REQUIRE(race);
  CHECK(race->errors == 12);
  CHECK(race->finding.starts_with("Error: Race reported between Write access"));
}

TEST_CASE("a log without a summary is not a verdict") {
  CHECK_FALSE(read_sanitizer_log(""));
  CHECK_FALSE(
      read_sanitizer_log("========= COMPUTE-SANITIZER\n========= Error: Target application terminated\n"));
}

TEST_CASE("a finding counts although the log was cut short") {
  const auto log = read_sanitizer_log(
      "========= COMPUTE-SANITIZER\n"
      "========= Invalid __shared__ read of size 4 bytes\n"
      "=========     at k+0x1a0 in k.cu:9\n");
  REQUIRE(log);
  CHECK(log->errors == 1);
  CHECK(log->finding == "Invalid __shared__ read of size 4 bytes; at k+0x1a0 in k.cu:9");
}

TEST_CASE("a log with nothing found is clean") {
  const auto log = read_sanitizer_log("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  REQUIRE(log);
  CHECK(log->errors == 0);
}

}  // namespace
}  // namespace ak::runtime
