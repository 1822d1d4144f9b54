// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "emulator/numbers/small_floats.h"
#include "tests/emulator/ptx_fixture.h"

namespace {

using namespace ak;
using namespace ak::emulator;
using namespace ak::emulator::test;

constexpr int kMatrixThreads = 32;

/// A matrix of numbers, row-major.
struct Matrix {
  int rows = 0, columns = 0;
  std::vector<double> values;
  Matrix(int r, int c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  double& at(int r, int c) { return values[static_cast<std::size_t>(r * columns + c)]; }
  [[nodiscard]] double at(int r, int c) const { return values[static_cast<std::size_t>(r * columns + c)]; }
  [[nodiscard]] int size() const { return rows * columns; }
};

struct Form {
  const char* shape;
  int m, n, k;
  const char *a, *b, *accumulator;
};

/// Bits of a small whole number as an element.
std::uint64_t encoded(std::string_view type, double value) {
  const auto single = static_cast<float>(value);
  if (type == "f16") return float_to_f16(single);
  if (type == "bf16") return float_to_bf16(single);
  if (type == "e4m3") return encode<kE4m3>(single);
  if (type == "e5m2") return encode<kE5m2>(single);
  if (type == "f32" || type == "tf32") return std::bit_cast<std::uint32_t>(single);
  if (type == "f64") return std::bit_cast<std::uint64_t>(value);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}
double decoded(std::string_view type, std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  if (type == "f16") return f16_to_float(word & 0xFFFFu);
  if (type == "f32") return std::bit_cast<float>(word);
  if (type == "f64") return std::bit_cast<double>(bits);
  return std::bit_cast<std::int32_t>(word);
}

int width(std::string_view type) { return bits(*parse_type(type)); }
int register_width(std::string_view type) { return type == "f64" ? 64 : 32; }

Matrix random_matrix(int rows, int columns, std::string_view type, std::mt19937& random) {
  int low = -7, high = 7;
  if (type == "s8") low = -128, high = 127;
  if (type == "u8") low = 0, high = 255;
  if (type == "s4") low = -8;
  if (type == "u4") low = 0, high = 15;
  if (type == "b1") low = 0, high = 1;
  std::uniform_int_distribution<int> pick(low, high);
  Matrix matrix(rows, columns);
  for (double& value : matrix.values) value = pick(random);
  return matrix;
}

// The fragments as the PTX ISA's section on mma has them: element i of a thread, whose group is lane / 4 and
// whose place in it is lane % 4. `e` elements make a register.
struct Place {
  int row, column;
};
Place place_in_a(const Form& form, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4, e = register_width(form.a) / width(form.a);
  if (form.m == 8) return {group, thread * e + i};
  if (std::string_view(form.a) == "f64") {
    if (i % 2 == 0) return {group, i * 2 + thread};
    return {group + 8, i * 2 - 2 + thread};
  }
  const bool upper = i < e || (i >= 2 * e && i < 3 * e);
  return {upper ? group : group + 8, thread * e + i % e + (i >= 2 * e ? 4 * e : 0)};
}
Place place_in_b(const Form& form, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4, e = register_width(form.b) / width(form.b);
  return {thread * e + i % e + i / e * 4 * e, group};
}
Place place_in_c(int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

/// All lanes' registers, lane after lane.
template <class F>
std::vector<std::uint32_t> pack(const Matrix& matrix, std::string_view type, F place) {
  const int bits = width(type), per_lane = matrix.size() / kMatrixThreads;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(matrix.size() * bits / 32));
  for (int lane = 0; lane < kMatrixThreads; ++lane) {
    for (int i = 0; i < per_lane; ++i) {
      const Place at = place(lane, i);
      const std::uint64_t code = encoded(type, matrix.at(at.row, at.column));
      const int bit = (lane * per_lane + i) * bits;
      if (bits == 64) {
        words[static_cast<std::size_t>(bit / 32)] = static_cast<std::uint32_t>(code);
        words[static_cast<std::size_t>(bit / 32 + 1)] = static_cast<std::uint32_t>(code >> 32);
      } else {
        const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
        words[static_cast<std::size_t>(bit / 32)] |= static_cast<std::uint32_t>((code & mask) << (bit % 32));
      }
    }
  }
  return words;
}
template <class F>
Matrix unpack(const std::vector<std::uint32_t>& words, int rows, int columns, std::string_view type,
              F place) {
  Matrix matrix(rows, columns);
  const int bits = width(type), per_lane = matrix.size() / kMatrixThreads;
  for (int lane = 0; lane < kMatrixThreads; ++lane) {
    for (int i = 0; i < per_lane; ++i) {
      const int bit = (lane * per_lane + i) * bits;
      const auto word = static_cast<std::size_t>(bit / 32);
      std::uint64_t code = words[word] >> (bit % 32);
      if (bits == 64) code |= std::uint64_t{words[word + 1]} << 32;
      const Place at = place(lane, i);
      matrix.at(at.row, at.column) = decoded(type, code);
    }
  }
  return matrix;
}

/// Names of `count` registers in braces.
std::string list(std::string_view prefix, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", prefix, first + i);
  return text + "}";
}

/// PTX that loads or stores the fragment of this lane, whose registers begin at `first`.
std::string transfer(bool load, std::string_view prefix, int first, int count, int parameter, int bytes) {
  std::string text = fmt::format("mad.wide.u32 %rd1, %r99, {}, %rd{};\n", count * bytes, 90 + parameter);
  for (int i = 0; i < count; ++i) {
    text += load ? fmt::format("ld.global.b{} {}{}, [%rd1+{}];\n", bytes * 8, prefix, first + i, i * bytes)
                 : fmt::format("st.global.b{} [%rd1+{}], {}{};\n", bytes * 8, i * bytes, prefix, first + i);
  }
  return text;
}

struct Fragment {
  int first = 0, count = 0, bytes = 4;
  [[nodiscard]] std::string prefix() const { return bytes == 8 ? "%fd" : "%r"; }
  [[nodiscard]] std::string text() const { return list(prefix(), first, count); }
  [[nodiscard]] std::string moved(bool load, int parameter) const {
    return transfer(load, prefix(), first, count, parameter, bytes);
  }
};
Fragment fragment(int elements, std::string_view type, int first) {
  return {first, elements * width(type) / register_width(type) / kMatrixThreads, register_width(type) / 8};
}

std::string kernel_text(const Form& form, const std::string& instruction) {
  const Fragment a = fragment(form.m * form.k, form.a, 0), b = fragment(form.k * form.n, form.b, 20);
  const Fragment c = fragment(form.m * form.n, form.accumulator, 40);
  const Fragment d = fragment(form.m * form.n, form.accumulator, 60);
  return "mov.u32 %r99, %tid.x;\n" + a.moved(true, 0) + b.moved(true, 1) + c.moved(true, 2) +
         fmt::format("{} {}, {}, {}, {};\n", instruction, d.text(), a.text(), b.text(), c.text()) +
         d.moved(false, 3);
}

std::string spelling(const Form& form, std::string_view before_types = "",
                     std::string_view after_types = "") {
  return fmt::format("mma.sync.aligned.{}.row.col{}.{}.{}.{}.{}{}", form.shape, before_types,
                     form.accumulator, form.a, form.b, form.accumulator, after_types);
}

Matrix run_mma(const Form& form, const std::string& instruction, const Matrix& a, const Matrix& b,
               const Matrix& c) {
  PtxKernel kernel = PtxKernel::body(kernel_text(form, instruction), 4);
  const auto in_c = [](int lane, int i) { return place_in_c(lane, i); };
  const auto words_a = pack(a, form.a, [&](int lane, int i) { return place_in_a(form, lane, i); });
  const auto words_b = pack(b, form.b, [&](int lane, int i) { return place_in_b(form, lane, i); });
  const auto words_c = pack(c, form.accumulator, in_c);
  const std::uint64_t d = kernel.memory(words_c.size() * 4);
  kernel.run(1, kMatrixThreads, kernel.upload(words_a), kernel.upload(words_b), kernel.upload(words_c), d);
  return unpack(kernel.download<std::uint32_t>(d, words_c.size()), form.m, form.n, form.accumulator, in_c);
}

Matrix product(const Matrix& a, const Matrix& b, const Matrix& c) {
  Matrix d = c;
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < b.columns; ++j) {
      for (int p = 0; p < a.columns; ++p) d.at(i, j) += a.at(i, p) * b.at(p, j);
    }
  }
  return d;
}

