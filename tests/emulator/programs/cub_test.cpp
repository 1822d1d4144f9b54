// SPDX-License-Identifier: Apache-2.0
// CUB's warp and block primitives as the toolkit has them: results, and no false alarm of the checker.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "tests/emulator/programs/cuda_library.h"

namespace ak::emulator::test {
namespace {

constexpr int kCubThreads = 128, kItems = 4, kAll = kCubThreads * kItems;

CudaProgram cub(const std::string& kernel) { return library_kernel("cub_block.cu", kernel); }

struct Affine {
  std::uint32_t a = 1, b = 0;
  bool operator==(const Affine&) const = default;
};

std::vector<Affine> composed(const std::vector<int>& in) {
  std::vector<Affine> prefix;
  Affine all;
  for (std::uint32_t i = 0; i < kCubThreads; ++i) {
    const Affine next{2 * i + 1, static_cast<std::uint32_t>(in[i])};
    all = i == 0 ? next : Affine{all.a * next.a, next.a * all.b + next.b};
    prefix.push_back(all);
  }
  return prefix;
}

}  // namespace

TEST_CASE("cub::BlockReduce gives the sum by every algorithm") {
  const auto in = random_integers<int>(kAll, 1000);
  constexpr int kValid = 77;
  int most = 0, part = 0;
  for (int i = 0; i < kCubThreads; ++i) {
    most = std::max(most, in[i * kItems]);
    part += i < kValid ? in[i * kItems + 1] : 0;
  }
  const int sum = std::accumulate(in.begin(), in.end(), 0);
  CudaProgram program = cub("block_reduce");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto out = program.memory(9 * 4), maps = program.memory(2 * sizeof(Affine));
    program.argument(program.upload(in)).argument(out).argument(maps).argument(kValid);
    program.launch_cleanly(request);
    check_equal(program.download<int>(out, 9),
                std::vector<int>{sum, most, part, sum, most, part, sum, most, part});
    for (const Affine& map : program.download<Affine>(maps, 2)) CHECK(map == composed(in).back());
  });
}

TEST_CASE("cub::BlockScan gives prefixes by every algorithm") {
  const auto in = random_integers<int>(kAll, 1000);
  std::vector<int> expected(3 * kAll + 1);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  for (int i = 0; i < kAll; ++i) expected[kAll + i] = i == 0 ? 0 : expected[i - 1];
  for (int i = 0; i < 2 * kCubThreads; ++i)
    expected[2 * kAll + i] = 1000 + std::accumulate(in.begin(), in.begin() + i, 0);
  expected.back() = expected[kAll - 1];
  const auto maps = composed(in);
  CudaProgram program = cub("block_scan");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto out = program.memory(3 * expected.size() * 4),
               composed_out = program.memory(3 * kCubThreads * sizeof(Affine));
    program.argument(program.upload(in)).argument(out).argument(composed_out);
    program.launch_cleanly(request);
    for (std::size_t way = 0; way < 3; ++way) {
      auto got = program.download<int>(out + way * expected.size() * 4, expected.size());
      std::fill(got.begin() + 2 * kAll + 2 * kCubThreads, got.end() - 1, 0);  // not written
      check_equal(got, expected, "way " + std::to_string(way));
      CHECK(program.download<Affine>(composed_out + way * kCubThreads * sizeof(Affine), kCubThreads) == maps);
    }
  });
}

TEST_CASE("cub::BlockRadixSort sorts and keeps the order of equal keys") {
  std::vector<float> keys(kAll);
  const auto numbers = random_integers<int>(kAll, 200);
  for (std::size_t i = 0; i < kAll; ++i) keys[i] = static_cast<float>(numbers[i] - 100) * 0.37f;
  std::vector<int> values(kAll), order(kAll);
  std::iota(values.begin(), values.end(), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  std::vector<float> sorted;
  for (const int i : order) sorted.push_back(keys[i]);
  CudaProgram program = cub("sort_floats");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto key = program.upload(keys), value = program.upload(values);
    program.argument(key).argument(value);
    program.launch_cleanly(request);
    check_equal(program.download<float>(key, kAll), sorted);
    check_equal(program.download<int>(value, kAll), order);
  });
}

