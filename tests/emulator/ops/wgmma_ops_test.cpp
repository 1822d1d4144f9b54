// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <random>

#include "emulator/numbers/small_floats.h"
#include "tests/emulator/ptx_fixture.h"

namespace {

using namespace ak;
using namespace ak::emulator;
using namespace ak::emulator::test;

constexpr int kThreads = 128, kM = 64, kSharedBytes = 16384, kStartOfB = 8192;

/// Row-major m x k, k x n or m x n.
struct Matrix {
  int rows = 0, columns = 0;
  std::vector<int> values;
  Matrix(int r, int c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  int& at(int r, int c) { return values[static_cast<std::size_t>(r * columns + c)]; }
  [[nodiscard]] int at(int r, int c) const { return values[static_cast<std::size_t>(r * columns + c)]; }
};

Matrix random_matrix(int rows, int columns, int low, int high, std::mt19937& random) {
  std::uniform_int_distribution<int> pick(low, high);
  Matrix matrix(rows, columns);
  for (int& value : matrix.values) value = pick(random);
  return matrix;
}

std::uint32_t encoded(std::string_view type, int value) {
  const auto single = static_cast<float>(value);
  if (type == "f16") return float_to_f16(single);
  if (type == "bf16") return float_to_bf16(single);
  if (type == "e4m3") return encode<kE4m3>(single);
  if (type == "e5m2") return encode<kE5m2>(single);
  if (type == "tf32" || type == "f32") return std::bit_cast<std::uint32_t>(single);
  return static_cast<std::uint32_t>(value);
}
int decoded(std::string_view type, std::uint32_t bits) {
  if (type == "f16") return static_cast<int>(f16_to_float(bits & 0xFFFFu));
  if (type == "f32") return static_cast<int>(std::bit_cast<float>(bits));
  return std::bit_cast<int>(bits);
}
int size_of(std::string_view type) { return bits(*parse_type(type)) / 8; }

/// How a matrix lies in shared memory. Strides in bytes.
struct Placement {
  int swizzle_bits = 0;  ///< 0 none, 1: 32 B, 2: 64 B, 3: 128 B
  bool along_k = true;   ///< K-major, else MN-major
  int leading = 0, stride = 0;
};

// The canonical layouts of the ISA's section on matrix descriptors, which counts in elements; T of them are
// 16 bytes, so here strides are 16 for T.
int canonical_offset(const Placement& p, int mn, int k, int size) {
  const int t = 16 / size, wide = 1 << p.swizzle_bits;
  if (p.along_k && p.swizzle_bits == 0)  // ((8,m),(T,2k)) : ((T,SBO),(1,LBO))
    return mn % 8 * 16 + mn / 8 * p.stride + k % t * size + k / t * p.leading;
  if (p.along_k)  // ((8,m),(T,2k)) : ((wide T,SBO),(1,T))
    return mn % 8 * wide * 16 + mn / 8 * p.stride + k % t * size + k / t * 16;
  if (p.swizzle_bits == 0)  // ((T,1,m),(8,k)) : ((1,T,SBO),(T,LBO))
    return mn % t * size + mn / t * p.stride + k % 8 * 16 + k / 8 * p.leading;
  // ((T,wide,m),(8,k)) : ((1,T,LBO),(wide T,SBO))
  return mn % t * size + mn / t % wide * 16 + mn / (t * wide) * p.leading + k % 8 * wide * 16 +
         k / 8 * p.stride;
}
/// Swizzle<bits, 4, 3>.
int swizzle(int address, int bits) { return address ^ (((address >> 7) & ((1 << bits) - 1)) << 4); }

std::uint64_t descriptor(const Placement& p, int start) {
  constexpr std::uint64_t kModes[] = {0, 3, 2, 1};
  const auto field = [](int bytes, int at) { return static_cast<std::uint64_t>(bytes >> 4) << at; };
  return field(start, 0) | field(p.leading, 16) | field(p.stride, 32) | kModes[p.swizzle_bits] << 62;
}

struct Form {
  int n, k;
  const char *a, *b, *d;
};

struct Options {
  Placement a, b;
  bool registers_a = false, scale_d = true;
  int scale_a = 1, scale_b = 1;
  const char* saturate = "";
};

std::string list(std::string_view prefix, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", prefix, i);
  return text + "}";
}

std::string instruction(const Form& f, const Options& o, int d_registers) {
  const std::string_view type(f.a);
  std::string text = fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}{}.{}.{}.{} {}, {}, %rd11, %p1", f.n,
                                 f.k, o.saturate, f.d, f.a, f.b, list("%d", d_registers),
                                 o.registers_a ? list("%a", 4) : "%rd10");
  if (type != "s8" && type != "u8") text += fmt::format(", {}, {}", o.scale_a, o.scale_b);
  if (type == "f16" || type == "bf16")
    text += o.registers_a ? fmt::format(", {}", o.b.along_k ? 0 : 1)
                          : fmt::format(", {}, {}", o.a.along_k ? 0 : 1, o.b.along_k ? 0 : 1);
  return text + ";\n";
}