const Form kForms[] = {
    {"m16n8k8", 16, 8, 8, "f16", "f16", "f32"},     {"m16n8k8", 16, 8, 8, "f16", "f16", "f16"},
    {"m16n8k16", 16, 8, 16, "f16", "f16", "f32"},   {"m16n8k16", 16, 8, 16, "f16", "f16", "f16"},
    {"m16n8k8", 16, 8, 8, "bf16", "bf16", "f32"},   {"m16n8k16", 16, 8, 16, "bf16", "bf16", "f32"},
    {"m16n8k4", 16, 8, 4, "tf32", "tf32", "f32"},   {"m16n8k8", 16, 8, 8, "tf32", "tf32", "f32"},
    {"m16n8k16", 16, 8, 16, "e4m3", "e5m2", "f32"}, {"m16n8k32", 16, 8, 32, "e5m2", "e4m3", "f32"},
    {"m16n8k32", 16, 8, 32, "e4m3", "e4m3", "f16"}, {"m8n8k4", 8, 8, 4, "f64", "f64", "f64"},
    {"m16n8k4", 16, 8, 4, "f64", "f64", "f64"},     {"m16n8k8", 16, 8, 8, "f64", "f64", "f64"},
    {"m16n8k16", 16, 8, 16, "f64", "f64", "f64"},   {"m8n8k16", 8, 8, 16, "s8", "u8", "s32"},
    {"m16n8k16", 16, 8, 16, "u8", "s8", "s32"},     {"m16n8k32", 16, 8, 32, "s8", "s8", "s32"},
    {"m8n8k32", 8, 8, 32, "s4", "u4", "s32"},       {"m16n8k32", 16, 8, 32, "u4", "s4", "s32"},
    {"m16n8k64", 16, 8, 64, "s4", "s4", "s32"},     {"m8n8k128", 8, 8, 128, "b1", "b1", "s32"},
    {"m16n8k128", 16, 8, 128, "b1", "b1", "s32"},   {"m16n8k256", 16, 8, 256, "b1", "b1", "s32"},
};

