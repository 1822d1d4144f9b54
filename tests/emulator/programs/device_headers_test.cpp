// SPDX-License-Identifier: Apache-2.0
// The device headers (templates/include/ak), one by one, against a model of what each promises.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/plan/random_input.h"
#include "emulator/numbers/small_floats.h"
#include "runtime/emulated/emulated_tensor_map.h"
#include "tests/emulator/programs/cuda_library.h"

namespace ak::emulator::test {
namespace {

CudaProgram header_program(const std::string& kernel) { return library_kernel("device_headers.cu", kernel); }

LaunchRequest blocks_of(std::uint32_t blocks, std::uint32_t threads, std::uint32_t rows = 1) {
  LaunchRequest request;
  request.grid = {blocks, 1, 1};
  request.block = {threads, rows, 1};
  request.options.instruction_budget = 50'000'000;
  return request;
}

std::vector<float> numbers(std::size_t count, std::uint64_t seed = 1) {
  std::vector<float> values;
  for (const int value : random_integers<int>(count, 2001, seed))
    values.push_back(static_cast<float>(value - 1000));
  return values;
}

std::vector<std::uint16_t> halves(const std::vector<float>& values) {
  std::vector<std::uint16_t> result;
  for (const float value : values) result.push_back(static_cast<std::uint16_t>(float_to_f16(value)));
  return result;
}

double gelu(double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }
double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

struct alignas(128) HeaderTensorMap {
  CUtensorMap map;
};

/// Of `lines` lines of `columns` halves, boxes of 8 lines of 64, swizzled in 128 bytes.
HeaderTensorMap map_of_halves(std::uint64_t address, std::uint64_t columns, std::uint64_t lines) {
  HeaderTensorMap map;
  const cuuint64_t dims[] = {columns, lines}, strides[] = {columns * 2};
  const cuuint32_t box[] = {64, 8}, steps[] = {1, 1};
  REQUIRE(runtime::encode_emulated_tensor_map(
              &map.map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, reinterpret_cast<void*>(address), dims, strides,
              box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

/// Of floats, with these extents, innermost first, and boxes of 16 floats in all.
HeaderTensorMap map_of_floats(std::uint64_t address, const std::vector<cuuint64_t>& extents,
                              const std::vector<cuuint32_t>& box) {
  HeaderTensorMap map;
  std::vector<cuuint64_t> strides;
  for (std::uint64_t d = 0, bytes = 4; d + 1 < extents.size(); ++d) strides.push_back(bytes *= extents[d]);
  const std::vector<cuuint32_t> steps(extents.size(), 1);
  REQUIRE(runtime::encode_emulated_tensor_map(
              &map.map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, static_cast<cuuint32_t>(extents.size()),
              reinterpret_cast<void*>(address), extents.data(), strides.data(), box.data(), steps.data(),
              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

}  // namespace

TEST_CASE("ak/vectors.cuh loads and stores packs of every width with every hint") {
  CudaProgram program = header_program("vectors");
  const auto bytes = random_integers<std::uint8_t>(320, 256);
  const auto y = program.memory(320);
  program.argument(program.upload(bytes)).argument(y);
  program.launch_cleanly(blocks_of(1, 8));
  check_equal(program.download<std::uint8_t>(y, 320), bytes);
}

TEST_CASE("ak/vectors.cuh adds the elements of a pack up") {
  CudaProgram program = header_program("pack_sums");
  const auto values = numbers(32 * 8);
  std::vector<float> expected(32);
  for (std::size_t i = 0; i < values.size(); ++i) expected[i / 8] += values[i];
  const auto y = program.memory(128);
  program.argument(program.upload(halves(values))).argument(y);
  program.launch_cleanly(blocks_of(1, 32));
  check_equal(program.download<float>(y, 32), expected);
}

TEST_CASE("ak/reduce.cuh gives every thread of a row its sum and its maximum") {
  CudaProgram program = header_program("rows");
  const auto x = numbers(256);
  std::vector<float> sums(256), maxima(256);
  for (int i = 0; i < 256; ++i) {
    const auto row = x.begin() + i / 128 * 128;
    sums[i] = std::accumulate(row, row + 128, 0.0f);
    maxima[i] = *std::max_element(row, row + 128);
  }
  for (const std::uint64_t seed : {0, 1, 2}) {
    LaunchRequest request = blocks_of(1, 128, 2);
    request.options.seed = seed;
    const auto got_sums = program.memory(1024), got_maxima = program.memory(1024);
    program.argument(program.upload(x)).argument(got_sums).argument(got_maxima);
    program.launch_cleanly(request);
    check_equal(program.download<float>(got_sums, 256), sums);
    check_equal(program.download<float>(got_maxima, 256), maxima);
  }
}

TEST_CASE("ak/reduce.cuh combines neighbouring lanes, and a block into its first thread") {
  CudaProgram program = header_program("lanes");
  const auto x = numbers(32);
  std::vector<float> eight(32), quad(32);
  for (int i = 0; i < 32; ++i) {
    eight[i] = std::accumulate(x.begin() + i / 8 * 8, x.begin() + i / 8 * 8 + 8, 0.0f);
    quad[i] = *std::min_element(x.begin() + i / 4 * 4, x.begin() + i / 4 * 4 + 4);
  }
  const auto got_eight = program.memory(128), got_quad = program.memory(128);
  program.argument(program.upload(x)).argument(got_eight).argument(got_quad);
  program.launch_cleanly(blocks_of(1, 32));
  check_equal(program.download<float>(got_eight, 32), eight);
  check_equal(program.download<float>(got_quad, 32), quad);

  CudaProgram block = header_program("whole_block");
  const auto many = numbers(256);
  const auto y = block.memory(4);
  block.argument(block.upload(many)).argument(y);
  block.launch_cleanly(blocks_of(1, 256));
  check_equal(block.download<float>(y, 1), std::vector{std::accumulate(many.begin(), many.end(), 0.0f)});
}

TEST_CASE("ak/handover.cuh lets one block see what all others wrote, and blocks take turns") {
  for (const std::uint64_t seed : {0, 1, 2}) {
    CudaProgram last = header_program("last_block_adds");
    LaunchRequest request = blocks_of(9, 64);
    request.options.seed = seed;
    const auto total = last.memory(4);
    last.argument(last.memory(36)).argument(last.upload(std::vector<std::uint32_t>{0})).argument(total);
    last.launch_cleanly(request);
    check_equal(last.download<int>(total, 1), std::vector{45});

    CudaProgram turns = header_program("in_turn");
    const auto state = turns.upload(std::vector<int>{1});
    turns.argument(turns.upload(std::vector<std::uint32_t>{0})).argument(state);
    request.grid = {5, 1, 1};
    turns.launch_cleanly(request);
    int expected = 1;
    for (int block = 0; block < 5; ++block) expected = expected * 3 + block;
    check_equal(turns.download<int>(state, 1), std::vector{expected});
  }
}

TEST_CASE("ak/radix.cuh moves keys by a digit, those with the same one in order") {
  constexpr int kKeys = 700;
  const auto keys = random_integers<int>(kKeys, 65536);
  const auto digit = [&](int place) { return keys[static_cast<std::size_t>(place)] >> 8; };
  std::vector<int> order(kKeys), moved;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return digit(a) < digit(b); });
  for (const int place : order) moved.push_back(keys[static_cast<std::size_t>(place)]);
  for_each_order(3, 256, [&](const LaunchRequest& request) {
    CudaProgram counting = header_program("count_bytes");
    const auto counts = counting.upload(std::vector<int>(512));
    counting.argument(counting.upload(keys)).argument(kKeys).argument(counts);
    counting.argument(counting.upload(std::vector<int>(1)));
    counting.launch_cleanly(request);
    CudaProgram moving = header_program("move_by_byte");
    const auto to = moving.memory(kKeys * 4), places = moving.memory(kKeys * 4);
    moving.argument(moving.upload(keys)).argument(kKeys);
    moving.argument(moving.upload(counting.download<int>(counts, 512)));
    moving.argument(moving.upload(std::vector<int>(3 * 256))).argument(moving.upload(std::vector<int>(1)));
    moving.argument(to).argument(places);
    moving.launch_cleanly(request);
    check_equal(moving.download<int>(to, kKeys), moved);
    check_equal(moving.download<int>(places, kKeys), order);
  });
}

TEST_CASE("ak/barriers.cuh runs a ring that never overtakes its readers") {
  constexpr int kSteps = 11;
  const auto x = random_integers<int>(kSteps * 64, 1000);
  std::vector<int> doubled;
  for (const int value : x) doubled.push_back(2 * value);
  CudaProgram program = header_program("ring");
  for_each_order(1, 64, [&](LaunchRequest request) {
    const auto y = program.memory(kSteps * 256);
    program.argument(program.upload(x)).argument(y).argument(kSteps);
    program.launch_cleanly(request);
    check_equal(program.download<int>(y, doubled.size()), doubled);
  });
}

TEST_CASE("ak/threads.cuh hands over at a named barrier, and makes lane 0's value uniform") {
  CudaProgram program = header_program("named_barriers");
  std::vector<int> expected;
  for (int lane = 0; lane < 32; ++lane) expected.push_back((31 - lane) * 7 + 1);
  for_each_order(1, 64, [&](LaunchRequest request) {
    const auto y = program.memory(128);
    program.argument(y);
    program.launch_cleanly(request);
    check_equal(program.download<int>(y, 32), expected);
  });
}

TEST_CASE("ak/unaligned_rows.cuh takes every element of a row once, wherever it begins") {
  CudaProgram program = header_program("row_copy");
  const std::vector<std::uint16_t> x = halves(numbers(64));
  for (const std::size_t begin : {0, 1, 5, 8, 15}) {
    for (const std::size_t count : {0, 1, 3, 8, 21, 49}) {
      std::vector<std::uint16_t> expected(64);
      std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(begin), count,
                  expected.begin() + static_cast<std::ptrdiff_t>(begin));
      const auto y = program.upload(std::vector<std::uint16_t>(64));
      program.argument(program.upload(x) + 2 * begin).argument(y + 2 * begin);
      program.argument(static_cast<int>(count));
      program.launch_cleanly(blocks_of(1, 4));
      check_equal(program.download<std::uint16_t>(y, 64), expected);
    }
  }
}

TEST_CASE(
    "ak/unaligned_rows.cuh adds exponentials up relative to their maximum, also of threads without any") {
  CudaProgram program = header_program("exp_sums");
  std::vector<float> x = numbers(128);
  for (float& value : x) value /= 64;
  double maximum = -1e30, sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % 64 != 5) maximum = std::max<double>(maximum, x[i]);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % 64 != 5) sum += std::exp(x[i] - maximum);
  const auto maxima = program.memory(256), sums = program.memory(256);
  program.argument(program.upload(x)).argument(maxima).argument(sums);
  program.launch_cleanly(blocks_of(1, 64));
  check_equal(program.download<float>(maxima, 64), std::vector<float>(64, static_cast<float>(maximum)));
  for (const float got : program.download<float>(sums, 64)) CHECK(got == Approx(sum).epsilon(1e-5));
}

TEST_CASE("ak/select.cuh sorts by number, then by place, with NaN above all") {
  std::vector<float> x = numbers(256);
  for (float& value : x) value = std::floor(value / 100);  // many equals
  x[7] = x[200] = std::numeric_limits<float>::quiet_NaN();
  x[8] = std::numeric_limits<float>::infinity();
  x[9] = -std::numeric_limits<float>::infinity();
  x[10] = -0.0f;
  x[11] = 0.0f;
  std::vector<int> order(256);
  std::iota(order.begin(), order.end(), 0);
  const auto larger = [&](int a, int b) {
    if (std::isnan(x[a]) || std::isnan(x[b])) return std::isnan(x[a]) && !std::isnan(x[b]);
    return x[a] > x[b];
  };
  std::ranges::stable_sort(order, larger);
  CudaProgram program = header_program("sorted");
  const auto got_numbers = program.memory(1024), places = program.memory(1024);
  program.argument(program.upload(x)).argument(got_numbers).argument(places);
  program.launch_cleanly(blocks_of(1, 128));
  check_equal(program.download<int>(places, 256), order);
  const auto values = program.download<float>(got_numbers, 256);
  CHECK((std::isnan(values[0]) && std::isnan(values[1])));
  for (std::size_t i = 2; i < 256; ++i) CHECK(values[i] == x[static_cast<std::size_t>(order[i])]);
}

TEST_CASE("ak/select.cuh lets a warp go through its ranks in order") {
  const std::vector<float> x = numbers(96);
  std::vector<int> order(96);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return x[a] > x[b]; });
  CudaProgram program = header_program("one_by_one");
  const auto places = program.memory(384);
  program.argument(program.upload(x)).argument(places);
  program.launch_cleanly(blocks_of(1, 32));
  check_equal(program.download<int>(places, 96), order);
}

