// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/emulator/differential/agreement.h"
#include "tests/emulator/differential/emulated_answers.h"
#include "tests/emulator/differential/generator.h"

namespace {

using namespace ak;
using namespace ak::emulator::differential;

void expect_agreement(const Suite& suite) {
  const auto answers = read_answers(answers_path(AK_DIFFERENTIAL_ANSWERS, suite.name));
  INFO(suite.name);
  if (!answers) FAIL(answers.error().message);
  for (const Case& one : suite.cases) {
    const CaseReport report = examine(one, *answers);
    if (report.verdict != Verdict::agrees && report.verdict != Verdict::refused)
      FAIL_CHECK(describe(report, 3));
  }
}

TEST_CASE("integer instructions answer as a GPU does") { expect_agreement(integer_sweep()); }
TEST_CASE("f32 and f64 instructions answer as a GPU does") { expect_agreement(float_sweep()); }
TEST_CASE("f16 and bf16 instructions answer as a GPU does") { expect_agreement(half_sweep()); }
TEST_CASE("conversions answer as a GPU does") { expect_agreement(convert_sweep()); }
TEST_CASE("atomic instructions answer as a GPU does") { expect_agreement(atomic_sweep()); }
TEST_CASE("random programs answer as a GPU does") { expect_agreement(random_programs(1, kRecordedPrograms)); }
TEST_CASE("matrix products answer as a GPU does") { expect_agreement(matrix_products()); }
TEST_CASE("matrix movements answer as a GPU does") { expect_agreement(matrix_movements()); }

const Case& find(const Suite& suite, std::string_view beginning) {
  const auto found = std::find_if(suite.cases.begin(), suite.cases.end(),
                                  [&](const Case& one) { return one.name.starts_with(beginning); });
  REQUIRE(found != suite.cases.end());
  return *found;
}

std::vector<std::byte> output_of(const Case& one) { return emulate(one, one.inputs).value(); }

TEST_CASE("one wrong bit in an exact answer is noticed") {
  for (const Suite& suite : {integer_sweep(), matrix_movements(), random_programs(7, 1)}) {
    const Case& one = suite.cases.front();
    std::vector<std::byte> answer = kept(one, output_of(one));
    CHECK(examine(one, answer).verdict == Verdict::agrees);
    answer[answer.size() / 2] ^= std::byte{4};
    const CaseReport report = examine(one, answer);
    CHECK(report.verdict == Verdict::differs);
    CHECK(report.differences.size() == 1);
  }
}

TEST_CASE("a NaN agrees with another NaN only where PTX leaves that open") {
  const Suite suite = float_sweep();
  for (const auto& [name, verdict] :
       {std::pair{"div.rn.f32", Verdict::agrees}, std::pair{"add.rn.f32", Verdict::differs}}) {
    const Case& one = find(suite, name);
    std::vector<std::byte> answer = output_of(one);
    bool changed = false;
    for (std::size_t at = 0; at < answer.size(); at += 4) {
      if (answer[at + 3] == std::byte{0x7f} && answer[at + 2] == std::byte{0xff}) {
        answer[at] ^= std::byte{1};
        changed = true;
      }
    }
    REQUIRE(changed);
    CHECK(examine(one, answer).verdict == verdict);
  }
}

TEST_CASE("an error beyond the bound of an approximate instruction is noticed") {
  const Suite suite = float_sweep();
  const Case& one = find(suite, "rsqrt.approx.f32");
  std::vector<std::byte> answer = output_of(one);
  std::size_t normal = 0;  // a normal number: its exponent is neither 0 nor that of infinity
  while (answer[normal + 3] == std::byte{0} || (answer[normal + 3] & std::byte{0x7f}) == std::byte{0x7f})
    normal += 4;
  answer[normal] ^= std::byte{1};
  CHECK(examine(one, answer).verdict == Verdict::agrees);
  answer[normal + 1] ^= std::byte{1};
  CHECK(examine(one, answer).verdict == Verdict::differs);
}

TEST_CASE("an error beyond the bound of a tensor core's sum is noticed") {
  const Suite suite = matrix_products();
  const Case& one = find(suite, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  std::vector<std::byte> answer = output_of(one);
  const std::size_t near_one = one.output_bytes() / 4 + 4 * 8;  // of the second block
  answer[near_one] ^= std::byte{1};
  CHECK(examine(one, answer).verdict == Verdict::agrees);
  answer[near_one + 2] ^= std::byte{0x10};
  CHECK(examine(one, answer).verdict == Verdict::differs);
}

TEST_CASE("answers to a case that has changed since are not used") {
  const Suite suite = half_sweep();
  Case one = suite.cases.front();
  const Answers answers = {{key_of(one), output_of(one)}};
  CHECK(examine(one, answers).verdict == Verdict::agrees);
  one.inputs.front() ^= 1;
  CHECK(examine(one, answers).verdict == Verdict::missing);
}

TEST_CASE("no two cases of a suite have the same name, kernel or question") {
  for (const Suite& suite : all_suites()) {
    std::vector<std::string> names, entries;
    std::vector<std::uint64_t> keys;
    for (const Case& one : suite.cases) {
      names.push_back(one.name);
      entries.push_back(one.entry);
      keys.push_back(key_of(one));
    }
    const auto distinct = [](auto values) {
      std::sort(values.begin(), values.end());
      return std::adjacent_find(values.begin(), values.end()) == values.end();
    };
    INFO(suite.name);
    CHECK(distinct(names));
    CHECK(distinct(entries));
    CHECK(distinct(keys));
  }
}

TEST_CASE("a damaged or missing answers file is refused with how to record it") {
  const auto path = std::filesystem::temp_directory_path() / "ak_damaged.answers";
  write_answers(path, {{1, std::vector<std::byte>(10)}, {2, {}}});
  CHECK(read_answers(path)->size() == 2);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK_FALSE(read_answers(path));
  std::filesystem::remove(path);
  REQUIRE_FALSE(read_answers(path));
  CHECK(read_answers(path).error().message.find("scripts/measure/record_differential.sh") !=
        std::string::npos);
}

}  // namespace
