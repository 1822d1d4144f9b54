// SPDX-License-Identifier: Apache-2.0
// Matrix products of the device headers, by element type: small integers are exact in each of them.
#include <cuda.h>

#include <bit>

#include "emulator/numbers/small_floats.h"
#include "runtime/emulated/emulated_tensor_map.h"
#include "tests/emulator/programs/cuda_library.h"

namespace ak::emulator::test {
namespace {

constexpr std::size_t kLineBytes = 32;  // of k, in every product

/// An element type of the headers: its name, size, and how a small integer is stored.
struct ElementType {
  std::string name;
  std::size_t bytes;
  std::uint32_t (*encode)(int);
  bool is_whole = false, is_signed = true;
};

std::uint32_t byte_of(int value) { return static_cast<std::uint8_t>(value); }

const ElementType kF16{"ak::f16", 2, [](int v) { return float_to_f16(static_cast<float>(v)); }};
const ElementType kBf16{"ak::bf16", 2, [](int v) { return float_to_bf16(static_cast<float>(v)); }};
const ElementType kTf32{"ak::tf32", 4,
                        [](int v) { return std::bit_cast<std::uint32_t>(static_cast<float>(v)); }};
const ElementType kFp8{"ak::e4m3", 1,
                       [](int v) { return std::uint32_t{encode<kE4m3>(static_cast<float>(v))}; }};
const ElementType kWideFp8{"ak::e5m2", 1,
                           [](int v) { return std::uint32_t{encode<kE5m2>(static_cast<float>(v))}; }};
const ElementType kS8{"ak::s8", 1, byte_of, true};
const ElementType kU8{"ak::u8", 1, byte_of, true, false};

/// Lines of small integers that run along k.
struct Lines {
  std::vector<int> values;
  std::vector<std::uint8_t> bytes;
  std::size_t depth;

  Lines(const ElementType& type, int lines, std::uint64_t seed) : depth(kLineBytes / type.bytes) {
    values = random_integers<int>(static_cast<std::size_t>(lines) * depth, 8, seed);
    for (int& value : values) {
      if (type.is_signed) value -= 4;
      const std::uint32_t code = type.encode(value);
      for (std::size_t i = 0; i < type.bytes; ++i)
        bytes.push_back(static_cast<std::uint8_t>(code >> (8 * i)));
    }
  }
  [[nodiscard]] int at(int line, std::size_t k) const {
    return values[static_cast<std::size_t>(line) * depth + k];
  }
};

/// factor * a b + added.
std::vector<int> product(const Lines& a, int rows, const Lines& b, int columns, int factor, int added) {
  std::vector<int> c;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      int sum = 0;
      for (std::size_t k = 0; k < a.depth; ++k) sum += a.at(row, k) * b.at(column, k);
      c.push_back(factor * sum + added);
    }
  }
  return c;
}

void check_product(const std::string& kernel, std::uint32_t threads, int rows, int columns,
                   const ElementType& of_a, const ElementType& of_b, int factor, int added,
                   Arch arch = {9, 0, 'a'}) {
  INFO(kernel);
  const Lines a(of_a, rows, 1), b(of_b, columns, 2);
  const auto expected = product(a, rows, b, columns, factor, added);
  CudaProgram program = library_kernel("device_header_products.cu", kernel, arch);
  const auto c = program.memory(expected.size() * 4);
  program.argument(program.upload(a.bytes)).argument(program.upload(b.bytes)).argument(c);
  LaunchRequest request;
  request.block = {threads, 1, 1};
  program.launch_cleanly(request);
  if (of_a.is_whole)
    check_equal(program.download<int>(c, expected.size()), expected);
  else
    check_equal(program.download<float>(c, expected.size()), expected);
}

std::vector<std::uint16_t> random_halves(int count, std::vector<int>& values, std::uint64_t seed) {
  values = random_integers<int>(static_cast<std::size_t>(count), 8, seed);
  std::vector<std::uint16_t> bits;
  for (const int value : values)
    bits.push_back(static_cast<std::uint16_t>(float_to_f16(static_cast<float>(value))));
  return bits;
}