TEST_CASE("ak/clusters.cuh gives every thread of a cluster the sum over its blocks") {
  CudaProgram program = header_program("cluster_sums");
  const auto x = numbers(8 * 64);
  std::vector<float> expected;
  for (int i = 0; i < 8 * 64; ++i) {
    const auto cluster = x.begin() + i / 256 * 256;
    expected.push_back(std::accumulate(cluster, cluster + 256, 0.0f) +
                       1000.0f * static_cast<float>(i / 64 % 4));
  }
  for_each_order(8, 64, [&](LaunchRequest request) {
    request.cluster = {4, 1, 1};
    const auto y = program.memory(expected.size() * 4);
    program.argument(program.upload(x)).argument(y);
    program.launch_cleanly(request);
    check_equal(program.download<float>(y, expected.size()), expected);
  });
}

TEST_CASE("ak/clusters.cuh reads vectors of another block") {
  CudaProgram program = header_program("neighbours_vectors");
  std::vector<float> expected;
  for (int i = 0; i < 256; ++i) expected.push_back(static_cast<float>((i + 128) % 256));
  const auto y = program.memory(1024);
  program.argument(y);
  LaunchRequest request = blocks_of(2, 32);
  request.cluster = {2, 1, 1};
  program.launch_cleanly(request);
  check_equal(program.download<float>(y, 256), expected);
}