/// p0: image of shared memory, p1: registers of A, p2: of C, p3: of D, p4 and p5: descriptors.
std::string kernel_text(const Form& f, const Options& o, int d_registers) {
  std::string text = "{\n.reg .b32 %d<128>;\n.reg .b32 %a<4>;\nmov.u32 %r99, %tid.x;\n";
  text += "mov.b64 %rd10, %rd94;\nmov.b64 %rd11, %rd95;\n";
  text += "mad.wide.u32 %rd1, %r99, 16, %rd90;\nshl.b32 %r98, %r99, 4;\nmov.u32 %r97, memory;\n";
  text += "add.u32 %r98, %r98, %r97;\n";
  for (int at = 0; at < kSharedBytes; at += kThreads * 16)
    text += fmt::format(
        "ld.global.v2.b64 {{%rd2, %rd3}}, [%rd1+{0}];\nst.shared.v2.b64 [%r98+{0}], {{%rd2, %rd3}};\n", at);
  text += "mad.wide.u32 %rd1, %r99, 16, %rd91;\n";
  for (int i = 0; i < 4; ++i) text += fmt::format("ld.global.b32 %a{}, [%rd1+{}];\n", i, 4 * i);
  text += fmt::format("mad.wide.u32 %rd1, %r99, {}, %rd92;\n", 4 * d_registers);
  for (int i = 0; i < d_registers; ++i) text += fmt::format("ld.global.b32 %d{}, [%rd1+{}];\n", i, 4 * i);
  text += fmt::format("setp.ne.b32 %p1, {}, 0;\nfence.proxy.async;\nbar.sync 0;\n", o.scale_d ? 1 : 0);
  text += "wgmma.fence.sync.aligned;\n" + instruction(f, o, d_registers) +
          "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  text += fmt::format("mad.wide.u32 %rd1, %r99, {}, %rd93;\n", 4 * d_registers);
  for (int i = 0; i < d_registers; ++i) text += fmt::format("st.global.b32 [%rd1+{}], %d{};\n", 4 * i, i);
  return text + "}\n";
}

// Accumulators as the ISA's figure of the D fragment has them: element i of a thread.
struct Place {
  int row, column;
};
Place place_in_d(int thread, int i) {
  const int lane = thread % 32;
  return {16 * (thread / 32) + lane / 4 + (i / 2 % 2) * 8, 8 * (i / 4) + lane % 4 * 2 + i % 2};
}
/// A in registers: `e` elements each.
Place place_in_a(int thread, int i, int e) {
  const int lane = thread % 32, which = i / e;
  return {16 * (thread / 32) + lane / 4 + which % 2 * 8, lane % 4 * e + i % e + which / 2 * 4 * e};
}