TEST_CASE("Every form of mma multiplies what the documented fragments hold") {
  std::mt19937 random(1);
  for (const Form& form : kForms) {
    const bool single_bits = std::string_view(form.a) == "b1";
    const std::string instruction = spelling(form, "", single_bits ? ".and.popc" : "");
    INFO(instruction);
    const Matrix a = random_matrix(form.m, form.k, form.a, random);
    const Matrix b = random_matrix(form.k, form.n, form.b, random);
    const Matrix c = random_matrix(form.m, form.n, form.accumulator, random);
    // 2047 is where f16 stops holding every whole number: 32 products of up to 49 stay below.
    CHECK(run_mma(form, instruction, a, b, c).values == product(a, b, c).values);
  }
}

TEST_CASE("mma of bits counts those that differ with .xor") {
  std::mt19937 random(2);
  const Form form{"m16n8k256", 16, 8, 256, "b1", "b1", "s32"};
  const Matrix a = random_matrix(16, 256, "b1", random), b = random_matrix(256, 8, "b1", random);
  const Matrix c = random_matrix(16, 8, "s32", random);
  Matrix expected = c;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      for (int p = 0; p < 256; ++p) expected.at(i, j) += a.at(i, p) != b.at(p, j) ? 1 : 0;
    }
  }
  CHECK(run_mma(form, spelling(form, "", ".xor.popc"), a, b, c).values == expected.values);
}

