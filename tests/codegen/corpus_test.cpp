// SPDX-License-Identifier: Apache-2.0
// CUDA as people and models write it, which nvcc accepts (tests/corpus/check_with_nvcc.sh), has to build.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "codegen/source/assemble.h"
#include "core/text/file.h"
#include "runtime/build/compile.h"
#include "runtime/cuda/cuda_toolkit.h"
#include "runtime/cuda/nvrtc.h"

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

TEST_CASE("every snippet of the corpus builds for Ampere and Hopper") {
  const auto toolkit = runtime::find_cuda_toolkit();
  REQUIRE(toolkit.ok());
  const auto nvrtc = runtime::load_nvrtc(toolkit->nvrtc_library);
  REQUIRE(nvrtc.ok());
  const auto files = corpus();
  runtime::Compiler compiler(*nvrtc, *toolkit);
  REQUIRE(files.size() >= 30);
  for (const Arch& arch : {Arch{8, 0, 0}, Arch{9, 0, 'a'}}) {
    for (const auto& file : files) {
      const TranslationUnit unit = codegen::assemble_plain(file.filename().string(), read_file(file), arch);
      const BuildResult result = compiler.compile(unit);
      INFO(file.string() << " for " << arch.sm() << "\n" << result.outcome.message << "\n" << result.log);
      CHECK(result.outcome.status == Status::ok);
      CHECK_FALSE(result.cubin.empty());
    }
  }
}