template <class F>
std::vector<std::uint32_t> pack(const Matrix& matrix, std::string_view type, F place) {
  const int size = size_of(type), per_thread = matrix.rows * matrix.columns / kThreads;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(kThreads * per_thread * size / 4));
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int i = 0; i < per_thread; ++i) {
      const Place at = place(thread, i);
      const int byte = (thread * per_thread + i) * size;
      const std::uint32_t mask = size == 4 ? ~0u : (1u << (8 * size)) - 1;
      words[static_cast<std::size_t>(byte / 4)] |= (encoded(type, matrix.at(at.row, at.column)) & mask)
                                                   << (byte % 4 * 8);
    }
  }
  return words;
}

std::vector<std::uint8_t> image(const Form& f, const Options& o, const Matrix& a, const Matrix& b) {
  std::vector<std::uint8_t> bytes(kSharedBytes, 0x55);
  const auto put = [&](int at, std::string_view type, int value) {
    for (int i = 0; i < size_of(type); ++i)
      bytes.at(static_cast<std::size_t>(at + i)) = static_cast<std::uint8_t>(encoded(type, value) >> (8 * i));
  };
  for (int k = 0; k < f.k; ++k) {
    for (int m = 0; m < kM; ++m)
      put(swizzle(canonical_offset(o.a, m, k, size_of(f.a)), o.a.swizzle_bits), f.a, a.at(m, k));
    for (int n = 0; n < f.n; ++n)
      put(swizzle(kStartOfB + canonical_offset(o.b, n, k, size_of(f.b)), o.b.swizzle_bits), f.b, b.at(k, n));
  }
  return bytes;
}

Matrix run(const Form& f, const Options& o, const Matrix& a, const Matrix& b, const Matrix& c) {
  const int per_thread = kM * f.n / kThreads, d_registers = per_thread * size_of(f.d) / 4;
  PtxKernel kernel =
      PtxKernel::body(kernel_text(f, o, d_registers), 6, ".shared .align 1024 .b8 memory[16384];");
  const auto words_a = pack(a, f.a, [&](int t, int i) { return place_in_a(t, i, 4 / size_of(f.a)); });
  const auto words_c = pack(c, f.d, place_in_d);
  const std::uint64_t d = kernel.memory(words_c.size() * 4);
  kernel.run(1, kThreads, kernel.upload(image(f, o, a, b)), kernel.upload(words_a), kernel.upload(words_c), d,
             descriptor(o.a, 0), descriptor(o.b, kStartOfB));
  const auto words = kernel.download<std::uint32_t>(d, words_c.size());
  Matrix result(kM, f.n);
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int i = 0; i < per_thread; ++i) {
      const Place at = place_in_d(thread, i);
      const int byte = (thread * per_thread + i) * size_of(f.d);
      result.at(at.row, at.column) =
          decoded(f.d, words[static_cast<std::size_t>(byte / 4)] >> (byte % 4 * 8));
    }
  }
  return result;
}

Matrix expected(const Options& o, const Matrix& a, const Matrix& b, const Matrix& c) {
  Matrix d(c.rows, c.columns);
  for (int i = 0; i < d.rows; ++i) {
    for (int j = 0; j < d.columns; ++j) {
      d.at(i, j) = o.scale_d ? c.at(i, j) : 0;
      for (int p = 0; p < a.columns; ++p) d.at(i, j) += o.scale_a * a.at(i, p) * o.scale_b * b.at(p, j);
    }
  }
  return d;
}

void check(const Form& f, const Options& o) {
  INFO(instruction(f, o, 1) << " swizzles " << o.a.swizzle_bits << ", " << o.b.swizzle_bits);
  std::mt19937 random(5);
  const bool u8_a = std::string_view(f.a) == "u8", u8_b = std::string_view(f.b) == "u8";
  const bool bytes = std::string_view(f.d) == "s32";
  const Matrix a = random_matrix(kM, f.k, u8_a ? 0 : bytes ? -128 : -7, u8_a ? 255 : bytes ? 127 : 7, random);
  const Matrix b = random_matrix(f.k, f.n,
                                 u8_b    ? 0
                                 : bytes ? -128
                                         : -7,
                                 u8_b    ? 255
                                 : bytes ? 127
                                         : 7,
                                 random);
  const Matrix c = random_matrix(kM, f.n, -100, 100, random);
  CHECK(run(f, o, a, b, c).values == expected(o, a, b, c).values);
}

