// SPDX-License-Identifier: Apache-2.0
// CUDA as people and models write it, which nvcc accepts (tests/corpus/check_with_nvcc.sh), has to build.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "codegen/source/assemble.h"
#include "core/text/file.h"
#include "runtime/build/compile.h"
#include "runtime/cuda/cuda_toolkit.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/support/daily_sample.h"

using namespace ak;

namespace {

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(AK_CORPUS)) {
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

// Each for one of the two, and for the other one on the next day.
TEST_CASE("every snippet of the corpus builds for Ampere and Hopper") {
  const auto toolkit = runtime::find_cuda_toolkit();
  REQUIRE(toolkit.ok());
  const auto nvrtc = runtime::load_nvrtc(toolkit->nvrtc_library);
  REQUIRE(nvrtc.ok());
  const auto files = corpus();
  runtime::Compiler compiler(*nvrtc, *toolkit);
  REQUIRE(files.size() >= 30);
  const std::array archs{Arch{8, 0, 0}, Arch{9, 0, 'a'}};
  for (std::size_t a = 0; a < archs.size(); ++a) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (!testing::drawn_today(i + a, archs.size())) continue;
      const Arch& arch = archs[a];
      const auto& file = files[i];
      const TranslationUnit unit = codegen::assemble_plain(file.filename().string(), read_file(file), arch);
      const BuildResult result = compiler.compile(unit);
      INFO(file.string() << " for " << arch.sm() << "\n" << result.outcome.message << "\n" << result.log);
      CHECK(result.outcome.status == Status::ok);
      CHECK_FALSE(result.cubin.empty());
    }
  }
}
