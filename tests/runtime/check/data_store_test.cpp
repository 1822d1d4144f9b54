// SPDX-License-Identifier: Apache-2.0
// Which data sets are kept where memory is short, on the CPU device.
#include <catch2/catch.hpp>

#include "tests/support/timing_bench.h"

namespace ak::test {
namespace {

using runtime::DataSet;
using runtime::DataStore;

std::shared_ptr<const DataSet> taken(TimingBench& bench, DataStore& store, const std::string& workload,
                                     std::uint64_t seed) {
  return store.get(bench.run_context().problem.workload(workload), "normal", seed).value();
}

TEST_CASE("of data sets that are asked for in turns, as many are found again as the budget holds") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000, 1001}});
  DataStore unlimited(bench.run_context(), bench.reference());
  const std::size_t bytes = taken(bench, unlimited, "n1000", 1)->bytes;
  DataStore store(bench.run_context(), bench.reference(), 2 * bytes + bytes / 2);
  const std::array first{taken(bench, store, "n1000", 1), taken(bench, store, "n1000", 2)};
  for (int turn = 0; turn < 3; ++turn) {
    const auto third = taken(bench, store, "n1000", 3);
    CHECK(third->seed == 3);
    CHECK(taken(bench, store, "n1000", 1) == first[0]);
    CHECK(taken(bench, store, "n1000", 2) == first[1]);
  }
  store.give_room();
  CHECK(taken(bench, store, "n1000", 1) != first[0]);
}

TEST_CASE("data sets that no one asks for any more make room for others") {
  TimingBench bench(DeviceKind::emulator, {.check_sizes = {1000, 1001}});
  DataStore unlimited(bench.run_context(), bench.reference());
  DataStore store(bench.run_context(), bench.reference(), 3 * taken(bench, unlimited, "n1000", 1)->bytes / 2);
  const auto old = taken(bench, store, "n1000", 1);
  const auto of_another = taken(bench, store, "n1001", 1);
  CHECK(taken(bench, store, "n1001", 1) == of_another);
  CHECK(taken(bench, store, "n1000", 1) != old);
  // Another seed: those of the last one are not asked for again.
  std::shared_ptr<const DataSet> last;
  for (int i = 0; i < 20; ++i) last = taken(bench, store, "n1000", 7);
  CHECK(taken(bench, store, "n1000", 7) == last);
}

}  // namespace
}  // namespace ak::test
