// SPDX-License-Identifier: Apache-2.0
// Commits N variants (first argument, default 100,000) into FILE (second; default a temporary one) and prints
// commits per second per tenth, peak memory, size of the file, and how long the views take.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>

#include "tests/db/store_fixture.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void insert(ak::db::test::Run& run, int variants) {
  for (int tenth = 0; tenth < 10; ++tenth) {
    const auto start = Clock::now();
    const int begin = tenth * variants / 10, end = (tenth + 1) * variants / 10;
    for (int i = begin; i < end; ++i) run.commit(i + 1, ak::Status::ok, 1e6 + i);
    fmt::print("{:>8} variants: {:.0f} commits/s\n", end, (end - begin) / seconds_since(start));
  }
}

void time_view(const std::filesystem::path& file, std::string_view view, std::string_view filter) {
  const auto start = Clock::now();
  const auto rows =
      ak::db::query(file, fmt::format("SELECT count(*) FROM (SELECT * FROM {} {} LIMIT -1)", view, filter), 0,
                    std::chrono::minutes(10));
  fmt::print("{:<24}{:>10} rows  {:.3f} s\n", fmt::format("{} {}", view, filter),
             std::get<std::int64_t>(rows.rows[0][0]), seconds_since(start));
}

}  // namespace

int main(int argc, char** argv) {
  const int variants = argc > 1 ? std::atoi(argv[1]) : 100'000;
  const ak::db::test::TemporaryFolder folder;
  const std::filesystem::path file = argc > 2 ? std::filesystem::path(argv[2]) : folder.file();
  {
    const auto store = ak::db::open_store(file);
    ak::db::test::Run run(*store);
    insert(run, variants);
    store->end_search(run.search, "finished", "", std::nullopt);
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("peak resident memory {} MiB, file {} MiB\n", usage.ru_maxrss / 1024,
             std::filesystem::file_size(file) >> 20);
  for (const char* view : {"leaderboard", "progress", "experiments", "benchmark_results"})
    time_view(file, view, "");
  return 0;
}
