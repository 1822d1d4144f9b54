// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: tiles, groups that form at run time, the whole grid and clusters.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "tests/emulator/programs/cuda_library.h"

namespace ak::emulator::test {
namespace {

constexpr int kGroupThreads = 128;

CudaProgram groups(const std::string& kernel) { return library_kernel("cooperative_groups.cu", kernel); }

/// What tile<size> writes.
std::vector<int> tile_results(const std::vector<int>& in, int size) {
  std::vector<int> out(8 * kGroupThreads);
  for (int i = 0; i < kGroupThreads; ++i) {
    const int first = i / size * size;
    std::uint32_t votes = 0;
    int any = 0, all = 2;
    for (int k = first; k < first + size; ++k) {
      out[i] += in[k];
      out[kGroupThreads + i] = std::max(out[kGroupThreads + i], in[k]);
      if (k <= i) out[2 * kGroupThreads + i] += in[k];
      votes |= static_cast<std::uint32_t>(in[k] % 3 == 0) << (k - first);
      any |= in[k] > 90 ? 1 : 0;
      if (in[k] <= 10) all = 0;
    }
    out[3 * kGroupThreads + i] = out[2 * kGroupThreads + i] - in[i];
    out[4 * kGroupThreads + i] = in[i ^ 1];
    out[5 * kGroupThreads + i] = static_cast<int>(votes);
    out[6 * kGroupThreads + i] = any + all;
    out[7 * kGroupThreads + i] = i / size * 100 + i % size;
  }
  return out;
}

/// Runs a kernel (in, out) of one block and compares.
void check_block(const std::string& kernel, const std::vector<int>& in, const std::vector<int>& expected,
                 std::uint32_t threads = kGroupThreads) {
  INFO(kernel);
  CudaProgram program = groups(kernel);
  for_each_order(1, threads, [&](LaunchRequest request) {
    const auto out = program.memory(expected.size() * 4);
    program.argument(program.upload(in)).argument(out);
    program.launch_cleanly(request);
    check_equal(program.download<int>(out, expected.size()), expected, kernel);
  });
}

}  // namespace

TEST_CASE("tiles of threads reduce, scan, shuffle and vote") {
  const auto in = random_integers<int>(kGroupThreads, 100);
  for (const int size : {32, 16, 8, 4})
    check_block("tiles_" + std::to_string(size), in, tile_results(in, size));
}

TEST_CASE("a tile of several warps meets through shared memory") {
  const auto in = random_integers<int>(256, 100);
  std::vector<int> expected(512);
  for (int i = 0; i < 256; ++i) {
    expected[i] = std::accumulate(in.begin() + i / 64 * 64, in.begin() + i / 64 * 64 + 64, 0);
    expected[256 + i] = in[i / 64 * 64 + 40];
  }
  check_block("tiles_64", in, expected, 256);
}

TEST_CASE("threads on one side of a branch form a group") {
  const auto in = random_integers<int>(kGroupThreads, 100);
  std::vector<int> expected;
  for (int i = 0; i < kGroupThreads; ++i) {
    int sum = 0, before = 0, size = 0, first = -1;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) {
      if (in[k] % 2 != in[i] % 2) continue;
      if (first < 0) first = in[k];
      if (in[i] % 2 != 0 || k <= i) sum += in[k];  // odd: the group's sum; even: a prefix
      before += k < i ? 1 : 0;
      ++size;
    }
    expected.insert(expected.end(), {sum, in[i] % 2 != 0 ? before : first, size});
  }
  check_block("coalesced", in, expected);
}

TEST_CASE("labels part a warp into groups") {
  const auto in = random_integers<int>(kGroupThreads, 100);
  std::vector<int> expected;
  for (int i = 0; i < kGroupThreads; ++i) {
    int sum = 0, size = 0, half = 0;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) {
      if (in[k] % 5 == in[i] % 5) {
        sum += in[k];
        ++size;
      }
      half += (in[k] > 50) == (in[i] > 50) ? 1 : 0;
    }
    expected.insert(expected.end(), {sum + 1000000 * half, size});
  }
  check_block("labeled", in, expected);
}

TEST_CASE("threads that are together share an atomic") {
  const auto in = random_integers<int>(512, 100);
  const auto count = static_cast<int>(std::count_if(in.begin(), in.end(), [](int x) { return x > 50; }));
  CudaProgram program = groups("aggregated_count");
  for_each_order(4, kGroupThreads, [&](LaunchRequest request) {
    const auto out = program.upload(std::vector<int>{0});
    program.argument(program.upload(in)).argument(out);
    program.launch_cleanly(request);
    CHECK(program.download<int>(out, 1).front() == count);
  });
}

