// SPDX-License-Identifier: Apache-2.0
// Clusters, mbarriers, bulk and tensor copies and wgmma in CUDA programs, against a model of what they do.
#include <cuda.h>
#include <algorithm>
#include <numeric>

#include "emulator/numbers/small_floats.h"
#include "runtime/emulated/emulated_tensor_map.h"
#include "tests/emulator/programs/cuda_library.h"

namespace ak::emulator::test {
namespace {

CudaProgram program_of(const std::string& kernel) { return library_kernel("async_programs.cu", kernel); }

/// Runs `kernel` (arguments, by clusters) in several orders; `given` adds the arguments, `check` looks.
template <class Given, class Check>
void run_clusters(const std::string& kernel, std::uint32_t blocks, std::uint32_t cluster,
                  std::uint32_t threads, Given given, Check check) {
  INFO(kernel);
  CudaProgram program = program_of(kernel);
  for_each_order(blocks, threads, [&](LaunchRequest request) {
    request.cluster = {cluster, 1, 1};
    given(program);
    program.launch_cleanly(request);
    check(program);
  });
}

bool has(const LaunchReport& report, FaultKind kind) {
  const auto& all = report.findings.all();
  return std::any_of(all.begin(), all.end(), [&](const Finding& f) { return f.kind == kind; });
}

std::vector<int> counted(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

}  // namespace

TEST_CASE("blocks of a cluster arrive early and wait late over many rounds") {
  constexpr int kRounds = 7;
  std::vector<int> expected;
  for (int i = 0; i < 8 * 64; ++i) {
    const int neighbour = (i / 64 % 4 + 1) % 4;
    int sum = 0;
    for (int round = 0; round < kRounds; ++round) sum += neighbour * 100 + round + round * 7;
    expected.push_back(sum);
  }
  std::uint64_t out = 0;
  run_clusters(
      "cluster_rounds", 8, 4, 64,
      [&](CudaProgram& program) {
        out = program.memory(expected.size() * 4);
        program.argument(out).argument(kRounds);
      },
      [&](CudaProgram& program) { check_equal(program.download<int>(out, expected.size()), expected); });
}

TEST_CASE("blocks of a cluster store and count in each other's shared memory") {
  std::vector<int> expected;
  for (int block = 0; block < 8; ++block) {
    const int values[] = {4 * 96, 3095, 10, 11, 12, 13};
    expected.insert(expected.end(), std::begin(values), std::end(values));
  }
  std::uint64_t out = 0;
  run_clusters(
      "cluster_stores", 8, 4, 96,
      [&](CudaProgram& program) {
        out = program.memory(expected.size() * 4);
        program.argument(out);
      },
      [&](CudaProgram& program) { check_equal(program.download<int>(out, expected.size()), expected); });
}

TEST_CASE("blocks of a cluster arrive at each other's mbarriers, phase after phase") {
  constexpr int kRounds = 9;
  std::vector<int> expected;
  for (int round = 0; round < kRounds; ++round) expected.push_back(6000 + 3 * round);
  std::uint64_t out = 0;
  run_clusters(
      "remote_arrivals", 4, 4, 32,
      [&](CudaProgram& program) {
        out = program.memory(kRounds * 4);
        program.argument(out).argument(kRounds);
      },
      [&](CudaProgram& program) { check_equal(program.download<int>(out, kRounds), expected); });
}

TEST_CASE("bulk copies fill a ring of stages and write back what was made of them") {
  constexpr int kTiles = 7, kCount = kTiles * 128;
  std::vector<int> expected = counted(kCount);
  for (int& value : expected) ++value;
  std::uint64_t out = 0;
  run_clusters(
      "bulk_ring", 1, 1, 128,
      [&](CudaProgram& program) {
        out = program.memory(kCount * 4);
        program.argument(program.upload(counted(kCount))).argument(out).argument(kTiles);
      },
      [&](CudaProgram& program) { check_equal(program.download<int>(out, kCount), expected); });
}

TEST_CASE("a bulk copy goes to several blocks of a cluster, and from one's memory to another's") {
  std::vector<int> expected;
  for (int block = 0; block < 2; ++block) {
    for (int i = 0; i < 64; ++i) expected.push_back(i + 1);
    for (int i = 0; i < 64; ++i) expected.push_back(3 * i);
  }
  std::uint64_t out = 0;
  run_clusters(
      "bulk_multicast", 2, 2, 64,
      [&](CudaProgram& program) {
        out = program.memory(expected.size() * 4);
        program.argument(program.upload(counted(64))).argument(out);
      },
      [&](CudaProgram& program) { check_equal(program.download<int>(out, expected.size()), expected); });
}

TEST_CASE("what a bulk copy brings may be read after the wait only") {
  CudaProgram program = program_of("bulk_without_wait");
  LaunchRequest request;
  request.block = {128, 1, 1};
  request.options.instruction_budget = 100'000;
  program.argument(program.upload(counted(128))).argument(program.memory(512));
  CHECK(has(program.launch(request), FaultKind::async_pending));
}

TEST_CASE("a phase that never completes ends with the budget, and names who waits") {
  CudaProgram program = program_of("bulk_too_many_bytes_expected");
  LaunchRequest request;
  request.block = {128, 1, 1};
  request.options.instruction_budget = 100'000;
  program.argument(program.upload(counted(128))).argument(program.memory(512));
  const LaunchReport report = program.launch(request);
  REQUIRE(report.findings.all().size() == 1);
  const Finding& finding = report.findings.all().front();
  CHECK(finding.kind == FaultKind::instruction_budget);
  CHECK(finding.first.thread_known);
  const std::string words = describe(program.program(), finding, "kernel.cu");
  CHECK_THAT(
      words,
      Catch::Contains("mbarrier whose phase does not complete: it waits for 0 of 1 arrivals and 512 bytes"));
}

TEST_CASE("of a block whose warps wait for each other every place where one waits is named") {
  CudaProgram program = program_of("waits_in_a_circle");
  LaunchRequest request;
  request.block = {128, 1, 1};
  request.options.instruction_budget = 100'000;
  program.argument(program.upload(counted(128))).argument(program.memory(512));
  const LaunchReport report = program.launch(request);
  std::vector<std::string> words;
  for (const Finding& finding : report.findings.all())
    words.push_back(describe(program.program(), finding, "kernel.cu"));
  REQUIRE(words.size() == 3);
  CHECK_THAT(words[0], Catch::Contains("it waits for 32 of 32 arrivals"));
  CHECK_THAT(words[1], Catch::Contains("it waits for 32 of 32 arrivals"));
  CHECK_THAT(words[2], Catch::Contains("barrier 0 has 64 of 128 threads"));
}

TEST_CASE("warps produce and consume through named barriers with counts") {
  constexpr int kRounds = 5;
  std::vector<int> expected;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 64; ++i) expected.push_back((63 - i) * 10 + round);
  }
  std::uint64_t out = 0;
  run_clusters(
      "named_barriers", 1, 1, 128,
      [&](CudaProgram& program) {
        out = program.memory(expected.size() * 4);
        program.argument(out).argument(kRounds);
      },
      [&](CudaProgram& program) { check_equal(program.download<int>(out, expected.size()), expected); });
}

