// SPDX-License-Identifier: Apache-2.0
// libcu++: atomics of all scopes, barriers, pipelines, asynchronous copies and the standard library's types.
#include <algorithm>
#include <bit>
#include <complex>
#include <numeric>

#include "tests/emulator/programs/cuda_library.h"

namespace ak::emulator::test {
namespace {

CudaProgram libcudacxx(const std::string& kernel, Arch arch = {9, 0, 'a'}) {
  return library_kernel("libcudacxx.cu", kernel, arch);
}

/// Runs a kernel (in, out, rest...) of one block and compares.
template <class... Rest>
void check_block(const std::string& kernel, std::uint32_t threads, const std::vector<int>& in,
                 const std::vector<int>& expected, Rest... rest) {
  INFO(kernel);
  CudaProgram program = libcudacxx(kernel);
  for_each_order(1, threads, [&](LaunchRequest request) {
    const auto out = program.memory(expected.size() * 4);
    program.argument(program.upload(in)).argument(out);
    (program.argument(rest), ...);
    program.launch_cleanly(request);
    check_equal(program.download<int>(out, expected.size()), expected, kernel);
  });
}

/// What `times` calls of count() by all of `threads` threads leave.
void check_counts(const std::string& kernel, std::uint32_t blocks, int times) {
  const int threads = static_cast<int>(blocks) * 64;
  CudaProgram program = libcudacxx(kernel);
  for_each_order(blocks, 64, [&](LaunchRequest request) {
    const auto words = program.upload(std::vector<int>(4)), sums = program.upload(std::vector<float>(1)),
               wide = program.upload(std::vector<std::uint64_t>(2));
    program.argument(words).argument(sums).argument(wide);
    program.launch_cleanly(request);
    std::uint32_t swapped = 0;
    for (int i = 0; i < times * threads; ++i) swapped = swapped * 3 + 1;
    check_equal(program.download<int>(words, 4),
                std::vector<int>{times * threads * (threads - 1) / 2, threads - 1, 0x7FFFFFFF,
                                 static_cast<int>(swapped)});
    CHECK(program.download<float>(sums, 1).front() == 0.5f * static_cast<float>(times * threads));
    std::uint64_t xors = 0;
    for (int i = 0; i < times * threads; ++i) xors ^= static_cast<std::uint64_t>(i % threads) << 20;
    check_equal(program.download<std::uint64_t>(wide, 2),
                std::vector<std::uint64_t>{
                    (std::uint64_t{1} << 33) * static_cast<std::uint64_t>(times * threads), xors});
  });
}

}  // namespace

TEST_CASE("cuda::atomic_ref counts in all scopes") {
  check_counts("atomics", 3, 2);
  check_counts("block_atomics", 1, 1);
}

TEST_CASE("cuda::atomic passes a message to blocks that wait for it") {
  CudaProgram program = libcudacxx("message_passing");
  LaunchRequest request;
  request.grid = {4, 1, 1};
  request.block = {32, 1, 1};
  request.options.seed = 3;
  const auto out = program.upload(std::vector<int>(4));
  program.argument(out);
  program.launch_cleanly(request);
  check_equal(program.download<int>(out, 4), std::vector<int>{0, 42, 42, 42});
}

TEST_CASE("cuda::atomic_ref counts in bytes and shorts") {
  CudaProgram program = libcudacxx("small_atomics");
  for_each_order(1, 128, [&](LaunchRequest request) {
    const auto bytes = program.upload(std::vector<std::uint8_t>(4)),
               shorts = program.upload(std::vector<std::uint16_t>(2));
    program.argument(bytes).argument(shorts);
    program.launch_cleanly(request);
    check_equal(program.download<std::uint8_t>(bytes, 4), std::vector<int>(4, 32));
    check_equal(program.download<std::uint16_t>(shorts, 2), std::vector<int>{126, 127});
  });
}

TEST_CASE("cuda::barrier orders phases") {
  const auto in = random_integers<int>(128, 1000);
  auto values = in;
  for (int round = 0; round < 4; ++round) {
    std::rotate(values.begin(), values.begin() + 1, values.end());
    for (int& value : values) value += round;
  }
  check_block("barriers", 128, in, values);
  const int sum = std::accumulate(in.begin(), in.end(), 0);
  check_block("barrier_completion", 128, in, {sum, sum + 128, sum + 256});
}

TEST_CASE("cuda::memcpy_async arrives at a barrier") {
  const auto in = random_integers<int>(1024, 1000);
  std::vector<int> expected(640);
  for (int i = 0; i < 640; ++i) expected[i] = i < 512 ? in[511 - i] : in[512 + 127 - (i - 512)];
  check_block("copied", 128, in, expected);
}

TEST_CASE("cuda::pipeline hands stages from producers to consumers") {
  constexpr int kTiles = 5;
  const auto in = random_integers<int>(kTiles * 128, 1000);
  std::vector<int> all(128), some(96), own(64);
  for (int tile = 0; tile < kTiles; ++tile) {
    for (int i = 0; i < 128; ++i) all[i] += in[tile * 128 + 127 - i] * (tile + 1);
    for (int i = 0; i < 96; ++i) some[i] += in[tile * 96 + 95 - i] * (tile + 1);
  }
  for (int i = 0; i < 64; ++i) own[i] = in[i] + 10 * in[64 + i];
  check_block("pipelined", 128, in, all, kTiles);
  check_block("specialised", 128, in, some, kTiles);
  check_block("thread_pipeline", 64, in, own);
}

TEST_CASE("cuda::binary_semaphore and latch let threads of one warp take turns") {
  CudaProgram program = libcudacxx("semaphores");
  for_each_order(1, 128, [&](LaunchRequest request) {
    const auto counter = program.upload(std::vector<int>(1)), most = program.upload(std::vector<int>(1));
    program.argument(counter).argument(most);
    program.launch_cleanly(request);
    CHECK(program.download<int>(counter, 1).front() == 8);
    CHECK(program.download<int>(most, 1).front() == 7);
  });
}

TEST_CASE("cuda::std types compute what the host's do") {
  const auto in = random_integers<int>(64, 1000);
  std::vector<float> expected;
  for (int i = 0; i < 64; ++i) {
    std::array<int, 4> values{};
    for (int k = 0; k < 4; ++k) values[(k + i) % 4] = in[(i + k) % 64];
    const int sum = values[1] + values[2] + values[3];
    const std::complex<float> z(static_cast<float>(in[i]), 1.0f), w = z * z / std::complex<float>(2.0f, 1.0f);
    expected.push_back(static_cast<float>((in[i] % 2 == 0 ? in[i] : -1) + sum));
    expected.push_back(w.real() + 0.5f);
    expected.push_back(i % 2 == 0 ? 7.0f : 0.25f);
    expected.push_back(static_cast<float>(std::popcount(static_cast<unsigned>(in[i])) +
                                          100 * std::countl_zero(static_cast<unsigned>(sum))));
  }
  CudaProgram program = libcudacxx("standard_types");
  for_each_order(1, 64, [&](LaunchRequest request) {
    const auto out = program.memory(expected.size() * 4);
    program.argument(program.upload(in)).argument(out);
    program.launch_cleanly(request);
    const auto got = program.download<float>(out, expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(i);
      REQUIRE(got[i] == Approx(expected[i]).epsilon(1e-6));
    }
  });
}

}  // namespace ak::emulator::test