constexpr Placement kPlainAlongK{0, true, 128, 256};

/// Tiles of 8 lines of all chunks, one after the other.
Placement along_k(int swizzle_bits) {
  return swizzle_bits == 0 ? kPlainAlongK : Placement{swizzle_bits, true, 16, 128 << swizzle_bits};
}
Placement across_k(int swizzle_bits) {
  if (swizzle_bits == 0) return {0, false, 128, 256};
  return {swizzle_bits, false, 256 << swizzle_bits, 128 << swizzle_bits};
}

TEST_CASE("wgmma multiplies every type, with A from shared memory or from registers") {
  const Form forms[] = {
      {8, 16, "f16", "f16", "f32"},   {24, 16, "f16", "f16", "f16"},   {256, 16, "bf16", "bf16", "f32"},
      {64, 8, "tf32", "tf32", "f32"}, {16, 32, "e4m3", "e5m2", "f32"}, {64, 32, "e5m2", "e4m3", "f16"},
      {32, 32, "s8", "s8", "s32"},    {16, 32, "u8", "s8", "s32"},     {128, 32, "s8", "u8", "s32"},
  };
  for (const Form& form : forms) {
    for (const bool registers : {false, true}) {
      Options options{kPlainAlongK, kPlainAlongK};
      options.registers_a = registers;
      check(form, options);
    }
  }
}

TEST_CASE("wgmma finds its matrices under every swizzle, along k and across") {
  for (int swizzle_a = 0; swizzle_a < 4; ++swizzle_a) {
    for (int swizzle_b = 0; swizzle_b < 4; ++swizzle_b) {
      for (int across = 0; across < 4; ++across) {
        Options options;
        options.a = (across & 1) != 0 ? across_k(swizzle_a) : along_k(swizzle_a);
        options.b = (across & 2) != 0 ? across_k(swizzle_b) : along_k(swizzle_b);
        check({64, 16, "f16", "f16", "f32"}, options);
      }
    }
  }
  for (int swizzle = 1; swizzle < 4; ++swizzle) {
    check({64, 8, "tf32", "tf32", "f32"}, {along_k(swizzle), along_k(swizzle)});
    check({64, 32, "s8", "s8", "s32"}, {along_k(swizzle), along_k(swizzle)});
  }
}

TEST_CASE("wgmma drops the accumulators without scale-d and negates with scale-a and scale-b") {
  for (const int scale_a : {1, -1}) {
    for (const int scale_b : {1, -1}) {
      Options options{kPlainAlongK, kPlainAlongK};
      options.scale_a = scale_a;
      options.scale_b = scale_b;
      options.scale_d = scale_a == scale_b;
      check({16, 16, "bf16", "bf16", "f32"}, options);
    }
  }
}

TEST_CASE("wgmma of bytes stops at the ends of the range with .satfinite") {
  const Form form{8, 32, "s8", "s8", "s32"};
  Options options{kPlainAlongK, kPlainAlongK};
  Matrix a(kM, 32), b(32, 8), c(kM, 8);
  for (int& value : a.values) value = 100;
  for (int& value : b.values) value = 100;
  for (int& value : c.values) value = 2147483647;
  CHECK(run(form, options, a, b, c).at(5, 5) == -2147483648 + 319999);
  options.saturate = ".satfinite";
  CHECK(run(form, options, a, b, c).at(5, 5) == 2147483647);
}