TEST_CASE("ak/rows.cuh holds rows in lanes, in warps and in a cluster, and reduces over them") {
  struct Shape {
    const char* kernel;
    std::uint32_t blocks, threads, rows, cluster;
    std::size_t columns;
  };
  for (const Shape& shape :
       {Shape{"rows_in_lanes", 2, 16, 4, 1, 50}, Shape{"rows_in_warps", 3, 64, 2, 1, 254},
        Shape{"row_in_cluster", 8, 512, 1, 4, 6002}}) {
    INFO(shape.kernel);
    CudaProgram program = header_program(shape.kernel);
    const std::size_t count = shape.blocks / shape.cluster * shape.rows, n = shape.columns;
    const auto x = numbers(count * n);
    std::vector<float> first_of_vectors;
    for (std::size_t i = 0; i < x.size(); i += 2) first_of_vectors.push_back(x[i]);
    const auto squares = program.memory(count * 4), firsts = program.memory(x.size() * 2);
    LaunchRequest request = blocks_of(shape.blocks, shape.threads, shape.rows);
    request.cluster = {shape.cluster, 1, 1};
    program.argument(program.upload(x)).argument(squares).argument(firsts).argument(static_cast<int>(n));
    program.launch_cleanly(request);
    check_equal(program.download<float>(firsts, x.size() / 2), first_of_vectors);
    const auto got = program.download<float>(squares, count);
    for (std::size_t row = 0; row < count; ++row) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * n),
                 end = begin + static_cast<std::ptrdiff_t>(n);
      const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(n);
      const double expected = std::accumulate(
          begin, end, 0.0, [&](double sum, float value) { return sum + (value - mean) * (value - mean); });
      CHECK(got[row] == Approx(expected).epsilon(1e-5));
    }
  }
}

TEST_CASE("ak/rows.cuh reads a long row vector by vector, and zeros up to a whole round") {
  constexpr std::size_t kColumns = 1100;  // four rounds of 32 threads and two vectors, and a part of one
  CudaProgram program = header_program("row_by_vectors");
  const auto x = numbers(kColumns);
  std::vector<float> expected(32, 0.0f);
  for (std::size_t i = 0; i < kColumns; ++i) expected[i / 4 % 32] += x[i];
  const auto sums = program.memory(32 * 4);
  program.argument(program.upload(x)).argument(sums).argument(static_cast<int>(kColumns));
  program.launch_cleanly(blocks_of(1, 32));
  check_equal(program.download<float>(sums, 32), expected);
}

TEST_CASE("ak/tma.cuh brings a box and writes it back, and ak/swizzle.cuh finds its chunks") {
  constexpr int kColumns = 128, kLines = 16;
  const auto x = random_integers<std::uint16_t>(kColumns * kLines, 30000);
  CudaProgram program = header_program("tma_box");
  const auto from = program.upload(x), chunks = program.memory(128), to = program.memory(64 * kLines * 2);
  LaunchRequest request = blocks_of(1, 64);
  request.dynamic_shared_bytes = 1024;
  program.argument(map_of_halves(from, kColumns, kLines))
      .argument(map_of_halves(to, 64, kLines))
      .argument(chunks);
  program.launch_cleanly(request);
  std::vector<std::uint16_t> first_of_chunks, box;
  for (int line = 0; line < 8; ++line) {
    for (int column = 0; column < 64; ++column) {
      const std::uint16_t value = x[static_cast<std::size_t>((8 + line) * kColumns + 64 + column)];
      box.push_back(value);
      if (column % 8 == 0) first_of_chunks.push_back(value);
    }
  }
  check_equal(program.download<std::uint16_t>(chunks, 64), first_of_chunks);
  check_equal(program.download<std::uint16_t>(to + 64 * 8 * 2, 512), box);
}

TEST_CASE("ak/tma.cuh brings one box to all blocks of a cluster") {
  const auto x = random_integers<std::uint16_t>(64 * 8, 30000);
  CudaProgram program = header_program("tma_multicast");
  const auto from = program.upload(x), y = program.memory(32);
  LaunchRequest request = blocks_of(2, 8);
  request.cluster = {2, 1, 1};
  request.dynamic_shared_bytes = 1024;
  program.argument(map_of_halves(from, 64, 8)).argument(y);
  program.launch_cleanly(request);
  std::vector<std::uint16_t> expected;
  for (int i = 0; i < 16; ++i) expected.push_back(x[static_cast<std::size_t>(i % 8 * 64)]);
  check_equal(program.download<std::uint16_t>(y, 16), expected);
}

TEST_CASE("ak/tma.cuh knows boxes of 1, 3 and 4 dimensions, adds them and stores them") {
  const auto x = numbers(8 * 4 * 3 * 4);
  CudaProgram program = header_program("tma_dimensions");
  const auto from = program.upload(x), sums = program.upload(std::vector<float>(3 * 16)),
             last = program.memory(64);
  program.argument(map_of_floats(from, {384}, {16}))
      .argument(map_of_floats(from, {8, 4, 12}, {4, 2, 2}))
      .argument(map_of_floats(from, {8, 4, 3, 4}, {4, 2, 1, 2}))
      .argument(map_of_floats(sums, {16, 3}, {16, 1}))
      .argument(map_of_floats(last, {4, 2, 2}, {4, 2, 2}));
  program.launch_cleanly(blocks_of(1, 32));
  std::vector<float> doubled, stored;
  for (std::size_t i = 0; i < 16; ++i) doubled.push_back(2 * x[8 + i]);
  const auto at = [&](std::size_t a, std::size_t b, std::size_t c) { return x[a + 8 * b + 32 * c]; };
  for (std::size_t i = 0; i < 16; ++i) doubled.push_back(2 * at(4 + i % 4, 1 + i / 4 % 2, 1 + i / 8));
  for (std::size_t i = 0; i < 16; ++i) stored.push_back(at(4 + i % 4, i / 4 % 2, 1 + 3 * (2 + i / 8)));
  for (const float value : stored) doubled.push_back(2 * value);
  check_equal(program.download<float>(sums, 48), doubled);
  check_equal(program.download<float>(last, 16), stored);
}

TEST_CASE("ak/barriers.cuh has copies arrive, and blocks of a cluster at each other's barriers") {
  CudaProgram copies = header_program("copies_arrive");
  const auto x = random_integers<int>(128, 1000);
  std::vector<int> expected;
  for (std::size_t i = 0; i < 32; ++i) expected.push_back(x[127 - i * 4]);
  const auto y = copies.memory(128);
  copies.argument(copies.upload(x)).argument(y);
  copies.launch_cleanly(blocks_of(1, 32));
  check_equal(copies.download<int>(y, 32), expected);

  CudaProgram cluster = header_program("neighbours");
  LaunchRequest request = blocks_of(4, 32);
  request.cluster = {4, 1, 1};
  const auto of_next = cluster.memory(512);
  cluster.argument(of_next);
  cluster.launch_cleanly(request);
  std::vector<float> next;
  for (int i = 0; i < 128; ++i) next.push_back(10.0f + static_cast<float>((i / 32 + 1) % 4));
  check_equal(cluster.download<float>(of_next, 128), next);
}

TEST_CASE("ak/copies.cuh keeps copies under way, and brings zeros where nothing is") {
  constexpr int kSteps = 5, kCount = 4 * 128 + 60;
  const auto x = random_integers<int>(kSteps * 128, 1000);
  std::vector<int> expected;
  for (int i = 0; i < kSteps * 128; ++i) {
    const int from = i / 128 * 128 + 127 - i % 128;
    expected.push_back(from < kCount ? x[static_cast<std::size_t>(from)] : 0);
  }
  CudaProgram program = header_program("copies");
  for_each_order(1, 32, [&](LaunchRequest request) {
    const auto y = program.memory(expected.size() * 4);
    program.argument(program.upload(x)).argument(y).argument(kSteps).argument(kCount);
    program.launch_cleanly(request);
    check_equal(program.download<int>(y, expected.size()), expected);
  });
}