TEST_CASE("groups copy asynchronously into shared memory") {
  const auto in = random_integers<int>(768, 1000);
  std::vector<int> expected(768);
  for (int i = 0; i < 768; ++i)
    expected[i] = i < 512 ? in[i / 256 * 256 + 255 - i % 256] : in[i / 32 * 32 + 31 - i % 32];
  check_block("copied", in, expected, 256);
}

TEST_CASE("a cooperative grid meets") {
  constexpr int kBlocks = 5, kRounds = 4, kAll = kBlocks * kGroupThreads;
  auto values = random_integers<int>(kAll, 1000);
  const auto start = values;
  for (int round = 0; round < kRounds; ++round) {
    std::rotate(values.begin(), values.begin() + 37, values.end());
    for (int& value : values) ++value;
  }
  CudaProgram program = groups("grid_rounds");
  for_each_order(kBlocks, kGroupThreads, [&](LaunchRequest request) {
    request.cooperative = true;
    const auto memory = program.upload(start);
    program.argument(memory).argument(kRounds);
    program.launch_cleanly(request);
    check_equal(program.download<int>(memory, kAll), values);
  });
}

TEST_CASE("a cooperative grid arrives and waits apart") {
  constexpr int kBlocks = 6, kAll = kBlocks * kGroupThreads;
  const auto in = random_integers<int>(kAll, 1000);
  const int total = std::accumulate(in.begin(), in.end(), 0);
  std::vector<int> expected;
  for (int i = 0; i < kAll; ++i) expected.push_back(total + in[i % kGroupThreads]);
  CudaProgram program = groups("grid_split_barrier");
  for_each_order(kBlocks, kGroupThreads, [&](LaunchRequest request) {
    request.cooperative = true;
    const auto partial = program.upload(std::vector<int>(kBlocks)), out = program.memory(kAll * 4);
    program.argument(program.upload(in)).argument(partial).argument(out);
    program.launch_cleanly(request);
    check_equal(program.download<int>(out, kAll), expected);
  });
}

TEST_CASE("a grid knows whether it is cooperative") {
  CudaProgram program = groups("is_cooperative");
  for (const bool cooperative : {false, true}) {
    LaunchRequest request;
    request.cooperative = cooperative;
    const auto out = program.memory(4);
    program.argument(out);
    program.launch_cleanly(request);
    CHECK(program.download<int>(out, 1).front() == static_cast<int>(cooperative));
  }
}

TEST_CASE("blocks of a cluster read each other's shared memory") {
  constexpr int kBlocks = 8, kAll = kBlocks * kGroupThreads;
  const auto in = random_integers<int>(kAll, 100);
  std::vector<int> expected;
  for (int i = 0; i < kAll; ++i) {
    const int block = i / kGroupThreads, thread = i % kGroupThreads, first = block / 4 * 4;
    int sum = 0;
    for (int other = first; other < first + 4; ++other) sum += in[other * kGroupThreads + thread];
    expected.push_back(sum * 1000 + in[(first + (block + 1) % 4) * kGroupThreads + 127 - thread]);
  }
  CudaProgram program = groups("cluster_exchange");
  for_each_order(kBlocks, kGroupThreads, [&](LaunchRequest request) {
    request.cluster = {4, 1, 1};
    const auto out = program.memory(kAll * 4);
    program.argument(program.upload(in)).argument(out);
    program.launch_cleanly(request);
    check_equal(program.download<int>(out, kAll), expected);
  });
}

TEST_CASE("blocks of a cluster count into each other's shared memory") {
  constexpr int kBlocks = 4;
  const auto in = random_integers<std::uint8_t>(kBlocks * 512, 256);
  std::vector<int> expected(128);
  for (const std::uint8_t bin : in) ++expected[bin % 128];
  CudaProgram program = groups("cluster_histogram");
  for_each_order(kBlocks, kGroupThreads, [&](LaunchRequest request) {
    request.cluster = {2, 1, 1};
    const auto out = program.upload(std::vector<int>(128), "output");
    program.argument(program.upload(in)).argument(out);
    program.launch_cleanly(request);
    check_equal(program.download<int>(out, 128), expected);
  });
}

}  // namespace ak::emulator::test
