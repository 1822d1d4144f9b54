// SPDX-License-Identifier: Apache-2.0
// The inputs that fuzzing begins with, and those that once broke something, without a fuzzer.
#include <catch2/catch.hpp>
#include <filesystem>

#include "core/text/file.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ak::fuzz {
namespace {

std::filesystem::path corpus_of(std::string_view target) {
  // Programs to run are programs to read.
  return std::filesystem::path(AK_SOURCE_DIR "/tests/fuzz/corpus") / (target == "ptx_run" ? "ptx" : target);
}

TEST_CASE("every target survives its corpus, whole and cut off anywhere") {
  for (const FuzzTarget& target : fuzz_targets()) {
    int inputs = 0;
    for (const auto& file : std::filesystem::directory_iterator(corpus_of(target.name))) {
      INFO(target.name << " " << file.path());
      const std::string text = read_file(file.path());
      target.run(text);
      for (std::size_t size = 0; size < text.size(); size += 1 + text.size() / 32)
        target.run(std::string_view(text).substr(0, size));
      ++inputs;
    }
    INFO(target.name);
    CHECK(inputs >= 3);
  }
}

}  // namespace
}  // namespace ak::fuzz
