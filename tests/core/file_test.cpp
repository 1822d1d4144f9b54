// SPDX-License-Identifier: Apache-2.0
#include "core/text/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "core/error.h"
#include "core/text/file_checks.h"
#include "core/text/hash.h"
#include "tests/support/temporary_folder.h"

using namespace ak;
using ak::testing::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

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

TEST_CASE("what is no regular file is refused at once, and in words") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink(folder / "pipe", folder / "link");
  for (const auto& [file, kind] : {std::pair{folder / "pipe", "it is a pipe"},
                                   {folder / "link", "it is a pipe"},
                                   {fs::path("/dev/zero"), "it is a device"},
                                   {fs::path("/"), "it is a folder"}}) {
    INFO(file);
    CHECK_THROWS_WITH(read_file(file), Catch::Contains(kind) && Catch::Contains("a file was expected"));
    CHECK_THROWS_WITH(require_regular_file(file), Catch::Contains(kind));
  }
  CHECK_NOTHROW(require_regular_file(folder / "missing"));
}

TEST_CASE("whether a file can be written is known without writing it") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "f", "kept");
  fs::create_directory(folder / "inside");
  CHECK_NOTHROW(require_writable(folder / "f"));
  CHECK_NOTHROW(require_writable(folder / "new"));
  CHECK(folder.file_count() == 2);
  CHECK(read_file(folder / "f") == "kept");
  for (const fs::path& file : {folder / "inside", folder / "missing" / "f", fs::path("/proc/f"),
                               folder / std::string(300, 'x').c_str(), fs::path("/dev/full")}) {
    INFO(file);
    CHECK(exit_code_of([&] { require_writable(file); }) == ExitCode::output);
  }
}

TEST_CASE("a folder's files are those inside, however they are named or linked") {
  const TemporaryFolder outside, folder;
  write_file_atomically(outside / "secret", "");
  write_file_atomically(folder / "own", "");
  fs::create_directory(folder / "sub");
  fs::create_symlink("own", folder / "link");
  fs::create_symlink(outside / "secret", folder / "leak");
  fs::create_symlink(outside / ".", folder / "door");
  for (const char* name : {"own", "link", "sub/../own", "not_there", "./own"}) {
    INFO(name);
    const bool leads_up = std::string_view(name).find("..") != std::string_view::npos;
    const auto code = exit_code_of([&] { (void)file_inside(folder / ".", name); });
    CHECK(code == (leads_up ? ExitCode::bad_input : ExitCode::ok));
  }
  for (const char* name : {"", "..", "../own", "/etc/passwd", "leak", "door/secret", "door/not_there"}) {
    INFO(name);
    CHECK(exit_code_of([&] { (void)file_inside(folder / ".", name); }) == ExitCode::bad_input);
  }
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

TEST_CASE("what is no regular file is never replaced by one") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("pipe", folder / "link");
  fs::create_symlink("/dev/null", folder / "null");
  fs::create_directory(folder / "folder");
  for (const auto& [file, kind] : {std::pair{folder / "pipe", "it is a pipe"},
                                   {folder / "link", "it is a pipe"},
                                   {folder / "null", "it is a device"},
                                   {folder / "folder", "it is a folder"}}) {
    INFO(file);
    CHECK_THROWS_WITH(write_file_atomically(file, "x"),
                      Catch::Contains(kind) && Catch::Contains("a file was expected"));
    CHECK_FALSE(fs::is_regular_file(fs::symlink_status(file)));
  }
  CHECK(folder.file_count() == 4);
}

TEST_CASE("a failed write is an output error and leaves neither file nor leftovers") {
  const TemporaryFolder folder;
  CHECK(exit_code_of([&] { write_file_atomically(folder / "no_folder" / "f", "x"); }) == ExitCode::output);
  fs::create_directory(folder / "occupied");
  fs::create_directory(folder / "occupied" / "inside");
  CHECK(exit_code_of([&] { write_file_atomically(folder / "occupied", "x"); }) == ExitCode::output);
  CHECK(folder.file_count() == 1);
}