TEST_CASE("one lane of each warp is elected, and all know which") {
  CudaProgram program = program_of("elected");
  const auto out = program.memory(64 * 4);
  LaunchRequest request;
  request.block = {64, 1, 1};
  program.argument(out);
  program.launch_cleanly(request);
  const auto chosen = program.download<int>(out, 64);
  for (int warp = 0; warp < 2; ++warp) {
    const int leader = chosen[static_cast<std::size_t>(warp * 32)] % 100;
    for (int lane = 0; lane < 32; ++lane)
      CHECK(chosen[static_cast<std::size_t>(warp * 32 + lane)] == leader + (lane == leader ? 100 : 0));
  }
}

// ---- tensor copies

namespace {

struct alignas(128) Map {
  CUtensorMap map;
};
struct Coordinates {
  int at[5] = {};
};

/// A tensor of 4-byte numbers, dimension 0 innermost, and a box of it.
struct Tensor {
  std::vector<std::uint64_t> extent;
  std::vector<std::uint32_t> box;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  bool fill_nan = false;

  [[nodiscard]] std::uint32_t rank() const { return static_cast<std::uint32_t>(extent.size()); }
  /// Elements from one row to the next are a multiple of 16 bytes apart.
  [[nodiscard]] std::uint64_t row() const { return (extent[0] + 3) / 4 * 4; }
  [[nodiscard]] std::uint64_t elements() const {
    std::uint64_t count = row();
    for (std::size_t d = 1; d < extent.size(); ++d) count *= extent[d];
    return count;
  }
  [[nodiscard]] std::uint32_t box_elements() const {
    std::uint32_t count = 1;
    for (const std::uint32_t n : box) count *= n;
    return count;
  }
  [[nodiscard]] Map encoded(std::uint64_t address) const {
    Map map;
    std::vector<cuuint64_t> strides;
    for (std::uint64_t d = 1, bytes = row() * 4; d < extent.size(); bytes *= extent[d++])
      strides.push_back(bytes);
    const std::vector<cuuint64_t> dims(extent.begin(), extent.end());
    const std::vector<cuuint32_t> steps(extent.size(), 1);
    REQUIRE(runtime::encode_emulated_tensor_map(
                &map.map, fill_nan ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_INT32, rank(),
                reinterpret_cast<void*>(address), dims.data(), strides.data(), box.data(), steps.data(),
                CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                         : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    return map;
  }
};

/// Swizzle<bits, 4, 3> of byte addresses, in elements of 4 bytes.
std::uint32_t place_in_box(CUtensorMapSwizzle swizzle, std::uint32_t element) {
  const std::uint32_t bits = swizzle == CU_TENSOR_MAP_SWIZZLE_32B    ? 1
                             : swizzle == CU_TENSOR_MAP_SWIZZLE_64B  ? 3
                             : swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 7
                                                                     : 0;
  return element ^ (element / 32 & bits) * 4;
}

/// Calls f(place in the box, index in the tensor or -1 outside) for every element of the box.
template <class F>
void for_each_element(const Tensor& tensor, const Coordinates& corner, F f) {
  for (std::uint32_t i = 0; i < tensor.box_elements(); ++i) {
    std::int64_t index = 0, step = 1;
    std::uint32_t rest = i;
    bool inside = true;
    for (std::size_t d = 0; d < tensor.extent.size(); ++d) {
      const std::int64_t at = corner.at[d] + static_cast<std::int64_t>(rest % tensor.box[d]);
      rest /= tensor.box[d];
      inside = inside && at >= 0 && at < static_cast<std::int64_t>(tensor.extent[d]);
      index += at * step;
      step *= static_cast<std::int64_t>(d == 0 ? tensor.row() : tensor.extent[d]);
    }
    f(place_in_box(tensor.swizzle, i), inside ? index : -1);
  }
}

std::vector<std::pair<Tensor, Coordinates>> tensor_cases() {
  std::vector<std::pair<Tensor, Coordinates>> cases = {
      {{{100}, {64}}, {{0}}},
      {{{100}, {64}}, {{70}}},
      {{{100}, {64}}, {{-5}}},
      {{{40, 30}, {8, 16}}, {{8, 10}}},
      {{{40, 30}, {8, 16}}, {{36, -3}}},
      {{{13, 7, 5}, {4, 4, 3}}, {{10, -1, 3}}},
      {{{8, 5, 4, 3}, {8, 2, 3, 2}}, {{4, 4, -1, 2}}},
      {{{8, 3, 3, 3, 3}, {4, 2, 2, 2, 2}}, {{-2, 2, 1, 2, -1}}},
  };
  const CUtensorMapSwizzle swizzles[] = {CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B,
                                         CU_TENSOR_MAP_SWIZZLE_128B};
  std::uint32_t row = 8;  // elements of 32, 64 and 128 bytes
  for (const CUtensorMapSwizzle swizzle : swizzles) {
    cases.push_back({{{64, 50}, {row, 24}, swizzle}, {{16, 3}}});
    cases.push_back({{{64, 50}, {row, 24}, swizzle}, {{static_cast<int>(64 - row / 2), 40}}});
    row *= 2;
  }
  cases.push_back({{{40, 30}, {8, 16}, CU_TENSOR_MAP_SWIZZLE_NONE, true}, {{36, 20}}});
  return cases;
}

LaunchRequest box_request(const Tensor& tensor) {
  LaunchRequest request;
  request.block = {64, 1, 1};
  request.dynamic_shared_bytes = (tensor.box_elements() * 4 + 1023) / 1024 * 1024;
  request.options.instruction_budget = 1'000'000;
  return request;
}

}  // namespace

TEST_CASE("boxes of tensors of one to five dimensions are loaded, with fill outside and swizzles") {
  for (const auto& [tensor, corner] : tensor_cases()) {
    INFO("rank " << tensor.rank() << ", swizzle " << tensor.swizzle << ", corner " << corner.at[0]);
    CudaProgram program = program_of("tensor_load");
    const std::vector<int> values = counted(tensor.elements());
    const int bytes = static_cast<int>(tensor.box_elements() * 4);
    const std::uint64_t out = program.memory(static_cast<std::uint64_t>(bytes));
    std::vector<int> expected(tensor.box_elements());
    for_each_element(tensor, corner, [&, &tensor = tensor](std::uint32_t place, std::int64_t index) {
      expected[place] = index >= 0        ? values[static_cast<std::size_t>(index)]
                        : tensor.fill_nan ? 0x7FFFFFFF
                                          : 0;
    });
    program.argument(tensor.encoded(program.upload(values))).argument(static_cast<int>(tensor.rank()));
    program.argument(corner).argument(bytes).argument(out);
    program.launch_cleanly(box_request(tensor));
    check_equal(program.download<int>(out, expected.size()), expected);
  }
}

TEST_CASE("boxes of tensors of one to five dimensions are stored, without what lies outside") {
  for (const auto& [tensor, corner] : tensor_cases()) {
    INFO("rank " << tensor.rank() << ", swizzle " << tensor.swizzle << ", corner " << corner.at[0]);
    CudaProgram program = program_of("tensor_store");
    const std::vector<int> box = counted(tensor.box_elements());
    std::vector<int> expected(tensor.elements(), -1);
    const std::uint64_t out = program.upload(expected, "output");
    for_each_element(tensor, corner, [&](std::uint32_t place, std::int64_t index) {
      if (index >= 0) expected[static_cast<std::size_t>(index)] = box[place];
    });
    program.argument(tensor.encoded(out)).argument(static_cast<int>(tensor.rank()));
    program.argument(corner).argument(static_cast<int>(box.size() * 4)).argument(program.upload(box));
    program.launch_cleanly(box_request(tensor));
    check_equal(program.download<int>(out, expected.size()), expected);
  }
}

TEST_CASE("a warp loads tiles by tensor copies while a warpgroup multiplies those before") {
  constexpr int kSize = 64, kDepth = 320;
  CudaProgram program = program_of("gemm_64");
  const auto a = random_integers<int>(kSize * kDepth, 9, 1), b = random_integers<int>(kSize * kDepth, 9, 2);
  const auto map_of = [&](const std::vector<int>& values) {
    std::vector<std::uint16_t> halves;
    for (const int value : values)
      halves.push_back(static_cast<std::uint16_t>(float_to_f16(static_cast<float>(value - 4))));
    const std::uint64_t address = program.upload(halves);
    Map map;
    const cuuint64_t dims[] = {kDepth, kSize}, strides[] = {kDepth * 2};
    const cuuint32_t box[] = {64, 64}, steps[] = {1, 1};
    REQUIRE(runtime::encode_emulated_tensor_map(
                &map.map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, reinterpret_cast<void*>(address), dims, strides,
                box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    return map;
  };
  const Map map_a = map_of(a), map_b = map_of(b);
  std::vector<float> expected(kSize * kSize);
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      int sum = 0;
      for (int k = 0; k < kDepth; ++k) sum += (a[i * kDepth + k] - 4) * (b[j * kDepth + k] - 4);
      expected[i * kSize + j] = static_cast<float>(sum);
    }
  }
  for_each_order(1, 160, [&](LaunchRequest request) {
    const std::uint64_t out = program.memory(expected.size() * 4);
    program.argument(map_a).argument(map_b).argument(out).argument(kDepth);
    program.launch_cleanly(request);
    check_equal(program.download<float>(out, expected.size()), expected);
  });
}

}  // namespace ak::emulator::test
