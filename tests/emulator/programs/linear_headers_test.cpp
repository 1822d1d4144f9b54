// SPDX-License-Identifier: Apache-2.0
// The device headers of linear layers (templates/include/ak), against a model of what each promises.
#include <cuda.h>

#include <array>
#include <cmath>

#include "emulator/numbers/small_floats.h"
#include "runtime/emulated/emulated_tensor_map.h"
#include "tests/emulator/programs/cuda_library.h"
#include "tests/support/daily_sample.h"

namespace ak::emulator::test {
namespace {

CudaProgram linear_program(const std::string& kernel) { return library_kernel("linear_headers.cu", kernel); }

LaunchRequest launch_of(std::array<std::uint32_t, 3> grid, std::uint32_t threads) {
  LaunchRequest request;
  request.grid = grid;
  request.block = {threads, 1, 1};
  request.options.instruction_budget = 50'000'000;
  return request;
}

/// Numbers below `count` in a block of 64 lines that come back from its fragments as `expected` says.
template <class Expected>
void require_fragments(const std::string& format, int depth, int count, Expected expected) {
  INFO(format);
  CudaProgram program = linear_program("fragments<" + format + ">");
  const auto numbers = random_integers<int>(64 * depth, count);
  std::vector<float> values;
  for (int i = 0; i < 64 * depth; ++i) values.push_back(static_cast<float>(expected(i / depth, numbers[i])));
  const auto back = program.memory(values.size() * 4);
  program.argument(program.upload(numbers)).argument(back);
  program.launch_cleanly(launch_of({1, 1, 1}, 128));
  check_equal(program.download<float>(back, values.size()), values);
}

/// `numbers`: how many numbers weights and x have, from 0 on.
struct Layer {
  int rows = 5, lines = 70, k = 288, numbers = 256;
  std::vector<std::int8_t> x = random_integers<std::int8_t>(rows * k, numbers),
                           weight = random_integers<std::int8_t>(lines * k, numbers, 2);

  std::vector<float> results() const {
    std::vector<float> y;
    for (int i = 0; i < rows * lines; ++i) {
      int sum = 0;
      for (int j = 0; j < k; ++j) sum += x[i / lines * k + j] * weight[i % lines * k + j];
      y.push_back(static_cast<float>(sum));
    }
    return y;
  }