TEST_CASE("mma of bytes wraps around, or stops at the ends of the range with .satfinite") {
  const Form form{"m16n8k16", 16, 8, 16, "s8", "s8", "s32"};
  Matrix a(16, 16), b(16, 8), c(16, 8);
  std::fill(a.values.begin(), a.values.end(), 100);
  std::fill(b.values.begin(), b.values.end(), 100);
  std::fill(c.values.begin(), c.values.end(), 2147483647.0);
  CHECK(run_mma(form, spelling(form), a, b, c).at(3, 3) == 2147483647.0 + 160000 - 4294967296.0);
  CHECK(run_mma(form, spelling(form, ".satfinite"), a, b, c).at(3, 3) == 2147483647.0);
}

TEST_CASE("mma rounds the whole sum once") {
  const Form wide{"m16n8k16", 16, 8, 16, "f16", "f16", "f32"};
  Matrix a(16, 16), b(16, 8), c(16, 8);
  a.at(0, 0) = a.at(0, 1) = a.at(0, 2) = 1;
  b.at(0, 0) = 1, b.at(1, 0) = 1, b.at(2, 0) = -1;
  c.at(0, 0) = 16777216;  // 2^24: adding 1 twice in float would stay there
  CHECK(run_mma(wide, spelling(wide), a, b, c).at(0, 0) == 16777216);
  b.at(2, 0) = 0;
  CHECK(run_mma(wide, spelling(wide), a, b, c).at(0, 0) == 16777218);
  const Form narrow{"m16n8k16", 16, 8, 16, "f16", "f16", "f16"};
  c.at(0, 0) = 2048;  // where halves are 2 apart
  CHECK(run_mma(narrow, spelling(narrow), a, b, c).at(0, 0) == 2050);
}

TEST_CASE("mma of f64 is a chain of fused multiply-adds along k") {
  const Form form{"m8n8k4", 8, 8, 4, "f64", "f64", "f64"};
  std::mt19937 random(3);
  std::uniform_real_distribution<double> pick(-1, 1);
  Matrix a(8, 4), b(4, 8), c(8, 8);
  for (Matrix* matrix : {&a, &b, &c}) {
    for (double& value : matrix->values) value = pick(random);
  }
  Matrix expected = c;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      for (int p = 0; p < 4; ++p) expected.at(i, j) = std::fma(a.at(i, p), b.at(p, j), expected.at(i, j));
    }
  }
  CHECK(run_mma(form, spelling(form), a, b, c).values == expected.values);
}

TEST_CASE("mma of f16 gives the canonical NaN, and infinity on overflow") {
  const Form form{"m16n8k8", 16, 8, 8, "f16", "f16", "f32"};
  Matrix a(16, 8), b(8, 8), c(16, 8);
  a.at(1, 0) = std::numeric_limits<double>::infinity();
  c.at(2, 2) = std::numeric_limits<double>::infinity();
  const Matrix d = run_mma(form, spelling(form), a, b, c);
  CHECK(std::bit_cast<std::uint32_t>(static_cast<float>(d.at(1, 0))) == 0x7FFFFFFFu);  // infinity x 0
  CHECK(std::isinf(d.at(2, 2)));
  CHECK(d.at(0, 0) == 0);
}

TEST_CASE("Forms of mma that are not covered are refused by name") {
  const auto says = [](const std::string& text, std::string_view part) {
    const Outcome outcome = refusal(text + ";", 0);
    INFO(outcome.message);
    return outcome.message.find(part) != std::string::npos;
  };
  const std::string a2 = "{%r0, %r1}", four = "{%r4, %r5, %r6, %r7}";
  CHECK(says("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, " + a2 +
                 ", " + a2 + ", {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}",
             "m8n8k4"));
  CHECK(says("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + four + ", " + a2 + ", " + a2 + ", " +
                 four + ", %r9, 0x0",
             ".sp"));
  CHECK(
      says("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + four + ", " + a2 + ", " + a2 + ", " + four,
           "registers"));
}

