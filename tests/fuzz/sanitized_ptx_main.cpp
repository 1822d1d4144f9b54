// SPDX-License-Identifier: Apache-2.0
// The parser of PTX under the sanitizers, in a build without them: the parser and this file alone are compiled with them.
//   sanitized_ptx FOLDER: reads the files of FOLDER, whole, cut off and changed at random.
#include <cstdio>
#include <filesystem>
#include <vector>

#include "core/text/file.h"
#include "emulator/parse/parser.h"
#include "tests/fuzz/changed_inputs.h"

namespace {

std::vector<std::string> files_of(const std::filesystem::path& folder) {
  std::vector<std::string> texts;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    texts.push_back(ak::read_file(file.path()));
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> texts = files_of(argc == 2 ? argv[1] : ".");
  if (texts.empty()) {
    std::fputs("sanitized_ptx: expected a folder with PTX files\n", stderr);
    return 2;
  }
  constexpr int kRounds = 200;  // of each text: seconds
  ak::fuzz::Changes changes(11);
  int parsed = 0;
  for (const std::string& text : texts) {
    parsed += ak::emulator::parse(text).ok();
    for (std::size_t size = 0; size < text.size(); size += 1 + text.size() / 32)
      (void)ak::emulator::parse(text.substr(0, size));
    for (int round = 0; round < kRounds; ++round)
      (void)ak::emulator::parse(changes.apply(text, texts[changes.below(texts.size())]));
  }
  if (parsed > 0) return 0;
  std::fputs("sanitized_ptx: none of the texts is PTX\n", stderr);
  return 1;
}