TEST_CASE("ak/copies.cuh copies 4 and 8 bytes, too") {
  const auto x = random_integers<int>(96, 1000);
  std::vector<int> expected = x;
  std::fill(expected.begin() + 64, expected.end(), 0);
  CudaProgram program = header_program("small_copies");
  const auto y = program.memory(384);
  program.argument(program.upload(x)).argument(y);
  program.launch_cleanly(blocks_of(1, 32));
  check_equal(program.download<int>(y, 96), expected);
}

TEST_CASE("ak/copies.cuh copies the first bytes of a word or a pair, and zeros behind them") {
  const auto x = random_integers<std::uint8_t>(384, 256);
  std::vector<std::uint8_t> expected = x;
  for (std::size_t i = 0; i < 384; ++i) {
    const bool inside = i < 128 ? i % 4 < i / 4 % 5 : i % 8 < (i - 128) / 8 % 9;
    if (!inside) expected[i] = 0;
  }
  CudaProgram program = header_program("heads");
  const auto y = program.memory(384);
  program.argument(program.upload(x)).argument(y);
  program.launch_cleanly(blocks_of(1, 32));
  check_equal(program.download<std::uint8_t>(y, 384), expected);
}

TEST_CASE("ak/pad.cuh lengthens lines to whole chunks, with zeros behind them") {
  constexpr int kLines = 13, kWidth = 21, kPitch = 24;
  const auto x = random_integers<std::uint16_t>(kLines * kWidth, 30000);
  std::vector<std::uint16_t> expected;
  for (int i = 0; i < kLines * kPitch; ++i) {
    const int column = i % kPitch;
    expected.push_back(column < kWidth ? x[static_cast<std::size_t>(i / kPitch * kWidth + column)] : 0);
  }
  CudaProgram program = header_program("padded");
  const auto y = program.memory(expected.size() * 2);
  program.argument(program.upload(x)).argument(y).argument(kLines).argument(kWidth).argument(kPitch);
  program.launch_cleanly(blocks_of(2, 64));
  check_equal(program.download<std::uint16_t>(y, expected.size()), expected);
}

TEST_CASE("ak/pixels.cuh copies what a filter's taps find, and zeros for padding and behind the ends") {
  constexpr int kChannels = 24, kSlices = 3;
  const auto x = random_integers<std::uint16_t>(3 * 5 * 4 * kChannels, 30000);
  std::vector<std::uint16_t> expected;
  for (int i = 0; i < kSlices * 16 * 64; ++i) {
    const int pixel = 4 + i / 64 % 16, k = i / 1024 * 64 + i % 64, tap = k / kChannels;
    const int row = pixel / 2 % 2 * 2 - 1 + tap / 2 * 2, column = pixel % 2 * 2 - 1 + tap % 2 * 2;
    const bool inside = pixel < 12 && tap < 6 && row >= 0 && row < 5 && column >= 0 && column < 4;
    const int at = ((pixel / 4 * 5 + row) * 4 + column) * kChannels + k % kChannels;
    expected.push_back(inside ? x[static_cast<std::size_t>(at)] : 0);
  }
  CudaProgram program = header_program("pixel_slices");
  const auto y = program.memory(expected.size() * 2);
  program.argument(program.upload(x)).argument(y).argument(kSlices);
  program.launch_cleanly(blocks_of(1, 32));
  check_equal(program.download<std::uint16_t>(y, expected.size()), expected);
}

TEST_CASE("ak/functions.cuh agrees with the functions in double precision") {
  std::vector<float> x;
  for (int i = -80; i <= 80; ++i) x.push_back(static_cast<float>(i) / 8.0f + 0.03f);
  CudaProgram program = header_program("functions");
  const auto y = program.memory(x.size() * 12 * 4);
  program.argument(program.upload(x)).argument(y).argument(static_cast<int>(x.size()));
  program.launch_cleanly(blocks_of(1, 64));
  const auto got = program.download<float>(y, x.size() * 12);
  using Function = double (*)(double);
  const Function functions[] = {[](double v) { return std::max(v, 0.0); },
                                silu,
                                gelu,
                                silu,
                                gelu_tanh,
                                gelu_tanh,
                                gelu,
                                [](double v) { return std::exp(v); },
                                [](double v) { return 1 / v; },
                                [](double v) { return 2 * silu(v); },
                                [](double v) { return 3 * gelu(v); },
                                [](double v) { return 4 * gelu_tanh(v); }};
  for (std::size_t f = 0; f < 12; ++f) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = functions[f](x[i]);
      INFO("function " << f << " of " << x[i]);
      REQUIRE(std::abs(got[f * x.size() + i] - expected) <= 4e-6 * std::max(1.0, std::abs(expected)));
    }
  }
}

TEST_CASE("a power of two without the special function unit is near it, 1 at 0, and 0 for what is masked") {
  std::vector<float> x{0.0f, -127.0f, -1000.0f, -std::numeric_limits<float>::infinity()};
  for (int i = -1260; i <= 1270; ++i) x.push_back(static_cast<float>(i) / 10.0f);
  CudaProgram program = header_program("powers_of_two");
  const auto powers = program.memory(x.size() * 4), larger = program.memory(x.size() * 4);
  program.argument(program.upload(x)).argument(powers).argument(larger).argument(static_cast<int>(x.size()));
  program.launch_cleanly(blocks_of(1, 64));
  const auto got = program.download<float>(powers, x.size());
  check_equal(std::vector<float>(got.begin(), got.begin() + 4), std::vector<float>{1, 0, 0, 0});
  for (std::size_t i = 4; i < x.size(); ++i) {
    INFO("2^" << x[i]);
    REQUIRE(std::abs(got[i] / std::exp2(static_cast<double>(x[i])) - 1) <= 1.1e-4);
  }
}

TEST_CASE("a maximum that keeps NaN is NaN where one number is") {
  const std::vector<float> x{0.25f, 2.0f, std::numeric_limits<float>::quiet_NaN(),
                             -std::numeric_limits<float>::infinity()};
  CudaProgram program = header_program("powers_of_two");
  const auto powers = program.memory(x.size() * 4), larger = program.memory(x.size() * 4);
  program.argument(program.upload(x)).argument(powers).argument(larger).argument(static_cast<int>(x.size()));
  program.launch_cleanly(blocks_of(1, 64));
  const auto got = program.download<float>(larger, x.size());
  CHECK(got[0] == 0.5f);
  CHECK(got[1] == 2.0f);
  CHECK(std::isnan(got[2]));
  CHECK(got[3] == 0.5f);
}

TEST_CASE("ak/epilogue.cuh applies its steps in order") {
  const auto sums = numbers(32), bias = numbers(8, 2), residual = numbers(32, 3);
  const std::vector<float> rows{1, 2, 4, 8, 1, 2, 4, 8};
  std::vector<float> expected;
  for (int i = 0; i < 32; ++i)
    expected.push_back(
        std::max(sums[i] * 2 * rows[i / 8] * rows[i % 8] + bias[i % 8] + 0.5f * residual[i], 0.0f));
  CudaProgram program = header_program("epilogue");
  const auto y = program.memory(128);
  program.argument(program.upload(sums))
      .argument(program.upload(halves(bias)))
      .argument(program.upload(halves(residual)))
      .argument(program.upload(rows))
      .argument(y);
  program.launch_cleanly(blocks_of(1, 8, 4));
  check_equal(program.download<float>(y, 32), expected);
}