TEST_CASE("cub::BlockRadixSort sorts 64-bit keys downwards, and by some of their bits") {
  std::mt19937_64 random(3);
  std::vector<long long> keys(kCubThreads * 3);
  for (long long& key : keys) key = static_cast<long long>(random());
  auto sorted = keys;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  CudaProgram wide = cub("sort_wide_descending");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto key = wide.upload(keys);
    wide.argument(key);
    wide.launch_cleanly(request);
    check_equal(wide.download<long long>(key, keys.size()), sorted);
  });
  std::vector<std::uint32_t> words(kCubThreads * 2);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
  auto by_bits = words;
  std::stable_sort(by_bits.begin(), by_bits.end(),
                   [](std::uint32_t a, std::uint32_t b) { return (a >> 8 & 0xFFFF) < (b >> 8 & 0xFFFF); });
  CudaProgram some = cub("sort_some_bits");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto key = some.upload(words);
    some.argument(key);
    some.launch_cleanly(request);
    check_equal(some.download<std::uint32_t>(key, words.size()), by_bits);
  });
}

TEST_CASE("cub::BlockLoad and BlockStore move tiles in every way") {
  const auto in = random_integers<int>(kAll, 1000);
  constexpr int kValid = 333, kWays = 6;
  CudaProgram program = cub("block_load_store");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto out = program.upload(std::vector<int>(2 * kAll * kWays, -7), "output");
    program.argument(program.upload(in)).argument(out).argument(kValid);
    program.launch_cleanly(request);
    std::vector<int> expected;
    for (int way = 0; way < kWays; ++way) {
      const auto item = [&](int i) { return way == 1 ? i / kCubThreads : i % kItems; };
      for (int i = 0; i < kAll; ++i) expected.push_back(i < kValid ? in[i] + 1000 * item(i) : -7);
      for (int i = 0; i < kAll; ++i) expected.push_back(in[i] + 1000 * item(i));
    }
    check_equal(program.download<int>(out, expected.size()), expected);
  });
}

TEST_CASE("cub::BlockHistogram counts by sorting and by atomics") {
  const auto in = random_integers<std::uint8_t>(kAll, 64);
  std::vector<std::uint32_t> expected(128);
  for (const std::uint8_t bin : in) {
    expected[bin] += 2;
    expected[64 + bin] += 2;
  }
  CudaProgram program = cub("block_histogram");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto out = program.memory(128 * 4);
    program.argument(program.upload(in)).argument(out);
    program.launch_cleanly(request);
    check_equal(program.download<std::uint32_t>(out, 128), expected);
  });
}

TEST_CASE("cub::BlockExchange rearranges items") {
  const auto in = random_integers<int>(kAll, 1000);
  std::vector<int> ranks(kAll);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::shuffle(ranks.begin(), ranks.end(), std::mt19937(5));
  std::vector<int> expected(5 * kAll);
  for (int i = 0; i < kAll; ++i) {
    const int thread = i / kItems, item = i % kItems;
    expected[i] = in[item * kCubThreads + thread];
    expected[kAll + i] = expected[3 * kAll + i] = in[i];
    expected[2 * kAll + i] = in[thread / 32 * 32 * kItems + item * 32 + thread % 32];
    expected[4 * kAll + ranks[i]] = in[i];
  }
  CudaProgram program = cub("block_exchange");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto out = program.memory(5 * kAll * 4);
    program.argument(program.upload(in)).argument(out).argument(program.upload(ranks));
    program.launch_cleanly(request);
    check_equal(program.download<int>(out, expected.size()), expected);
  });
}

