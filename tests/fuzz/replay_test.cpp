// SPDX-License-Identifier: Apache-2.0
// The inputs that fuzzing begins with, and those that once broke something, without a fuzzer: as they are, cut off, and
// changed at random.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "core/text/file.h"
#include "tests/fuzz/changed_inputs.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/fuzz_iterations.h"

namespace ak::fuzz {
namespace {

std::vector<std::string> corpus_of(std::string_view target) {
  // Programs to run are programs to read.
  const auto folder =
      std::filesystem::path(AK_SOURCE_DIR "/tests/fuzz/corpus") / (target == "ptx_run" ? "ptx" : target);
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  std::ranges::sort(files);
  std::vector<std::string> inputs;
  for (const auto& file : files) inputs.push_back(read_file(file));
  return inputs;
}

TEST_CASE("every target survives its corpus, whole and cut off anywhere") {
  for (const FuzzTarget& target : fuzz_targets()) {
    INFO(target.name);
    const std::vector<std::string> inputs = corpus_of(target.name);
    for (const std::string& text : inputs) {
      target.run(text);
      for (std::size_t size = 0; size < text.size(); size += 1 + text.size() / 32)
        target.run(std::string_view(text).substr(0, size));
    }
    CHECK(inputs.size() >= 3);
  }
}

TEST_CASE("every target survives inputs of its corpus that are changed at random") {
  constexpr int kUsual = 40;  // a second in all
  for (const FuzzTarget& target : fuzz_targets()) {
    INFO(target.name);
    const std::vector<std::string> inputs = corpus_of(target.name);
    Changes changes(7);
    for (int round = 0; round < test::fuzz_iterations(kUsual); ++round) {
      const std::string& text = inputs[changes.below(inputs.size())];
      target.run(changes.apply(text, inputs[changes.below(inputs.size())]));
    }
  }
}

}  // namespace
}  // namespace ak::fuzz