TEST_CASE("The counters know the operations of an mma") {
  const Form form{"m16n8k16", 16, 8, 16, "bf16", "bf16", "f32"};
  const PtxKernel kernel = PtxKernel::body(kernel_text(form, spelling(form)), 4);
  const auto& facts = kernel.program().facts;
  const auto found = std::find_if(facts.begin(), facts.end(),
                                  [](const OpFacts& f) { return f.kind == InstructionClass::tensor; });
  REQUIRE(found != facts.end());
  CHECK(found->flops == 2 * 16 * 8 * 16 / 32);
  CHECK(found->flop_type == Type::bf16);
}

// ---- ldmatrix, stmatrix, movmatrix

std::vector<std::uint16_t> counting(std::size_t count) {
  std::vector<std::uint16_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(i * 7 + 1);
  return values;
}

// 32 rows of 16 bytes go to shared memory; lane l's row is at 16 (31 - l), so that order matters.
std::string to_shared_reversed() {
  return "mov.u32 %r99, %tid.x;\nmad.wide.u32 %rd1, %r99, 16, %rd90;\nld.global.v2.b64 {%rd2, %rd3}, "
         "[%rd1];\n"
         "sub.u32 %r98, 31, %r99;\nshl.b32 %r98, %r98, 4;\nmov.u32 %r97, tile;\nadd.u32 %r98, %r98, %r97;\n"
         "st.shared.v2.b64 [%r98], {%rd2, %rd3};\nbar.warp.sync 0xffffffff;\n";
}
constexpr const char* kMatrixTile = ".shared .align 128 .b8 tile[512];";

TEST_CASE("ldmatrix gives each lane its two elements of a row, or of a column with .trans") {
  for (const int count : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      INFO(count << (transposed ? " transposed" : ""));
      const Fragment d{0, count, 4};
      PtxKernel kernel =
          PtxKernel::body(to_shared_reversed() +
                              fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [%r98];\n", count,
                                          transposed ? ".trans" : "", d.text()) +
                              d.moved(false, 1),
                          2, kMatrixTile);
      const auto rows = counting(256);
      const std::uint64_t out = kernel.memory(static_cast<std::size_t>(kMatrixThreads * count) * 4);
      kernel.run(1, kMatrixThreads, kernel.upload(rows), out);
      const auto words =
          kernel.download<std::uint16_t>(out, static_cast<std::size_t>(kMatrixThreads * count) * 2);
      for (int lane = 0; lane < kMatrixThreads; ++lane) {
        for (int matrix = 0; matrix < count; ++matrix) {
          for (int half = 0; half < 2; ++half) {
            int row = lane / 4, column = 2 * (lane % 4) + half;
            if (transposed) std::swap(row, column);
            const auto at = static_cast<std::size_t>((lane * count + matrix) * 2 + half);
            CHECK(words[at] == rows[static_cast<std::size_t>((matrix * 8 + row) * 8 + column)]);
          }
        }
      }
    }
  }
}

TEST_CASE("stmatrix undoes ldmatrix") {
  for (const char* modifier : {"", ".trans"}) {
    const Fragment d{0, 4, 4};
    PtxKernel kernel = PtxKernel::body(
        to_shared_reversed() +
            fmt::format(
                "ldmatrix.sync.aligned.m8n8.x4{0}.shared.b16 {1}, [%r98];\nbar.warp.sync 0xffffffff;\n"
                "mov.u32 %r96, other;\nsub.u32 %r97, %r98, %r97;\nadd.u32 %r97, %r97, %r96;\n"
                "stmatrix.sync.aligned.m8n8.x4{0}.shared.b16 [%r97], {1};\nbar.warp.sync 0xffffffff;\n"
                "ld.shared.v2.b64 {{%rd2, %rd3}}, [%r97];\nmad.wide.u32 %rd1, %r99, 16, %rd91;\n"
                "st.global.v2.b64 [%rd1], {{%rd2, %rd3}};\n",
                modifier, d.text()),
        2, std::string(kMatrixTile) + "\n.shared .align 128 .b8 other[512];");
    const auto rows = counting(256);
    const std::uint64_t out = kernel.memory(512);
    kernel.run(1, kMatrixThreads, kernel.upload(rows), out);
    CHECK(kernel.download<std::uint16_t>(out, 256) == rows);
  }
}

