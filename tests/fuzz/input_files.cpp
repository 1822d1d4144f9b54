// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/input_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"

namespace ak::fuzz {
namespace {

namespace fs = std::filesystem;

/// Made when it is first asked for, removed at the end.
class ProcessFolder {
 public:
  ProcessFolder() : path_(fs::temp_directory_path() / fmt::format("alphakernel_fuzz_{}", getpid())) {
    fs::create_directories(path_);
  }
  ~ProcessFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const fs::path& process_folder() {
  static const ProcessFolder folder;
  return folder.path();
}

}  // namespace

fs::path input_file(std::string_view name, std::string_view input) {
  const fs::path file = process_folder() / name;
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(input.data(), static_cast<std::streamsize>(input.size()));
  return file;
}

fs::path empty_folder(std::string_view name) {
  const fs::path folder = process_folder() / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

void read_with(std::span<const FileReader> readers, std::string_view input) {
  for (const FileReader& reader : readers) {
    try {
      reader.read(input_file(reader.name, input));
    } catch (const Error& error) {
      AK_ASSERT(error.code() == ExitCode::bad_input, "what is wrong in a file is bad input");
    }
  }
}

std::vector<std::string_view> lines_of(std::string_view input) {
  std::vector<std::string_view> lines;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    lines.push_back(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return lines;
}

}  // namespace ak::fuzz
