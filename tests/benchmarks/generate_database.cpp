// SPDX-License-Identifier: Apache-2.0
// Makes a database as long use leaves it, to try queries on: generate_database OUT.db --variants N --seed S.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "core/error.h"
#include "tests/db/synthetic_database.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Makes a database as a year of searches leaves it. Nothing is measured: times follow a formula.");
  std::string file;
  ak::db::test::SyntheticOptions options;
  app.add_option("file", file, "the database to make; must not be there")->required();
  app.add_option("--variants", options.variants, "rows of `variants`")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "the same seed gives the same rows")->capture_default_str();
  app.add_option("--until", options.until, "day on which the last search ends, YYYY-MM-DD (UTC)")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const auto start = std::chrono::steady_clock::now();
    ak::db::test::make_synthetic_database(file, options);
    fmt::print("{} variants, {} MiB, {:.1f} s\n", options.variants, std::filesystem::file_size(file) >> 20,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return 0;
  } catch (const ak::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