TEST_CASE("movmatrix transposes a matrix held in registers") {
  const Fragment a{0, 1, 4}, d{1, 1, 4};
  PtxKernel kernel = PtxKernel::body("mov.u32 %r99, %tid.x;\n" + a.moved(true, 0) +
                                     "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\n" + d.moved(false, 1));
  const auto rows = counting(64);
  const std::uint64_t out = kernel.memory(128);
  kernel.run(1, kMatrixThreads, kernel.upload(rows), out);
  const auto columns = kernel.download<std::uint16_t>(out, 64);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) CHECK(columns[j * 8 + i] == rows[i * 8 + j]);
  }
}

TEST_CASE("ldmatrix of a row outside of shared memory is a fault and reads nothing") {
  PtxKernel kernel = PtxKernel::body(
      "mov.u32 %r99, %tid.x;\nshl.b32 %r1, %r99, 4;\nadd.u32 %r1, %r1, 1048576;\n"
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];\nst.global.b32 [%rd90], %r2;\n",
      1, kMatrixTile);
  for (const bool check : {false, true}) {
    LaunchRequest request;
    request.block = {kMatrixThreads, 1, 1};
    request.options.check = check;
    const LaunchReport report = kernel.run(request, kernel.memory(4));
    REQUIRE_FALSE(report.findings.empty());
    CHECK(report.findings.all().front().kind == FaultKind::out_of_bounds);
  }
}

// ---- wmma

struct WmmaForm {
  Form form;
  int a_registers, b_registers, c_registers;
};

/// Elements packed as in memory, with lines `stride` elements apart.
std::vector<std::uint8_t> in_memory(const Matrix& matrix, std::string_view type, bool rows, int stride) {
  const int bits = width(type), lines = rows ? matrix.rows : matrix.columns;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(lines * stride * bits / 8));
  for (int i = 0; i < matrix.rows; ++i) {
    for (int j = 0; j < matrix.columns; ++j) {
      const int bit = (rows ? i * stride + j : j * stride + i) * bits;
      std::uint64_t code = encoded(type, matrix.at(i, j));
      if (bits < 64) code &= (std::uint64_t{1} << bits) - 1;
      for (int done = 0; done < std::max(bits, 8); done += 8)
        bytes[static_cast<std::size_t>((bit + done) / 8)] |=
            static_cast<std::uint8_t>(code >> done << (bit % 8));
    }
  }
  return bytes;
}

std::string wmma_kernel(const WmmaForm& wmma, bool a_rows, bool b_rows, bool d_rows, int pad) {
  const Form& f = wmma.form;
  const bool f64 = std::string_view(f.accumulator) == "f64";
  const std::string prefix = f64 ? "%fd" : "%r";
  const auto layout = [](bool rows) { return rows ? "row" : "col"; };
  const std::string a = list(prefix, 0, wmma.a_registers), b = list(prefix, 10, wmma.b_registers);
  const std::string c = list(prefix, 20, wmma.c_registers), d = list(prefix, 30, wmma.c_registers);
  const std::string_view type(f.a);
  const std::string types = type == "f16" ? fmt::format("{0}.{0}", f.accumulator)
                                          : fmt::format("{1}.{0}.{0}.{1}", f.a, f.accumulator);
  std::string text;
  text += fmt::format("wmma.load.a.sync.aligned.{}.{}.global.{} {}, [%rd90], {};\n", layout(a_rows), f.shape,
                      f.a, a, (a_rows ? f.k : f.m) + pad);
  text += fmt::format("wmma.load.b.sync.aligned.{}.{}.{} {}, [%rd91], {};\n", layout(b_rows), f.shape, f.b, b,
                      (b_rows ? f.n : f.k) + pad);
  text += fmt::format("wmma.load.c.sync.aligned.row.{}.global.{} {}, [%rd92];\n", f.shape, f.accumulator, c);
  text +=
      fmt::format("wmma.mma{}.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", type == "b1" ? ".and.popc" : "",
                  layout(a_rows), layout(b_rows), f.shape, types, d, a, b, c);
  text += fmt::format("wmma.store.d.sync.aligned.{}.{}.global.{} [%rd93], {};\n", layout(d_rows), f.shape,
                      f.accumulator, d);
  return text;
}