TEST_CASE("ak/philox.cuh draws the words of the host's philox4x32") {
  constexpr std::uint64_t kSeed = 0x0123456789abcdefull, kFirst = 0xfffffff0ull;
  CudaProgram program = header_program("random_words");
  const auto y = program.memory(32 * 16);
  program.argument(kSeed).argument(kFirst).argument(5u).argument(y);
  program.launch_cleanly(blocks_of(1, 32));
  std::vector<std::uint32_t> expected;
  for (std::uint64_t i = 0; i < 32; ++i) {
    const std::uint64_t index = kFirst + i;
    for (const std::uint32_t word :
         philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 5, 0},
                    {0x89abcdef, 0x01234567}))
      expected.push_back(word);
  }
  check_equal(program.download<std::uint32_t>(y, 128), expected);
}

TEST_CASE("ak/philox.cuh drops the same elements four by four and one by one, as many as it is asked to") {
  constexpr int kCount = 16 * 32 * 4;
  CudaProgram program = header_program("dropout");
  const auto four = program.memory(kCount * 4), single = program.memory(kCount * 4);
  program.argument(std::uint64_t{7}).argument(0.25f).argument(four).argument(single);
  program.launch_cleanly(blocks_of(16, 32));
  const auto got = program.download<float>(four, kCount);
  check_equal(program.download<float>(single, kCount), got);
  std::vector<float> expected;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const std::uint32_t word = philox4x32({i / 4, 0, 0, 0}, {7, 0})[i % 4];
    expected.push_back((word >> 8) < (1u << 22) ? 0.0f : 1.0f / 0.75f);
  }
  check_equal(got, expected);
  CHECK(std::ranges::count(got, 0.0f) == Approx(kCount / 4).epsilon(0.15));
}

TEST_CASE("ak/philox.cuh chooses eight by eight and one by one what dropout leaves") {
  constexpr std::uint32_t kCount = 4 * 32 * 8;
  CudaProgram program = header_program("chosen");
  const auto eight = program.memory(kCount), single = program.memory(kCount);
  program.argument(std::uint64_t{7}).argument(0.25f).argument(eight).argument(single);
  program.launch_cleanly(blocks_of(4, 32));
  std::vector<std::uint8_t> expected;
  for (std::uint32_t i = 0; i < kCount; ++i)
    expected.push_back((philox4x32({i / 4, 0, 0, 0}, {7, 0})[i % 4] >> 8) >= (1u << 22) ? 1 : 0);
  check_equal(program.download<std::uint8_t>(eight, kCount), expected);
  check_equal(program.download<std::uint8_t>(single, kCount), expected);
}

TEST_CASE("ak/narrow.cuh rounds to fp8 without the instruction, too") {
  constexpr std::uint32_t kCount = 64 * 256;
  // Eight octaves each, below the smallest normal numbers and beyond the largest; the last begins at -2^-20.
  for (const std::uint32_t first : {0x39800000u, 0x43000000u, 0x47000000u, 0xb5800000u}) {
    INFO(first);
    CudaProgram program = header_program("fp8_of_bits");
    const auto e4m3 = program.memory(kCount), e5m2 = program.memory(kCount);
    program.argument(program.upload(std::vector<std::uint32_t>{first})).argument(e4m3).argument(e5m2);
    program.launch_cleanly(blocks_of(64, 256));
    std::vector<std::uint8_t> expected_e4m3, expected_e5m2;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const auto x = std::bit_cast<float>(first + (i << 12));
      expected_e4m3.push_back(static_cast<std::uint8_t>(encode<kE4m3>(std::clamp(x, -448.0f, 448.0f))));
      expected_e5m2.push_back(static_cast<std::uint8_t>(encode<kE5m2>(std::clamp(x, -57344.0f, 57344.0f))));
    }
    check_equal(program.download<std::uint8_t>(e4m3, kCount), expected_e4m3);
    check_equal(program.download<std::uint8_t>(e5m2, kCount), expected_e5m2);
  }
}

TEST_CASE("ak/narrow.cuh quantises with the scale of the largest magnitude, also of zeros") {
  for (const float largest : {-7.5f, 0.0f}) {
    INFO(largest);
    std::vector<float> x(32, 0.0f);
    x[3] = largest;
    x[9] = -largest / 4;
    CudaProgram program = header_program("quantised");
    const auto codes = program.memory(96), scales = program.memory(12);
    program.argument(program.upload(x)).argument(codes).argument(scales);
    program.launch_cleanly(blocks_of(1, 32));
    std::vector<std::uint8_t> expected(96, 0);
    if (largest != 0.0f) {
      expected[3] = 0xfe;   // -448
      expected[9] = 0x6e;   // 112
      expected[35] = 0xfb;  // -57344
      expected[41] = 0x73;  // 14336
      expected[67] = 0x81;  // -127
      expected[73] = 0x20;  // 31.75
    }
    auto got = program.download<std::uint8_t>(codes, 96);
    for (std::uint8_t& code : got)  // zeros have signs
      if (code == 0x80) code = 0;
    check_equal(got, expected);
    const float floor = std::max(std::abs(largest), 0x1p-100f);
    check_equal(program.download<float>(scales, 3),
                std::vector<float>{floor / 448, floor / 57344, floor / 127});
  }
}

TEST_CASE("ak/narrow.cuh rounds to fp8 and saturates, and reads it back") {
  const std::vector<float> x{1.0f, -2.5f, 0.3f, 1000.0f, 448.0f, 0.001f, -1e6f, 57344.0f};
  CudaProgram program = header_program("fp8");
  const auto e4m3 = program.memory(8), e5m2 = program.memory(8), back = program.memory(32);
  program.argument(program.upload(x)).argument(e4m3).argument(e5m2).argument(back);
  program.launch_cleanly(blocks_of(1, 2));
  const auto got = program.download<float>(back, 8);
  std::vector<std::uint8_t> expected_e4m3, expected_e5m2;
  std::vector<float> expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    expected_e4m3.push_back(static_cast<std::uint8_t>(encode<kE4m3>(std::clamp(x[i], -448.0f, 448.0f))));
    expected_e5m2.push_back(static_cast<std::uint8_t>(encode<kE5m2>(std::clamp(x[i], -57344.0f, 57344.0f))));
    expected.push_back(i % 4 < 2 ? decode<kE4m3>(expected_e4m3[i]) : decode<kE5m2>(expected_e5m2[i]));
  }
  check_equal(program.download<std::uint8_t>(e4m3, 8), expected_e4m3);
  check_equal(program.download<std::uint8_t>(e5m2, 8), expected_e5m2);
  check_equal(got, expected);
}

TEST_CASE("ak/narrow.cuh unpacks all sixteen 4-bit numbers in every place") {
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < 16; ++i) words.push_back(i * 0x11111111u + 0x76543210u);
  std::vector<float> less_8, less_3;
  std::vector<int> with_sign;
  for (const std::uint32_t word : words) {
    for (int i = 0; i < 8; ++i) {
      const int bits = static_cast<int>(word >> (4 * i) & 15u);
      less_8.push_back(static_cast<float>(bits - 8));
      less_3.push_back(static_cast<float>(bits - 3));
      with_sign.push_back(bits < 8 ? bits : bits - 16);
    }
  }
  CudaProgram program = header_program("four_bits");
  const auto h = program.memory(512), b = program.memory(512), whole = program.memory(512),
             again = program.memory(64);
  program.argument(program.upload(words)).argument(h).argument(b).argument(whole).argument(again);
  program.launch_cleanly(blocks_of(1, 16));
  check_equal(program.download<float>(h, 128), less_8);
  check_equal(program.download<float>(b, 128), less_3);
  check_equal(program.download<int>(whole, 128), with_sign);
  check_equal(program.download<std::uint32_t>(again, 16), words);
}

