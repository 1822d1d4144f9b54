// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/claimed_output.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <optional>

#include "tests/support/temporary_folder.h"

using namespace ak;
using ak::testing::TemporaryFolder;

TEST_CASE("two runs at the same moment choose different names, and one that has ended leaves its own") {
  const TemporaryFolder folder;
  const std::filesystem::path wanted = folder / "softmax.cu";
  std::optional<app::ClaimedOutput> first = app::free_output(wanted);
  const app::ClaimedOutput second = app::free_output(wanted), third = app::free_output(wanted);
  CHECK(first->path == wanted);
  CHECK(second.path == folder / "softmax_2.cu");
  CHECK(third.path == folder / "softmax_3.cu");
  first.reset();
  CHECK(app::free_output(wanted).path == wanted);
}

TEST_CASE("a name is taken where any file of a run is there") {
  const TemporaryFolder folder;
  std::ofstream(folder / "softmax.result.json") << "{}";
  std::ofstream(folder / "softmax_2.cu") << "";
  CHECK(app::free_output(folder / "softmax.cu").path == folder / "softmax_3.cu");
}
