// SPDX-License-Identifier: Apache-2.0
#include "core/text/file.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "core/error.h"
#include "core/text/hash.h"

using namespace ak;
namespace fs = std::filesystem;

namespace {

/// A separate folder, removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / ("ak_file_test_" + std::to_string(random_seed()))) {
    fs::create_directory(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }
  [[nodiscard]] auto file_count() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  fs::path path_;
};

template <class Call>
ExitCode exit_code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::ok;
}

}  // namespace

TEST_CASE("a written file is read back byte for byte") {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\xff\r\n", 6);
  write_file_atomically(folder / "f", bytes);
  CHECK(read_file(folder / "f") == bytes);
  write_file_atomically(folder / "f", std::string(300'000, 'x'));
  CHECK(read_file(folder / "f").size() == 300'000);
  CHECK(folder.file_count() == 1);
}

TEST_CASE("a file that cannot be read is bad input that names it") {
  const TemporaryFolder folder;
  CHECK(exit_code_of([&] { (void)read_file(folder / "none"); }) == ExitCode::bad_input);
  CHECK(exit_code_of([&] { (void)read_file(folder / "."); }) == ExitCode::bad_input);
  CHECK_THROWS_WITH(read_file(folder / "none"), Catch::Contains("none: No such file"));
}

TEST_CASE("a file over the limit is refused, one at the limit is read") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "f", "12345");
  CHECK(read_file(folder / "f", 5) == "12345");
  CHECK(exit_code_of([&] { (void)read_file(folder / "f", 4); }) == ExitCode::bad_input);
}

TEST_CASE("a failed write is an output error and leaves neither file nor leftovers") {
  const TemporaryFolder folder;
  CHECK(exit_code_of([&] { write_file_atomically(folder / "no_folder" / "f", "x"); }) == ExitCode::output);
  fs::create_directory(folder / "occupied");
  fs::create_directory(folder / "occupied" / "inside");
  CHECK(exit_code_of([&] { write_file_atomically(folder / "occupied", "x"); }) == ExitCode::output);
  CHECK(folder.file_count() == 1);
}