struct alignas(128) TensorMap {
  CUtensorMap map;
};

/// Of `lines` lines of `depth` halves, boxes of 64 halves of `box` lines, swizzled in 128 bytes.
TensorMap map_of_halves(std::uint64_t address, std::uint64_t depth, std::uint64_t lines,
                        std::uint32_t box_lines) {
  TensorMap map;
  const cuuint64_t dims[] = {depth, lines}, strides[] = {depth * 2};
  const cuuint32_t box[] = {64, box_lines}, steps[] = {1, 1};
  REQUIRE(runtime::encode_emulated_tensor_map(
              &map.map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, reinterpret_cast<void*>(address), dims, strides,
              box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

}  // namespace

TEST_CASE("ak/mma.cuh multiplies every element type, with A through ak/fragments.cuh") {
  for (const ElementType& type : {kF16, kBf16, kTf32, kFp8, kWideFp8, kS8, kU8})
    check_product("mma_product<" + type.name + ">", 32, 16, 8, type, type, 1, 1);
}

/// A product of lines that begin anywhere, and what it has to be.
struct OddProduct {
  static constexpr int kRows = 67, kColumns = 65, kDepth = 37;
  std::vector<std::uint16_t> bits_of_a, bits_of_b;
  std::vector<int> expected;

  OddProduct(bool a_across, bool b_across) {
    std::vector<int> a, b;
    bits_of_a = random_halves(kRows * kDepth, a, 4);
    bits_of_b = random_halves(kDepth * kColumns, b, 5);
    const auto at = [](const std::vector<int>& matrix, int line, int place, int width) {
      return matrix[static_cast<std::size_t>(line * width + place)];
    };
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        int sum = 0;
        for (int k = 0; k < kDepth; ++k)
          sum += (a_across ? at(a, k, row, kRows) : at(a, row, k, kDepth)) *
                 (b_across ? at(b, k, column, kColumns) : at(b, column, k, kDepth));
        expected.push_back(sum);
      }
    }
  }

  void check(const std::string& kernel, const LaunchRequest& request) const {
    CudaProgram program = library_kernel("device_header_products.cu", kernel);
    const auto c = program.memory(expected.size() * 4);
    program.argument(program.upload(bits_of_a)).argument(program.upload(bits_of_b)).argument(c);
    program.argument(kRows).argument(kColumns).argument(kDepth);
    program.launch_cleanly(request);
    check_equal(program.download<float>(c, expected.size()), expected);
  }
};

TEST_CASE("ak/ragged.cuh multiplies matrices whose lines begin anywhere, in either layout") {
  LaunchRequest request;
  request.grid = {2, 2, 1};
  request.block = {128, 1, 1};
  OddProduct(true, false).check("ragged<true, false>", request);
  OddProduct(false, true).check("ragged<false, true>", request);
}

TEST_CASE("ak/plain_product.cuh gives every thread its products once, in the order of k") {
  LaunchRequest request;
  request.grid = {5, 5, 1};
  request.block = {16, 16, 1};
  OddProduct(false, false).check("plain", request);
}

TEST_CASE("ak/fragments.cuh transposes matrices on their way back") {
  std::vector<int> values;
  const auto bits = random_halves(256, values, 3);
  std::vector<std::uint16_t> expected;
  for (int i = 0; i < 256; ++i) expected.push_back(bits[static_cast<std::size_t>(i % 16 * 16 + i / 16)]);
  CudaProgram program = library_kernel("device_header_products.cu", "transpose_matrices");
  const auto y = program.memory(512);
  program.argument(program.upload(bits)).argument(y);
  LaunchRequest request;
  request.block = {32, 1, 1};
  program.launch_cleanly(request);
  check_equal(program.download<std::uint16_t>(y, 256), expected);
}

