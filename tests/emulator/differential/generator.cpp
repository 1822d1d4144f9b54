// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/differential/generator.h"

#include <fmt/format.h>

#include <algorithm>

namespace ak::emulator::differential {
namespace {

// PTX that every module begins with: what random programs call and read.
constexpr std::string_view kHead = R"(.version 9.0
.target sm_90a
.address_size 64
.const .align 4 .b32 numbers[16] = {1, 0xffffffff, 0x80000000, 0x7fffffff, 0x3f800000, 0xbf800000, 0x7f800000,
  0x00000001, 0x12345678, 0x9abcdef0, 0x3c003c00, 0x0000ffff, 0xffff0000, 0x55555555, 31, 0x00800000};
.global .align 16 .b8 scratch[7168];
.func (.param .b32 result) helper(.param .b32 x, .param .b32 y)
{
.reg .b32 %a, %b, %n;
.reg .pred %p;
ld.param.b32 %a, [x];
ld.param.b32 %b, [y];
and.b32 %n, %a, 7;
again:
xor.b32 %a, %a, %b;
setp.lt.s32 %p, %a, 0;
@%p bra odd;
mad.lo.u32 %a, %a, 3, %n;
bra next;
odd:
shf.l.wrap.b32 %a, %a, %b, 5;
next:
setp.ne.u32 %p, %n, 0;
sub.u32 %n, %n, 1;
@%p bra again;
st.param.b32 [result], %a;
ret;
}
)";

constexpr std::size_t kCasesInBatch = 64;  // a module of a few hundred milliseconds of compilation (chosen)

std::uint64_t mixed(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ull;
  return hash;
}
constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325ull;

}  // namespace

int bytes(Number number) {
  switch (number) {
    case Number::bits8:
      return 1;
    case Number::bits16:
    case Number::f16:
    case Number::bf16:
      return 2;
    case Number::bits64:
    case Number::f64:
      return 8;
    default:
      return 4;
  }
}

std::uint64_t Random::bits() {
  state_ += 0x9e3779b97f4a7c15ull;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::vector<Suite> all_suites() {
  std::vector<Suite> suites;
  suites.push_back(integer_sweep());
  suites.push_back(float_sweep());
  suites.push_back(half_sweep());
  suites.push_back(convert_sweep());
  suites.push_back(atomic_sweep());
  suites.push_back(random_programs(1, kRecordedPrograms));
  suites.push_back(matrix_products());
  suites.push_back(matrix_movements());
  return suites;
}

std::string module_of(std::span<const Case> cases) {
  std::string text(kHead);
  for (const Case& one : cases) text += one.text;
  return text;
}

std::vector<std::span<const Case>> batches(const Suite& suite) {
  std::vector<std::span<const Case>> all;
  const std::span<const Case> cases(suite.cases);
  for (std::size_t at = 0; at < cases.size(); at += kCasesInBatch)
    all.push_back(cases.subspan(at, std::min(kCasesInBatch, cases.size() - at)));
  return all;
}

std::uint64_t hash_of(std::span<const std::byte> bytes) { return mixed(kFnvBasis, bytes); }

std::uint64_t key_of(const Case& one) {
  const std::uint64_t text =
      mixed(hash_of(std::as_bytes(std::span(kHead))), std::as_bytes(std::span(one.text)));
  return mixed(text, std::as_bytes(std::span(one.inputs)));
}

}  // namespace ak::emulator::differential