TEST_CASE("ak/narrow.cuh rounds to int8, and ak/elements.cuh to pairs and tf32") {
  CudaProgram bytes = header_program("eight_bits");
  const auto word = bytes.memory(4);
  bytes.argument(bytes.upload(std::vector{2.5f, -3.5f, 200.0f, -1e9f})).argument(word);
  bytes.launch_cleanly(blocks_of(1, 1));
  check_equal(bytes.download<std::int8_t>(word, 4), std::vector<int>{2, -4, 127, -128});

  CudaProgram program = header_program("pairs");
  const auto y = program.memory(12), back = program.memory(16);
  program.argument(program.upload(std::vector{1.5f, -0.7f, std::bit_cast<float>(0x3f801000u)}))
      .argument(y)
      .argument(back);
  program.launch_cleanly(blocks_of(1, 1));
  const auto got = program.download<std::uint32_t>(y, 3);
  CHECK(got[0] == (float_to_bf16(1.5f) | float_to_bf16(-0.7f) << 16));
  CHECK(got[1] == (float_to_f16(1.5f) | float_to_f16(-0.7f) << 16));
  CHECK(got[2] == 0x3f802000u);
  check_equal(program.download<float>(back, 4), std::vector{1.5f, bf16_to_float(float_to_bf16(-0.7f)), 1.5f,
                                                            f16_to_float(float_to_f16(-0.7f))});
}

TEST_CASE("ak/tiles.cuh makes every tile once, in groups of rows, and shares every slice once") {
  constexpr int kDown = 7, kAcross = 5;
  CudaProgram grouped = header_program("grouped");
  const auto counts = grouped.upload(std::vector<int>(kDown * kAcross)),
             rows = grouped.memory(kDown * kAcross * 4);
  grouped.argument(counts).argument(rows).argument(kDown).argument(kAcross);
  grouped.launch_cleanly(blocks_of(1, 32));
  check_equal(grouped.download<int>(counts, kDown * kAcross), std::vector<int>(kDown * kAcross, 1));
  const auto order = grouped.download<int>(rows, kDown * kAcross);
  CHECK(*std::max_element(order.begin(), order.begin() + 4 * kAcross) ==
        3);  // the first group of four rows comes first

  for (const std::uint32_t blocks : {1u, 4u, 13u}) {
    constexpr int kTiles = 6, kSlices = 11;
    CudaProgram program = header_program("shared_slices");
    const auto slices = program.upload(std::vector<int>(kTiles * kSlices)),
               owners = program.upload(std::vector<int>(kTiles));
    program.argument(slices).argument(owners).argument(kTiles).argument(kSlices);
    program.launch_cleanly(blocks_of(blocks, 1));
    check_equal(program.download<int>(slices, kTiles * kSlices), std::vector<int>(kTiles * kSlices, 11));
    check_equal(program.download<int>(owners, kTiles), std::vector<int>(kTiles, 101));
  }
}

TEST_CASE("ak/stream_k.cuh makes every tile of all of its slices, whoever had them") {
  constexpr int kSlices = 5;
  for (const std::string kind : {"streamed_sums<true>", "streamed_sums<false>"}) {
    for (const auto& [tiles, blocks] : {std::pair{1, 4u}, {6, 4u}, {7, 3u}, {9, 9u}, {20, 13u}}) {
      INFO(kind << ": " << tiles << " tiles, " << blocks << " blocks");
      std::vector<int> expected;
      for (int tile = 0; tile < tiles; ++tile) {
        for (int thread = 0; thread < 128; ++thread) {
          expected.push_back((tile * kSlices * kSlices + kSlices * (kSlices - 1) / 2) * thread);
          expected.push_back(kSlices);
        }
      }
      CudaProgram program = header_program(kind);
      const auto totals = program.memory(expected.size() * 4);
      program.argument(program.memory(std::size_t{blocks} * 256 * 4))
          .argument(program.upload(std::vector<std::uint32_t>(blocks)))
          .argument(totals)
          .argument(tiles)
          .argument(kSlices);
      program.launch_cleanly(blocks_of(blocks, 128));
      check_equal(program.download<int>(totals, expected.size()), expected);
    }
  }
}

TEST_CASE("ak/barriers.cuh skips stages of a ring as if it went through them") {
  CudaProgram program = header_program("skipped_stages");
  const auto places = program.memory(16);
  program.argument(places);
  program.launch_cleanly(blocks_of(1, 1));
  check_equal(program.download<int>(places, 4), std::vector{2, 2, 1, 1});
}

TEST_CASE("ak/product_epilogue.cuh scales, adds, activates and quantises, and leaves what is outside alone") {
  for (const int n : {32, 23}) {  // vectors of results, and single ones
    constexpr int kRows = 13;
    const auto bias = numbers(32, 2), residual = numbers(kRows * 32, 3);
    std::vector<float> rows(16), columns(32);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = 0.25f * static_cast<float>(i % 5);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 1.0f + static_cast<float>(i);
    const std::vector<float> scalars{2.0f, 0.5f, 4.0f};  // alpha, beta, scale of the result
    std::vector<std::int8_t> expected(std::size_t{kRows} * n + 8, 77);
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < n; ++column) {
        const float sum = static_cast<float>(row) * 0.5f + static_cast<float>(column) - 10.0f;
        const float x = scalars[0] * (sum * (rows[row] * columns[column])) +
                        scalars[1] * residual[static_cast<std::size_t>(row * n + column)] + bias[column];
        const float code = std::nearbyint(std::max(x, 0.0f) * (1.0f / scalars[2]));
        expected[static_cast<std::size_t>(row * n + column)] =
            static_cast<std::int8_t>(std::clamp(code, -128.0f, 127.0f));
      }
    }
    CudaProgram program = header_program("epilogue_of_everything");
    const auto c = program.upload(std::vector<std::int8_t>(expected.size(), 77));
    program.argument(program.upload(bias)).argument(program.upload(residual)).argument(program.upload(rows));
    program.argument(program.upload(columns)).argument(program.upload(scalars)).argument(c);
    program.argument(kRows).argument(n);
    program.launch_cleanly(blocks_of(1, 32));
    check_equal(program.download<std::int8_t>(c, expected.size()), expected);
  }
}

TEST_CASE(
    "ak/product_epilogue.cuh gates pairs, drops elements by their place in the batch, and adds a residual") {
  constexpr int kRows = 16, kColumns = 16;
  const std::uint64_t first = kRows * kColumns;  // of the second matrix
  const std::vector<float> residual(first * 2, 1000.0f), p{0.5f};
  const std::vector<std::int64_t> seed{0x123456789abcdef};
  CudaProgram program = header_program("epilogue_of_pairs");
  const auto c = program.upload(std::vector<float>(first * 2, -1.0f));
  program.argument(program.upload(residual))
      .argument(program.upload(seed))
      .argument(program.upload(p))
      .argument(c);
  program.argument(kRows).argument(2 * kColumns);
  program.launch_cleanly(blocks_of(1, 32));
  const auto got = program.download<float>(c, first * 2);
  CHECK(got[first - 1] == -1.0f);
  std::size_t dropped = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const std::size_t at = first + static_cast<std::size_t>(row * kColumns + column);
      const double gate = row * 0.5 + 2 * column - 10, up = gate + 1;
      if (got[at] == 1000.0f) {
        ++dropped;
      } else {
        CHECK(got[at] == Approx(1000 + 2 * silu(gate) * up).margin(1e-3));
      }
    }
  }
  CHECK(dropped > first / 3);
  CHECK(dropped < first * 2 / 3);
}