  /// Two strips of four blocks, an even number.
  std::vector<std::uint8_t> packed() const {
    CudaProgram program = linear_program("pack_bytes");
    const auto to = program.memory(2 * 4 * 8192);
    program.argument(program.upload(weight)).argument(to).argument(lines).argument(k);
    program.launch_cleanly(launch_of({4, 2, 1}, 128));
    return program.download<std::uint8_t>(to, 2 * 4 * 8192);
  }
};

struct alignas(128) RowsMap {
  CUtensorMap map;
};

RowsMap map_of_rows(std::uint64_t address, const Layer& layer, cuuint32_t rows_of_box) {
  RowsMap map;
  const cuuint64_t dims[] = {static_cast<cuuint64_t>(layer.k), static_cast<cuuint64_t>(layer.rows)},
                   strides[] = {static_cast<cuuint64_t>(layer.k)};
  const cuuint32_t box[] = {128, rows_of_box}, steps[] = {1, 1};
  REQUIRE(runtime::encode_emulated_tensor_map(
              &map.map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, reinterpret_cast<void*>(address), dims, strides,
              box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

}  // namespace

TEST_CASE("ak/packed_weights.cuh gives every lane the weights of its fragments") {
  const auto as_it_is = [](int, int number) { return number; };
  const auto today = [](std::size_t type) { return ak::testing::drawn_today(type, 3); };
  if (today(0)) require_fragments("Bfloats", 64, 256, as_it_is);
  if (today(1)) require_fragments("Bytes", 128, 127, as_it_is);
  if (today(2)) require_fragments("BytesToHalves", 64, 256, [](int, int number) { return number - 128; });
  if (today(3)) require_fragments("BytesToBfloats", 64, 256, [](int, int number) { return number - 128; });
  if (today(4))
    require_fragments("FoursToHalves", 128, 16,
                      [](int line, int number) { return (number - line % 16) * (line % 3 + 1); });
  if (today(5))
    require_fragments("FoursToBfloats", 128, 16,
                      [](int line, int number) { return (number - 8) * (line % 3 + 1); });
}

TEST_CASE("ak/linear_mma.cuh multiplies parts of k, and ak/linear_results.cuh adds them up") {
  const Layer layer;
  CudaProgram program = linear_program("by_mma");
  const auto parts = program.memory(2 * 5 * 70 * 4);
  program.argument(program.upload(layer.x)).argument(program.upload(layer.packed())).argument(parts);
  program.argument(layer.rows).argument(layer.lines).argument(layer.k);
  program.launch_cleanly(launch_of({2, 2, 1}, 128));

  CudaProgram sums = linear_program("add_two");
  const auto y = sums.memory(5 * 70 * 4);
  sums.argument(sums.upload(program.download<int>(parts, 2 * 5 * 70))).argument(y);
  sums.argument(layer.rows).argument(layer.lines);
  sums.launch_cleanly(launch_of({2, 1, 1}, 32));
  check_equal(sums.download<float>(y, 5 * 70), layer.results());
}

TEST_CASE("ak/linear_wgmma.cuh shares a tile along k, or rows of x, among the blocks of a cluster") {
  const Layer layer;
  struct Way {
    const char* kernel;
    std::uint32_t blocks, cluster, rows_of_box;
  };
  for (const Way& way :
       {Way{"by_wgmma<1, 1>", 2, 1, 16}, Way{"by_wgmma<2, 1>", 4, 2, 16}, Way{"by_wgmma<1, 2>", 2, 2, 8}}) {
    INFO(way.kernel);
    CudaProgram program = linear_program(way.kernel);
    const auto x = program.upload(layer.x), y = program.memory(5 * 70 * 4);
    program.argument(map_of_rows(x, layer, way.rows_of_box))
        .argument(program.upload(layer.packed()))
        .argument(y);
    program.argument(layer.rows).argument(layer.lines).argument(layer.k);
    LaunchRequest request = launch_of({way.blocks, 1, 1}, 256);
    request.cluster = {way.cluster, 1, 1};
    request.dynamic_shared_bytes = 1024 + 2 * (16 + 64) * 128 + 16 * 68 * 4 + 32;
    program.launch_cleanly(request);
    check_equal(program.download<float>(y, 5 * 70), layer.results());
  }
}

TEST_CASE("ak/linear_exchange.cuh adds up and writes the results of all parties of a tile") {
  struct Way {
    const char* kernel;  // consumers, K_GROUPS, rows of a tile, SPLIT_K, SHARE
    std::uint32_t tiles, cluster, consumers;
    cuuint32_t rows_of_box;
    int lines;
  };
  constexpr int kRows = 20;
  std::size_t number = 0;
  for (const Way& way : {
           Way{"by_exchange<1, 1, 16, 1, 1>", 2, 1, 1, 16, 70},  // two blocks for four tiles
           Way{"by_exchange<1, 1, 16, 1, 2>", 2, 2, 1, 8, 72},   // shared rows
           Way{"by_exchange<2, 1, 32, 2, 1>", 1, 2, 2, 32, 72},  // a share for each of two blocks
           Way{"by_exchange<1, 1, 16, 4, 1>", 4, 4, 1, 16, 70},  // two shares for four, one of no slice
           Way{"by_exchange<2, 2, 32, 1, 1>", 2, 1, 2, 32, 70},  // two groups of one block
           Way{"by_exchange<2, 2, 8, 2, 1>", 6, 2, 2, 8, 72},    // one share for four parties
       }) {
    if (!ak::testing::drawn_today(number++, 3)) continue;
    INFO(way.kernel);
    const Layer layer{.rows = kRows, .lines = way.lines, .numbers = 3};  // sums are exact in 16 bits
    CudaProgram program = linear_program(way.kernel);
    const auto x = program.upload(layer.x), y = program.memory(kRows * way.lines * 2);
    program.argument(map_of_rows(x, layer, way.rows_of_box))
        .argument(program.upload(layer.packed()))
        .argument(y);
    program.argument(layer.rows).argument(layer.lines).argument(layer.k);
    LaunchRequest request = launch_of({way.tiles * way.cluster, 1, 1}, (way.consumers + 1) * 128);
    request.cluster = {way.cluster, 1, 1};
    // The most that any of them takes.
    request.dynamic_shared_bytes = 1024 + 3 * (32 + 128) * 128 + 3 * 16;
    program.launch_cleanly(request);
    std::vector<float> results;
    for (const std::uint16_t bits : program.download<std::uint16_t>(y, kRows * way.lines))
      results.push_back(f16_to_float(bits));
    check_equal(results, layer.results());
  }
}

TEST_CASE("ak/linear_results.cuh pairs eight gates with what they let through") {
  CudaProgram program = linear_program("gated");
  std::vector<float> sums, expected;
  for (int i = 0; i < 32; ++i) sums.push_back(static_cast<float>(i) / 8 - 2);
  for (int i = 0; i < 11; ++i) {
    const double gate = sums[i / 8 * 16 + i % 8], up = sums[i / 8 * 16 + 8 + i % 8];
    expected.push_back(static_cast<float>(gate / (1 + std::exp(-gate)) * up));
  }
  const auto y = program.memory(11 * 4);
  program.argument(program.upload(sums)).argument(y).argument(11);
  program.launch_cleanly(launch_of({1, 1, 1}, 2));
  const auto results = program.download<float>(y, 11);
  for (int i = 0; i < 11; ++i)
    CHECK(std::abs(results[i] - expected[i]) <= 1e-6 * std::abs(expected[i]) + 1e-7);
}

}  // namespace ak::emulator::test
