// SPDX-License-Identifier: Apache-2.0
// The device headers of rows (ak/row_pipeline.cuh, ak/row_readings.cuh, ak/row_exchange.cuh), against a model of what each
// promises: every element is taken once, and is given back what its whole row has.
#include <algorithm>

#include "tests/emulator/programs/cuda_library.h"

namespace ak::emulator::test {
namespace {

/// How rows are laid out on blocks. Shared memory is what a ring and held weights take.
struct RowLaunch {
  std::string kernel;
  bool weights;
  int m, n;
  std::uint32_t blocks, threads, cluster = 1, shared_bytes = 0;
  int stages = 0;
};

struct RowData {
  std::vector<int> x, r, w, b;
  RowData(int m, int n)
      : x(random_integers<int>(static_cast<std::size_t>(m) * n, 100)),
        r(random_integers<int>(x.size(), 100, 2)),
        w(random_integers<int>(n, 100, 3)),
        b(random_integers<int>(n, 100, 4)) {}

  [[nodiscard]] std::vector<int> expected(const RowLaunch& launch) const {
    std::vector<int> y;
    for (int row = 0; row < launch.m; ++row) {
      const int* of_x = x.data() + static_cast<std::size_t>(row) * launch.n;
      const int* of_r = r.data() + static_cast<std::size_t>(row) * launch.n;
      int sum = 0, weighted = 0, maximum = -1'000'000;
      for (int i = 0; i < launch.n; ++i) {
        const int value = of_x[i] + 2 * of_r[i];
        sum += value;
        weighted += value * (i + 1) + row;
        maximum = std::max(maximum, value);
      }
      for (int i = 0; i < launch.n; ++i) {
        y.push_back(of_x[i] + 3 * of_r[i] + sum + weighted - maximum + launch.n);
        if (launch.weights) y.back() += 5 * w[i] + 7 * b[i];
      }
    }
    return y;
  }
};

void require_rows(const RowLaunch& launch) {
  INFO(launch.kernel << ": " << launch.m << " x " << launch.n << ", " << launch.blocks
                     << " blocks in clusters of " << launch.cluster << ", " << launch.stages << " stages");
  const RowData data(launch.m, launch.n);
  const std::vector<int> expected = data.expected(launch);
  CudaProgram program = library_kernel("row_headers.cu", launch.kernel);
  for_each_order(launch.blocks, launch.threads, [&](LaunchRequest request) {
    request.cluster = {launch.cluster, 1, 1};
    request.dynamic_shared_bytes = launch.shared_bytes;
    const auto y = program.memory(expected.size() * 4);
    const auto firsts = program.upload(std::vector<int>(launch.m, 0));
    program.argument(program.upload(data.x)).argument(program.upload(data.r));
    program.argument(program.upload(data.w)).argument(program.upload(data.b));
    program.argument(y).argument(firsts).argument(launch.m).argument(launch.n).argument(launch.stages);
    program.launch_cleanly(request);
    check_equal(program.download<int>(y, expected.size()), expected, "results");
    check_equal(program.download<int>(firsts, launch.m), std::vector<int>(launch.m, 1), "first threads");
  });
}

/// A chunk has 64 * ITEMS vectors of four elements, of each of two matrices and, where they are held, two weights.
struct Stream {
  int m, vectors, clusters, cluster, stages;
  int items = 2;
  bool weights = true, held = true, once = true;
};

void require_streamed(const Stream& stream) {
  const auto word = [](bool value) { return value ? "true" : "false"; };
  const int chunk = 64 * stream.items;
  const int part = ((stream.vectors + chunk - 1) / chunk + stream.cluster - 1) / stream.cluster;
  REQUIRE(stream.stages > part);
  const int chunks = 2 * stream.stages + (stream.weights && stream.held ? 2 * part : 0);
  require_rows({std::string("streamed<") + word(stream.weights) + ", " + word(stream.held) + ", 64, " +
                    std::to_string(stream.items) + ", " + word(stream.once) + ">",
                stream.weights, stream.m, stream.vectors * 4,
                static_cast<std::uint32_t>(stream.clusters * stream.cluster), 96,
                static_cast<std::uint32_t>(stream.cluster), static_cast<std::uint32_t>(chunks * chunk * 16),
                stream.stages});
}

}  // namespace

TEST_CASE("ak/row_pipeline.cuh streams rows that a block takes in turn, also where they do not divide") {
  require_streamed({1, 1, 1, 1, 2});       // one row of one vector
  require_streamed({1, 128, 1, 1, 2});     // one row of one whole chunk
  require_streamed({1, 130, 3, 1, 3});     // blocks that have no row
  require_streamed({7, 129, 2, 1, 5});     // rows and chunks that do not divide, a ring in between
  require_streamed({5, 127, 2, 1, 32});    // a ring that holds more than there is
  require_streamed({3, 500, 2, 1, 9, 1});  // a row of many chunks, and one stage more
  require_streamed({4, 257, 1, 1, 4, 2, false, true, false});  // no weights
  require_streamed({4, 257, 1, 1, 4, 2, true, false, false});  // weights from global memory
}

TEST_CASE(
    "ak/row_pipeline.cuh shares a row's chunks in a cluster, also where blocks have fewer than others or "
    "none") {
  require_streamed({5, 300, 2, 2, 3});
  require_streamed({6, 513, 1, 4, 3});
  require_streamed({3, 100, 2, 4, 2});
  require_streamed({3, 1, 1, 8, 2, 1});
  require_streamed({2, 1030, 1, 8, 4, 1, true, false});
  require_streamed({2, 1030, 1, 16, 3, 1, false, false, false});
}

TEST_CASE("ak/row_readings.cuh holds short rows in lanes, several at once") {
  require_rows({"held<true, 8, 1, 4>", true, 33, 32, 2, 64});
  require_rows({"held<true, 8, 1, 4>", true, 1, 4, 1, 64});
  require_rows({"held<false, 16, 1, 1>", false, 9, 60, 3, 64});
  require_rows({"held<true, 32, 3, 2>", true, 5, 380, 2, 64});
}

TEST_CASE("ak/row_readings.cuh reads rows twice, in packs that divide them") {
  require_rows({"twice<true, 1>", true, 3, 1, 3, 64});
  require_rows({"twice<true, 1>", true, 2, 1027, 2, 64});
  require_rows({"twice<false, 2>", false, 2, 514, 2, 64});
  require_rows({"twice<true, 4>", true, 2, 1284, 2, 64});
}

}  // namespace ak::emulator::test