TEST_CASE(
    "ak/wgmma.cuh multiplies operands of 16 bits in every size, from shared memory and from registers") {
  for (const int n : {8, 24, 40, 64, 104, 128, 176, 200, 256})
    check_product("wgmma_product<ak::bf16, " + std::to_string(n) + ">", 128, 64, n, kBf16, kBf16, 2, 0);
  check_product("wgmma_product<ak::f16, 80>", 128, 64, 80, kF16, kF16, 2, 0);
}

TEST_CASE("ak/wgmma_tf32.cuh, wgmma_fp8.cuh and wgmma_int8.cuh multiply their types, mixed ones too") {
  check_product("wgmma_product<ak::tf32, 96>", 128, 64, 96, kTf32, kTf32, 2, 0);
  check_product("wgmma_product<ak::e4m3, 64>", 128, 64, 64, kFp8, kFp8, 2, 0);
  check_product("wgmma_product<ak::e4m3, 48, ak::e5m2>", 128, 64, 48, kFp8, kWideFp8, 2, 0);
  check_product("wgmma_product<ak::e5m2, 16, ak::e4m3>", 128, 64, 16, kWideFp8, kFp8, 2, 0);
  check_product("wgmma_product<ak::s8, 128>", 128, 64, 128, kS8, kS8, 2, 0);
  check_product("wgmma_product<ak::s8, 32, ak::u8>", 128, 64, 32, kS8, kU8, 2, 0);
  check_product("wgmma_product<ak::u8, 24>", 128, 64, 24, kU8, kU8, 2, 0);
}

TEST_CASE("ak/wgmma.cuh multiplies operands that lie across k") {
  std::vector<int> a, b;
  const auto bits_a = random_halves(16 * 64, a, 4), bits_b = random_halves(16 * 64, b, 5);
  std::vector<int> expected;
  for (int i = 0; i < 64 * 64; ++i) {
    int sum = 0;
    for (int k = 0; k < 16; ++k)
      sum += a[static_cast<std::size_t>(k * 64 + i / 64)] * b[static_cast<std::size_t>(k * 64 + i % 64)];
    expected.push_back(sum);
  }
  CudaProgram program = library_kernel("device_header_products.cu", "wgmma_across<ak::f16>");
  const auto c = program.memory(64 * 64 * 4);
  program.argument(program.upload(bits_a)).argument(program.upload(bits_b)).argument(c);
  LaunchRequest request;
  request.block = {128, 1, 1};
  program.launch_cleanly(request);
  check_equal(program.download<float>(c, expected.size()), expected);
}

TEST_CASE("ak/wgmma_pipeline.cuh multiplies tile after tile, by two warp groups together and in turn") {
  constexpr int kRows = 300, kColumns = 40, kDepth = 200;
  std::vector<int> a, b;
  const auto bits_a = random_halves(kRows * kDepth, a, 6), bits_b = random_halves(kColumns * kDepth, b, 7);
  std::vector<int> expected;
  for (int i = 0; i < kRows * kColumns; ++i) {
    int sum = 0;
    for (int k = 0; k < kDepth; ++k)
      sum += a[static_cast<std::size_t>(i / kColumns * kDepth + k)] *
             b[static_cast<std::size_t>(i % kColumns * kDepth + k)];
    expected.push_back(sum);
  }
  for (const bool in_turn : {false, true}) {
    CudaProgram program = library_kernel("device_header_products.cu",
                                         in_turn ? "pipelined_product<true>" : "pipelined_product<false>");
    const auto c = program.memory(expected.size() * 4);
    program.argument(map_of_halves(program.upload(bits_a), kDepth, kRows, in_turn ? 64 : 128))
        .argument(map_of_halves(program.upload(bits_b), kDepth, kColumns, 16))
        .argument(c)
        .argument(kRows)
        .argument(kColumns)
        .argument(kDepth);
    LaunchRequest request;
    request.grid = {2, 1, 1};
    request.block = {384, 1, 1};
    request.dynamic_shared_bytes = 3 * (128 + 16) * 128 + 2048;
    program.launch_cleanly(request);
    check_equal(program.download<float>(c, expected.size()), expected);
  }
}

}  // namespace ak::emulator::test