TEST_CASE("cub::BlockDiscontinuity and BlockAdjacentDifference look at neighbours") {
  const auto in = random_integers<int>(kAll, 3);
  std::vector<int> expected(4 * kAll);
  for (int i = 0; i < kAll; ++i) {
    expected[i] = i == 0 || in[i] != in[i - 1];
    expected[kAll + i] = i == kAll - 1 || in[i] != in[i + 1];
    expected[2 * kAll + i] = i == 0 ? in[i] : in[i] - in[i - 1];
    expected[3 * kAll + i] = i == kAll - 1 ? in[i] : in[i] - in[i + 1];
  }
  CudaProgram program = cub("block_neighbours");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto out = program.memory(4 * kAll * 4);
    program.argument(program.upload(in));
    for (std::uint64_t part = 0; part < 4; ++part) program.argument(out + part * kAll * 4);
    program.launch_cleanly(request);
    check_equal(program.download<int>(out, expected.size()), expected);
  });
}

TEST_CASE("cub::WarpReduce sums over warps and parts of warps") {
  const auto in = random_integers<int>(kCubThreads, 1000);
  for (const int lanes : {32, 8, 7}) {
    INFO(lanes << " lanes");
    const int in_warp = 32 % lanes == 0 ? 32 / lanes : 1;
    std::vector<int> expected(kCubThreads / 32 * in_warp);
    for (int i = 0; i < kCubThreads; ++i) {
      if (i % 32 / lanes < in_warp) expected[i / 32 * in_warp + i % 32 / lanes] += in[i];
    }
    CudaProgram program = cub("warp_reduce_" + std::to_string(lanes));
    for_each_order(1, kCubThreads, [&](LaunchRequest request) {
      const auto out = program.memory(expected.size() * 4);
      program.argument(program.upload(in)).argument(out);
      program.launch_cleanly(request);
      check_equal(program.download<int>(out, expected.size()), expected);
    });
  }
}

TEST_CASE("cub::WarpReduce sums segments") {
  const auto in = random_integers<int>(kCubThreads, 1000);
  std::vector<int> expected(kCubThreads);
  for (int i = 0, head = 0; i < kCubThreads; ++i) {
    if (i % 5 == 0 || i % 32 == 0) head = i;
    expected[head] += in[i];
  }
  CudaProgram program = cub("warp_segments");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto out = program.memory(kCubThreads * 4);
    program.argument(program.upload(in)).argument(out);
    program.launch_cleanly(request);
    check_equal(program.download<int>(out, kCubThreads), expected);
  });
}

TEST_CASE("cub::WarpScan gives prefixes over warps and halves of warps") {
  const auto in = random_integers<int>(kCubThreads, 1000);
  for (const int lanes : {32, 16}) {
    std::vector<int> sums(kCubThreads);
    std::vector<float> most(kCubThreads);
    for (int i = 0; i < kCubThreads; ++i) {
      sums[i] = in[i] + (i % lanes == 0 ? 0 : sums[i - 1]);
      most[i] = i % lanes == 0 ? -1.0f : std::max(most[i - 1], static_cast<float>(in[i - 1]));
    }
    CudaProgram program = cub("warp_scan_" + std::to_string(lanes));
    for_each_order(1, kCubThreads, [&](LaunchRequest request) {
      const auto sums_out = program.memory(kCubThreads * 4), max_out = program.memory(kCubThreads * 4);
      program.argument(program.upload(in)).argument(sums_out).argument(max_out);
      program.launch_cleanly(request);
      check_equal(program.download<int>(sums_out, kCubThreads), sums);
      check_equal(program.download<float>(max_out, kCubThreads), most);
    });
  }
}

TEST_CASE("cub::WarpMergeSort sorts the items of each warp") {
  const auto in = random_integers<int>(kAll, 1000);
  auto sorted = in;
  for (auto at = sorted.begin(); at != sorted.end(); at += 32 * kItems) std::sort(at, at + 32 * kItems);
  CudaProgram program = cub("warp_merge_sort");
  for_each_order(1, kCubThreads, [&](LaunchRequest request) {
    const auto keys = program.upload(in);
    program.argument(keys);
    program.launch_cleanly(request);
    check_equal(program.download<int>(keys, kAll), sorted);
  });
}

}  // namespace ak::emulator::test
