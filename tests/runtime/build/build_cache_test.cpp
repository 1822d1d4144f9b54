// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/build_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "core/text/file.h"
#include "core/text/hash.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

/// A folder below the system's temporary one, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("ak-cache-test-" + std::to_string(random_seed()));
  ~Folder() { fs::remove_all(path); }
};

BuildKey key_of(const std::string& name) { return BuildKey::parse(sha256_hex(name)).value(); }

BuildResult result_of(const std::string& name, Status status = Status::ok, std::size_t bytes = 10) {
  BuildResult result;
  result.key = key_of(name).text();
  result.outcome.status = status;
  result.outcome.stage = StageId::build;
  result.ptx = ".version 9.0\n";
  result.cubin = std::string(bytes, '\xfe');
  result.compile_ms = 12;
  return result;
}

fs::path entry_of(const Folder& folder, const std::string& key) {
  return folder.path / key.substr(0, 2) / (key + ".json");
}

}  // namespace

TEST_CASE("a stored build is found again, by another process too, and says it was cached") {
  const Folder folder;
  BuildCache(folder.path).store(key_of("a"), result_of("a"));
  BuildCache cache(folder.path);
  const auto found = cache.find(key_of("a"));
  REQUIRE(found);
  CHECK(found->cache_hit);
  CHECK(found->ptx == result_of("a").ptx);
  CHECK(found->cubin == result_of("a").cubin);
  CHECK(found->compile_ms == 12);
  CHECK_FALSE(cache.find(key_of("b")));
}

TEST_CASE("only ends that would come again are kept") {
  const Folder folder;
  BuildCache cache(folder.path);
  for (const auto status : {Status::ok, Status::compile_error, Status::resource_exceeded}) {
    cache.store(key_of("x"), result_of("x", status));
    CHECK(cache.find(key_of("x"))->outcome.status == status);
  }
  for (const auto status :
       {Status::timeout, Status::out_of_memory, Status::infrastructure_error, Status::interrupted}) {
    cache.store(key_of("y"), result_of("y", status));
    CHECK_FALSE(cache.find(key_of("y")));
  }
}

TEST_CASE("a damaged entry counts as absent and is written again") {
  const Folder folder;
  BuildCache cache(folder.path);
  const auto result = result_of("a", Status::ok, 1000);
  cache.store(key_of("a"), result);
  const fs::path entry = entry_of(folder, result.key);
  const std::string good = read_file(entry);
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  const std::string other = read_file(entry);
  for (const std::string& bad :
       {std::string(), good.substr(0, 40), good.substr(0, good.size() - 1), flipped, good + "x"}) {
    std::ofstream(entry, std::ios::binary) << bad;
    CHECK_FALSE(cache.find(key_of("a")));
    cache.store(key_of("a"), result);
    CHECK(cache.find(key_of("a")));
  }
  // A whole entry under another's name.
  fs::create_directories(entry_of(folder, sha256_hex("z")).parent_path());
  std::ofstream(entry_of(folder, sha256_hex("z")), std::ios::binary) << good;
  CHECK_FALSE(cache.find(key_of("z")));
}

TEST_CASE("a full cache loses what was not used for longest") {
  const Folder folder;
  BuildCache cache(folder.path, 40'000);
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(15)); };
  for (int i = 0; i < 3; ++i) {
    cache.store(key_of(std::to_string(i)), result_of(std::to_string(i), Status::ok, 9'333));
    pause();
  }
  REQUIRE(cache.find(key_of("0")));
  pause();
  cache.store(key_of("3"), result_of("3", Status::ok, 9'333));
  CHECK(cache.find(key_of("0")));
  CHECK(cache.find(key_of("3")));
  pause();
  cache.store(key_of("4"), result_of("4", Status::ok, 9'333));
  CHECK_FALSE(cache.find(key_of("1")));
  CHECK(cache.find(key_of("4")));
}

TEST_CASE("two processes may fill one cache at once") {
  const Folder folder;
  const auto fill = [&] {
    BuildCache cache(folder.path, 200'000);
    for (int i = 0; i < 60; ++i) {
      cache.store(key_of(std::to_string(i % 40)), result_of(std::to_string(i % 40), Status::ok, 9'333));
      const auto found = cache.find(key_of(std::to_string(i % 40)));
      if (found && found->cubin.size() != 9'333) return 1;
    }
    return cache.off_because().empty() ? 0 : 2;
  };
  const pid_t other = ::fork();
  if (other == 0) ::_exit(fill());
  CHECK(fill() == 0);
  int status = 0;
  ::waitpid(other, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("what is no hash is no key, and names no file") {
  const std::string hash = sha256_hex("a");
  CHECK(BuildKey::parse(hash)->text() == hash);
  for (const std::string& text : {std::string(), hash.substr(1), hash + "0", "/tmp/" + hash,
                                  "../" + hash.substr(3), "A" + hash.substr(1), hash.substr(0, 63) + "/",
                                  hash.substr(0, 63) + "\n", hash.substr(0, 32) + "/../" + hash.substr(36)}) {
    INFO(text);
    CHECK_FALSE(BuildKey::parse(text));
  }
}

TEST_CASE("a folder that cannot be written turns the cache off, and nothing else") {
  BuildCache cache("/proc/alphakernel-cache");
  CHECK_FALSE(cache.off_because().empty());
  cache.store(key_of("a"), result_of("a"));
  CHECK_FALSE(cache.find(key_of("a")));
}

}  // namespace ak::runtime