TEST_CASE("A start address inside of a swizzled tile selects the next part of k") {
  // 64 elements of k in a line of 128 bytes: the second 16 begin 32 bytes further.
  const Form form{8, 16, "f16", "f16", "f32"};
  Options options{along_k(3), along_k(3)};
  std::mt19937 random(6);
  const Matrix a = random_matrix(kM, 16, -7, 7, random), b = random_matrix(16, 8, -7, 7, random);
  const Matrix c(kM, 8);
  std::vector<std::uint8_t> bytes(kSharedBytes);
  const auto put = [&](int start, int line, int k, int value) {
    const int at = swizzle(start + canonical_offset(options.a, line, k + 16, 2), 3);
    bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(encoded("f16", value));
    bytes[static_cast<std::size_t>(at + 1)] = static_cast<std::uint8_t>(encoded("f16", value) >> 8);
  };
  for (int k = 0; k < 16; ++k) {
    for (int m = 0; m < kM; ++m) put(0, m, k, a.at(m, k));
    for (int n = 0; n < 8; ++n) put(kStartOfB, n, k, b.at(k, n));
  }
  PtxKernel kernel =
      PtxKernel::body(kernel_text(form, options, 4), 6, ".shared .align 1024 .b8 memory[16384];");
  const auto words_c = pack(c, "f32", place_in_d);
  const std::uint64_t d = kernel.memory(words_c.size() * 4);
  kernel.run(1, kThreads, kernel.upload(bytes), kernel.upload(std::vector<std::uint32_t>(kThreads * 4)),
             kernel.upload(words_c), d, descriptor(options.a, 32), descriptor(options.b, kStartOfB + 32));
  CHECK(kernel.download<std::uint32_t>(d, words_c.size()) ==
        pack(expected(options, a, b, c), "f32", place_in_d));
}

TEST_CASE("A wgmma that reaches beyond shared memory, or lacks a warp, is a fault") {
  const Form form{8, 16, "f16", "f16", "f32"};
  const Options options{kPlainAlongK, kPlainAlongK};
  PtxKernel kernel =
      PtxKernel::body(kernel_text(form, options, 4), 6, ".shared .align 1024 .b8 memory[16384];");
  const std::uint64_t bytes = kernel.upload(std::vector<std::uint8_t>(kSharedBytes + 2048));
  const auto first_fault = [&](std::uint32_t threads, std::uint64_t descriptor_a) {
    LaunchRequest request;
    request.block = {threads, 1, 1};
    const LaunchReport report = kernel.run(request, bytes, bytes, bytes, kernel.memory(4096), descriptor_a,
                                           descriptor(options.b, kStartOfB));
    REQUIRE_FALSE(report.findings.empty());
    return report.findings.all().front().kind;
  };
  CHECK(first_fault(kThreads, descriptor(options.a, kSharedBytes)) == FaultKind::out_of_bounds);
  CHECK(first_fault(kThreads, descriptor(options.a, 0) | std::uint64_t{1} << 49) ==
        FaultKind::invalid_operand);
  CHECK(first_fault(96, descriptor(options.a, 0)) == FaultKind::invalid_operand);
}

TEST_CASE("Forms of wgmma that do not exist or are not covered are refused") {
  const auto refused = [](const std::string& shape_and_types, const std::string& rest) {
    const std::string text = "wgmma.mma_async" + shape_and_types + " {%f0, %f1, %f2, %f3}, " + rest + ";";
    INFO(text);
    return !refusal(text, 0).message.empty();
  };
  CHECK(refused(".sp.sync.aligned.m64n8k32.f32.f16.f16", "%rd0, %rd1, %r0, 0, %p0, 1, 1, 0, 0"));
  CHECK(refused(".sync.aligned.m64n8k256.s32.b1.b1.and.popc", "%rd0, %rd1, %p0"));
  CHECK(refused(".sync.aligned.m64n12k16.f32.f16.f16", "%rd0, %rd1, %p0, 1, 1, 0, 0"));
  CHECK(refused(".sync.aligned.m64n8k16.f32.f16.f16", "%rd0, %rd1, %p0, 1, 1"));
  CHECK(refused(".sync.aligned.m64n8k16.f32.f16.f16", "%rd0, %rd1, %p0, 2, 1, 0, 0"));
}

}  // namespace