namespace {

/// What tiles_by_... find: group, number in the group, begin and count of its rows.
std::vector<int> tiles_of(const std::vector<std::pair<int, int>>& rows, int height, int across) {
  std::vector<int> found;
  for (std::size_t group = 0; group < rows.size(); ++group) {
    const auto [begin, count] = rows[group];
    for (int tile = 0; tile < (count + height - 1) / height * across; ++tile)
      found.insert(found.end(), {static_cast<int>(group), tile, begin, count});
  }
  return found;
}

void check_tiles(const std::string& kernel, const std::vector<int>& input,
                 const std::vector<std::pair<int, int>>& rows) {
  const auto expected = tiles_of(rows, 16, 3);
  CudaProgram program = header_program(kernel);
  const auto found = program.memory(expected.size() * 4 + 16);
  program.argument(program.upload(input)).argument(static_cast<int>(rows.size())).argument(16).argument(3);
  program.argument(found);
  program.launch_cleanly(blocks_of(5, 32));
  check_equal(program.download<int>(found, expected.size()), expected);
}

/// 40 of 50 rows of small integers, multiplied with 32 lines.
struct GatheredProduct {
  static constexpr int kCount = 40, kLines = 32;
  int depth;
  std::vector<float> a, b;
  std::vector<int> rows;

  explicit GatheredProduct(int of) : depth(of) {
    for (const int value : random_integers<int>(static_cast<std::size_t>(50 * depth), 7, 1))
      a.push_back(static_cast<float>(value - 3));
    for (const int value : random_integers<int>(static_cast<std::size_t>(kLines * depth), 7, 2))
      b.push_back(static_cast<float>(value - 3));
    rows = random_integers<int>(kCount, 50, 3);
  }
  [[nodiscard]] float at(int row, int line) const {
    float sum = 0;
    for (int k = 0; row < kCount && k < depth; ++k)
      sum += a[static_cast<std::size_t>(rows[static_cast<std::size_t>(row)] * depth + k)] *
             b[static_cast<std::size_t>(line * depth + k)];
    return sum;
  }
};

}  // namespace

TEST_CASE("ak/groups.cuh finds every tile of every group, whatever their sizes") {
  std::vector<int> offsets{0};
  std::vector<std::pair<int, int>> rows;
  for (const int count : random_integers<int>(70, 50)) {
    rows.emplace_back(offsets.back(), count < 15 ? 0 : count);
    offsets.push_back(offsets.back() + rows.back().second);
  }
  check_tiles("tiles_by_offsets", offsets, rows);
  std::vector<int> counts;
  for (std::size_t group = 0; group < rows.size(); ++group) {
    rows[group].first = static_cast<int>(group) * 100;
    counts.push_back(rows[group].second);
  }
  check_tiles("tiles_by_counts", counts, rows);
}

TEST_CASE("ak/routing.cuh sorts pairs by expert, equal ones in order, and adds their results up") {
  constexpr int kTokens = 300, kChoices = 2, kPairs = kTokens * kChoices, kExperts = 40;
  auto ids = random_integers<int>(kPairs, kExperts);
  for (int& id : ids) id = id % 7 == 0 ? 5 : id;  // some experts are never chosen
  std::vector<int> order(kPairs), places(kPairs), offsets(kExperts + 1);
  std::iota(order.begin(), order.end(), 0);
  const auto expert = [&](int pair) { return ids[static_cast<std::size_t>(pair)]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return expert(a) < expert(b); });
  for (int place = 0; place < kPairs; ++place)
    places[static_cast<std::size_t>(order[static_cast<std::size_t>(place)])] = place;
  for (const int id : ids) ++offsets[static_cast<std::size_t>(id) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());

  CudaProgram counting = header_program("count_choices");
  const auto counts = counting.memory(3 * kExperts * 4);
  counting.argument(counting.upload(ids)).argument(kPairs).argument(kExperts).argument(counts);
  counting.launch_cleanly(blocks_of(3, 256));
  CudaProgram sorting = header_program("sort_choices");
  const auto of_experts = sorting.memory(offsets.size() * 4), in_order = sorting.memory(kPairs * 4),
             of_pairs = sorting.memory(kPairs * 4);
  sorting.argument(sorting.upload(ids)).argument(kPairs).argument(kExperts);
  sorting.argument(sorting.upload(counting.download<int>(counts, 3 * kExperts)));
  sorting.argument(of_experts).argument(in_order).argument(of_pairs);
  sorting.launch_cleanly(blocks_of(3, 256));
  check_equal(sorting.download<int>(of_experts, offsets.size()), offsets);
  check_equal(sorting.download<int>(in_order, kPairs), order);
  check_equal(sorting.download<int>(of_pairs, kPairs), places);

  std::vector<float> results, weights, sums(kTokens * 16);
  for (const int value : random_integers<int>(kPairs * 16, 9))
    results.push_back(static_cast<float>(value - 4));
  for (const int value : random_integers<int>(kPairs, 5, 2))
    weights.push_back(static_cast<float>(value) * 0.25f);
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    for (std::size_t i = 0; i < 16; ++i)
      sums[pair / kChoices * 16 + i] +=
          weights[pair] * results[static_cast<std::size_t>(places[pair]) * 16 + i];
  }
  CudaProgram adding = header_program("combine");
  const auto out = adding.memory(sums.size() * 2);
  adding.argument(adding.upload(halves(results))).argument(adding.upload(places));
  adding.argument(adding.upload(weights)).argument(out).argument(kTokens).argument(kChoices);
  adding.launch_cleanly(blocks_of(3, 256));
  check_equal(adding.download<std::uint16_t>(out, sums.size()), halves(sums));
}

TEST_CASE("ak/decode.cuh adds parts of the keys by their sums, and leaves out parts without a key") {
  constexpr std::size_t kLines = 3, kSplits = 5, kUsed = 4, kColumns = 8;
  const float none = -std::numeric_limits<float>::infinity();
  const auto means = numbers(kLines * kSplits * kColumns);
  const std::vector<float> logarithms{1,    3,   none, -2,   100,  none, none, 200,
                                      none, 100, none, none, none, none, 100};
  const bool clustered = GENERATE(false, true);
  INFO((clustered ? "parts of the blocks of a cluster" : "parts in memory"));
  CudaProgram program = header_program(clustered ? "decoded_in_cluster" : "decoded");
  const auto o = program.memory(kLines * kColumns * 2), lse = program.memory(kLines * 4);
  program.argument(program.upload(means)).argument(program.upload(logarithms)).argument(o).argument(lse);
  program.argument(static_cast<int>(kSplits)).argument(static_cast<int>(kUsed));
  LaunchRequest request = blocks_of(clustered ? kSplits : 1, kLines * 2);
  if (clustered) request.cluster = {kSplits, 1, 1};
  program.launch_cleanly(request);
  const auto results = program.download<std::uint16_t>(o, kLines * kColumns);
  const auto sums = program.download<float>(lse, kLines);
  for (std::size_t line = 0; line < kLines; ++line) {
    double sum = 0;
    std::array<double, kColumns> expected{};
    for (std::size_t split = 0; split < kUsed; ++split) {
      const double weight = std::exp2(static_cast<double>(logarithms[line * kSplits + split]));
      sum += weight;
      for (std::size_t c = 0; c < kColumns; ++c)
        expected[c] += weight * static_cast<double>(means[(line * kSplits + split) * kColumns + c]);
    }
    INFO("line " << line);
    if (sum == 0)
      CHECK(sums[line] == none);
    else
      CHECK(std::abs(static_cast<double>(sums[line]) - std::log(sum)) <= 1e-5 * std::abs(std::log(sum)));
    for (std::size_t c = 0; c < kColumns; ++c) {
      const double mean = sum == 0 ? 0 : expected[c] / sum;
      CHECK(std::abs(static_cast<double>(f16_to_float(results[line * kColumns + c])) - mean) <=
            1e-3 * std::max(1.0, std::abs(mean)));
    }
  }
}

