// SPDX-License-Identifier: Apache-2.0
#include "app/predict/unpacked_database.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"
#include "core/tuning/decompress.h"

namespace ak::app {

namespace fs = std::filesystem;

UnpackedDatabase::UnpackedDatabase(const fs::path& file) : path_(file) {
  if (file.extension() != ".gz" && file.extension() != ".xz") return;
  bool cut_short = false;
  const std::string content = decompress(read_file(file), file.string(), cut_short);
  if (cut_short) fail(ExitCode::bad_input, "{}: cut short; expected a whole packed database", file.string());
  folder_ = fs::temp_directory_path() / fmt::format("alphakernel-{:016x}", random_seed());
  fs::create_directory(folder_);
  path_ = folder_ / file.stem();
  try {
    write_file_atomically(path_, content);
  } catch (...) {
    remove_folder();  // nothing destroys what was not constructed
    throw;
  }
}

UnpackedDatabase::~UnpackedDatabase() { remove_folder(); }

void UnpackedDatabase::remove_folder() const {
  std::error_code ignored;  // a folder of temporary files that stays behind is no failure
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

}  // namespace ak::app
