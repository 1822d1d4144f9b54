// SPDX-License-Identifier: Apache-2.0
// nvcuda::wmma: matrix products of a warp, in every shape and type of the header.
#include <algorithm>

#include "tests/emulator/ops/slow_floats.h"
#include "tests/emulator/programs/cuda_library.h"

namespace ak::emulator::test {
namespace {

constexpr int kTiles = 3;

// Small integers are exact in every type, and so are their products and sums; bits of 16-bit floats.
std::uint16_t f16(int value) {
  return static_cast<std::uint16_t>(slow_f16().round(value, 0, Direction::nearest));
}
std::uint16_t bf16(int value) {
  return static_cast<std::uint16_t>(slow_bf16().round(value, 0, Direction::nearest));
}

template <class T>
std::vector<T> converted(const std::vector<int>& values, T (*convert)(int)) {
  std::vector<T> result;
  for (const int value : values) result.push_back(convert(value));
  return result;
}
template <class T>
T number(int value) {
  return static_cast<T>(value);
}

struct Shape {
  int m, n, k;
};

/// C + A B of small integers; A and C row-major, B column-major.
struct Product {
  std::vector<int> a, b, c, expected;
  explicit Product(Shape shape, int least = -4) {
    const int k = shape.k * kTiles;
    const auto shifted = [&](int count, std::uint64_t seed) {
      auto values = random_integers<int>(static_cast<std::size_t>(count), 9, seed);
      for (int& value : values) value += least;
      return values;
    };
    a = shifted(shape.m * k, 1);
    b = shifted(shape.n * k, 2);
    c = shifted(shape.m * shape.n, 3);
    expected = c;
    for (int i = 0; i < shape.m; ++i) {
      for (int j = 0; j < shape.n; ++j) {
        for (int l = 0; l < k; ++l) expected[i * shape.n + j] += a[i * k + l] * b[j * k + l];
      }
    }
  }
};

template <class In, class Out>
void check_product(const std::string& kernel, Shape shape, In (*in)(int), Out (*out)(int), Arch arch,
                   int least = -4) {
  INFO(kernel << " for " << arch.sm());
  const Product product(shape, least);
  CudaProgram program = library_kernel("wmma.cu", kernel, arch);
  LaunchRequest request;
  request.block = {32, 1, 1};
  const auto c = program.upload(converted(product.c, out));
  program.argument(program.upload(converted(product.a, in)))
      .argument(program.upload(converted(product.b, in)))
      .argument(c)
      .argument(kTiles);
  program.launch_cleanly(request);
  check_equal(program.download<Out>(c, product.c.size()), converted(product.expected, out), kernel);
}

void check_turing_products(Arch arch) {
  check_product("f16_f32", {16, 16, 16}, f16, number<float>, arch);
  check_product("f16_wide", {8, 32, 16}, f16, number<float>, arch);
  check_product("f16_tall", {32, 8, 16}, f16, number<float>, arch);
  check_product("f16_f16", {16, 16, 16}, f16, f16, arch);
  check_product("s8", {16, 16, 16}, number<std::int8_t>, number<int>, arch);
  check_product("u8", {32, 8, 16}, number<std::uint8_t>, number<int>, arch, 0);
}

}  // namespace

TEST_CASE("nvcuda::wmma multiplies halves and bytes") {
  check_turing_products({9, 0, 'a'});
  check_product("bf16", {16, 16, 16}, bf16, number<float>, {9, 0, 'a'});
  check_product("tf32", {16, 16, 8}, number<float>, number<float>, {9, 0, 'a'});
  check_product("f64", {8, 8, 4}, number<double>, number<double>, {9, 0, 'a'});
}

TEST_CASE("nvcuda::wmma works on tiles in shared memory and on elements of fragments") {
  std::vector<int> a = random_integers<int>(256, 9, 4), b = random_integers<int>(256, 9, 5);
  for (int& value : a) value -= 4;
  for (int& value : b) value -= 4;
  std::vector<float> expected(256);
  for (int i = 0; i < 256; ++i) {
    int sum = 0;
    for (int l = 0; l < 16; ++l) sum += a[i / 16 * 16 + l] * b[l * 16 + i % 16];
    expected[i] = static_cast<float>(std::max(sum, 0));
  }
  CudaProgram program = library_kernel("wmma.cu", "from_shared");
  for_each_order(1, 32, [&](LaunchRequest request) {
    const auto c = program.memory(256 * 4);
    program.argument(program.upload(converted(a, f16)))
        .argument(program.upload(converted(b, f16)))
        .argument(c);
    program.launch_cleanly(request);
    check_equal(program.download<float>(c, 256), expected);
  });
}

TEST_CASE("nvcuda::wmma multiplies as older and newer devices do") {
  check_turing_products({7, 5, 0});
  check_turing_products({12, 0, 'a'});
}

}  // namespace ak::emulator::test