TEST_CASE("ak/decode.cuh finds the line of every row, and the keys that it sees") {
  constexpr int kQueries = 3, kHeads = 4, kKeyHeads = 2, kLength = 10;
  CudaProgram program = header_program("decode_rows");
  const auto found = program.memory(kQueries * kHeads * 8);
  program.argument(found).argument(kQueries).argument(kHeads).argument(kKeyHeads).argument(kLength);
  program.launch_cleanly(blocks_of(1, kQueries * kHeads));
  std::vector<int> expected;
  for (int key_head = 0; key_head < kKeyHeads; ++key_head) {
    for (int query = 0; query < kQueries; ++query) {
      for (const int head : {key_head * 2, key_head * 2 + 1}) {
        expected.push_back((kQueries + query) * kHeads + head);
        expected.push_back(kLength - kQueries + 1 + query);
      }
    }
  }
  check_equal(program.download<int>(found, expected.size()), expected);
}

TEST_CASE("ak/attention.cuh finds the keys that queries see, and the tiles of them") {
  constexpr int kQueries = 9, kKeys = 12;
  CudaProgram program = header_program("seen_keys");
  const auto found = program.memory(kQueries * 16);
  program.argument(found).argument(kQueries).argument(kKeys);
  program.launch_cleanly(blocks_of(1, kQueries));
  std::vector<int> expected;
  for (int query = 0; query < kQueries; ++query) {
    const int position = query + kKeys - kQueries, last = std::min(position + 2, kKeys - 1);
    const int begin = std::max(position - 4, 0);
    for (const int value : {begin, position + 1, begin / 4, last / 4 + 1}) expected.push_back(value);
  }
  check_equal(program.download<int>(found, expected.size()), expected);
}

TEST_CASE("ak/attention.cuh lays values along keys, in the order of weights, with zeros behind the last") {
  constexpr std::size_t kKeys = 150, kPitch = 256, kColumns = 32, kHeads = 2;
  std::vector<std::uint8_t> values(kHeads * kKeys * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i % 251 + 1);
  CudaProgram program = header_program("values_along_keys");
  const auto lines = program.memory(kHeads * kColumns * kPitch);
  program.argument(program.upload(values)).argument(lines).argument(static_cast<int>(kKeys));
  LaunchRequest request = blocks_of(kPitch / 128, 256);
  request.grid = {kPitch / 128, 1, kHeads};
  program.launch_cleanly(request);
  std::vector<std::uint8_t> expected(kHeads * kColumns * kPitch);
  for (std::size_t at = 0; at < expected.size(); ++at) {
    const std::size_t slot = at % kPitch, column = at / kPitch % kColumns, head = at / kPitch / kColumns;
    const std::size_t key = slot / 16 * 16 + slot / 2 % 2 * 8 + slot / 4 % 4 * 2 + slot % 2;
    if (key < kKeys) expected[at] = values[(head * kKeys + key) * kColumns + column];
  }
  check_equal(program.download<std::uint8_t>(lines, expected.size()), expected);
}

TEST_CASE("ak/attention.cuh caps scores softly, and takes the distance times the head's slope off") {
  const std::vector<float> products{0, 1e-3f, -4, 120, 4000, -1e9f}, slopes{9, 0.5f};
  CudaProgram program = header_program("score_exponents");
  const auto out = program.memory(products.size() * 4);
  program.argument(program.upload(products)).argument(program.upload(slopes)).argument(out);
  program.launch_cleanly(blocks_of(1, static_cast<unsigned>(products.size())));
  const auto exponents = program.download<float>(out, products.size());
  for (std::size_t i = 0; i < products.size(); ++i) {
    const double score = 30 * std::tanh(static_cast<double>(products[i]) / 4 / 30);
    const double expected = (score - 0.5 * std::abs(static_cast<double>(i) - 3)) / std::log(2.0);
    CHECK(std::abs(static_cast<double>(exponents[i]) - expected) <= 1e-6 * std::max(1.0, std::abs(expected)));
  }
}

TEST_CASE("ak/panels.cuh writes the rows and columns of a panel that are asked for, and no others") {
  CudaProgram program = header_program("panel");
  const auto out = program.upload(std::vector<std::uint16_t>(64 * 72));
  program.argument(out).argument(37).argument(40);
  program.launch_cleanly(blocks_of(1, 128));
  std::vector<float> expected(64 * 72);
  for (std::size_t row = 0; row < 37; ++row) {
    for (std::size_t column = 0; column < 40; ++column)
      expected[row * 72 + column] = static_cast<float>((row * 64 + column) % 2048);
  }
  check_equal(program.download<std::uint16_t>(out, expected.size()), halves(expected));
}

TEST_CASE("ak/block_product.cuh multiplies lines from anywhere, and stores the rows that are asked for") {
  for (const int depth : {8, 32, 200}) {
    INFO("depth " << depth);
    const GatheredProduct product(depth);
    CudaProgram program = header_program("gathered_product");
    const auto c = program.memory(GatheredProduct::kCount * 24 * 2);
    program.argument(program.upload(halves(product.a))).argument(program.upload(product.rows));
    program.argument(program.upload(halves(product.b)))
        .argument(c)
        .argument(GatheredProduct::kCount)
        .argument(depth);
    program.launch_cleanly(blocks_of(1, 128));
    std::vector<float> expected;
    for (int row = 0; row < GatheredProduct::kCount; ++row) {
      for (int line = 0; line < 24; ++line) expected.push_back(product.at(row, line));
    }
    check_equal(program.download<std::uint16_t>(c, expected.size()), halves(expected));
  }
}

TEST_CASE("ak/wgmma_ring.cuh multiplies what threads copied, and lets go by what is not for it") {
  for (const int depth : {64, 200}) {
    INFO("depth " << depth);
    const GatheredProduct product(depth);
    CudaProgram program = header_program("ring_product");
    const auto c = program.memory(64 * 32 * 4);
    program.argument(program.upload(halves(product.a))).argument(program.upload(product.rows));
    program.argument(program.upload(halves(product.b)))
        .argument(c)
        .argument(GatheredProduct::kCount)
        .argument(depth);
    program.launch_cleanly(blocks_of(1, 256));
    std::vector<float> expected;
    for (int row = 0; row < 64; ++row) {
      for (int line = 0; line < 32; ++line) expected.push_back(product.at(row, line));
    }
    check_equal(program.download<float>(c, expected.size()), expected);
  }
}

}  // namespace ak::emulator::test