void check_wmma(const WmmaForm& wmma, bool a_rows, bool b_rows, bool d_rows) {
  const Form& f = wmma.form;
  const int pad = 256 / width(f.a);  // lines stay aligned to 32 bytes
  const std::string text = wmma_kernel(wmma, a_rows, b_rows, d_rows, pad);
  INFO(text);
  std::mt19937 random(4);
  const Matrix a = random_matrix(f.m, f.k, f.a, random), b = random_matrix(f.k, f.n, f.b, random);
  const Matrix c = random_matrix(f.m, f.n, f.accumulator, random);
  PtxKernel kernel = PtxKernel::body(text, 4);
  const auto expected = in_memory(product(a, b, c), f.accumulator, d_rows, d_rows ? f.n : f.m);
  const std::uint64_t d = kernel.memory(expected.size());
  kernel.run(1, kMatrixThreads, kernel.upload(in_memory(a, f.a, a_rows, (a_rows ? f.k : f.m) + pad)),
             kernel.upload(in_memory(b, f.b, b_rows, (b_rows ? f.n : f.k) + pad)),
             kernel.upload(in_memory(c, f.accumulator, true, f.n)), d);
  CHECK(kernel.download<std::uint8_t>(d, expected.size()) == expected);
}

const WmmaForm kWmmaForms[] = {
    {{"m16n16k16", 16, 16, 16, "f16", "f16", "f32"}, 8, 8, 8},
    {{"m16n16k16", 16, 16, 16, "f16", "f16", "f16"}, 8, 8, 4},
    {{"m32n8k16", 32, 8, 16, "f16", "f16", "f32"}, 8, 8, 8},
    {{"m8n32k16", 8, 32, 16, "f16", "f16", "f16"}, 8, 8, 4},
    {{"m16n16k16", 16, 16, 16, "bf16", "bf16", "f32"}, 4, 4, 8},
    {{"m32n8k16", 32, 8, 16, "bf16", "bf16", "f32"}, 8, 2, 8},
    {{"m8n32k16", 8, 32, 16, "bf16", "bf16", "f32"}, 2, 8, 8},
    {{"m16n16k8", 16, 16, 8, "tf32", "tf32", "f32"}, 4, 4, 8},
    {{"m16n16k16", 16, 16, 16, "s8", "s8", "s32"}, 2, 2, 8},
    {{"m32n8k16", 32, 8, 16, "u8", "u8", "s32"}, 4, 1, 8},
    {{"m8n32k16", 8, 32, 16, "s8", "s8", "s32"}, 1, 4, 8},
    {{"m8n8k4", 8, 8, 4, "f64", "f64", "f64"}, 1, 1, 2},
};

TEST_CASE("wmma multiplies matrices in every shape and layout") {
  for (const WmmaForm& wmma : kWmmaForms) {
    for (int layouts = 0; layouts < 8; ++layouts)
      check_wmma(wmma, (layouts & 1) != 0, (layouts & 2) != 0, (layouts & 4) != 0);
  }
}

TEST_CASE("wmma multiplies elements of less than a byte") {
  check_wmma({{"m8n8k32", 8, 8, 32, "s4", "s4", "s32"}, 1, 1, 2}, true, false, true);
  check_wmma({{"m8n8k32", 8, 8, 32, "u4", "u4", "s32"}, 1, 1, 2}, true, false, false);
  check_wmma({{"m8n8k128", 8, 8, 128, "b1", "b1", "s32"}, 1, 1, 2}, true, false, true);
}

}  // namespace
