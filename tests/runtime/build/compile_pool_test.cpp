// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/text/hash.h"
#include "runtime/build/pch_folder.h"
#include "tests/runtime/process/worker_test_support.h"

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kGood = "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] = 2; }\n";
// Runs far longer than any deadline here.
constexpr const char* kEndless =
    "template <int N, int M> struct T { static constexpr long v = T<N - 1, 2 * M>::v + T<N - 1, 2 * M + "
    "1>::v; };\n"
    "template <int M> struct T<0, M> { static constexpr long v = M; };\n"
    "extern \"C\" __global__ void k(long* x) { x[0] = T<26, 1>::v; }\n";

CompilePool make_pool(int workers = 1, fs::path cache = {}) {
  return CompilePool({worker_command(), workers, kPatience, std::move(cache)});
}

BuildResult build(CompilePool& pool, TranslationUnit unit, std::chrono::milliseconds limit = kPatience) {
  pool.submit(std::move(unit), BuildOrigin::candidate, limit);
  auto finished = pool.wait(out_of_patience());
  REQUIRE(finished);
  return finished->result;
}

BuildResult build(CompilePool& pool, std::string source, std::chrono::milliseconds limit = kPatience) {
  return build(pool, unit_of(std::move(source)), limit);
}

bool has_cpu_limit(pid_t pid) {
  std::ifstream limits(fmt::format("/proc/{}/limits", pid));
  for (std::string line; std::getline(limits, line);)
    if (line.starts_with("Max cpu time")) return line.find_first_of("0123456789") < line.find("unlimited");
  return false;
}

/// Waits for a worker that is at work on its first build, which is when it gets a limit of CPU time.
/// @param not_this one
pid_t worker_at_work(pid_t not_this = 0) {
  pid_t found = 0;
  REQUIRE(in_the_end([&] {
    for (const pid_t worker : children())
      if (worker != not_this && has_cpu_limit(worker)) found = worker;
    return found != 0;
  }));
  CHECK(children() == std::vector<pid_t>{found});
  return found;
}

/// Files of precompiled headers of the only worker, and when they were written.
std::map<std::string, fs::file_time_type> precompiled_headers() {
  REQUIRE(children().size() == 1);
  std::map<std::string, fs::file_time_type> files;
  for (const auto& entry : fs::recursive_directory_iterator(pch_folder(children()[0])))
    if (entry.is_regular_file()) files[entry.path()] = entry.last_write_time();
  return files;
}

}  // namespace

TEST_CASE("the pool says what it builds with and builds it, several at a time") {
  auto pool = make_pool(2);
  CHECK(pool.facts().nvrtc_version.find('.') != std::string::npos);
  CHECK(std::ranges::count(pool.facts().archs, "sm_90a") == 1);
  std::set<BuildTicket> open;
  for (int i = 0; i < 6; ++i)
    open.insert(pool.submit(unit_of(std::string(kGood) + "// " + std::to_string(i))));
  while (!open.empty()) {
    pollfd event{pool.descriptor(), POLLIN, 0};
    REQUIRE(::poll(&event, 1, std::chrono::milliseconds(kPatience).count()) == 1);
    const auto finished = pool.poll();
    REQUIRE(finished);
    CHECK(finished->result.outcome.status == Status::ok);
    CHECK_FALSE(finished->result.cubin.empty());
    CHECK(open.erase(finished->ticket) == 1);
  }
  CHECK_FALSE(pool.wait(in(1h)));
}

TEST_CASE(
    "a build whose worker is killed is tried once more; killed again it ends, and nothing is left of it") {
  {
    auto pool = make_pool();
    pool.submit(unit_of(kEndless));
    const pid_t worker = worker_at_work();
    ::kill(worker, SIGKILL);
    const pid_t successor = worker_at_work(worker);
    CHECK_FALSE(pool.poll());
    ::kill(successor, SIGKILL);
    const auto lost = pool.wait(out_of_patience());
    REQUIRE(lost);
    CHECK(lost->result.outcome.status == Status::out_of_memory);
    CHECK(in_the_end([&] { return pch_folder(worker).empty(); }));
    CHECK(build(pool, kGood).outcome.status == Status::ok);
  }
  CHECK(children().empty());
}

TEST_CASE("a build that uses too much CPU time ends as timeout, and the pool goes on") {
  auto pool = make_pool();
  pool.submit(unit_of(kEndless));
  ::kill(worker_at_work(), SIGXCPU);
  const auto ended = pool.wait(out_of_patience());
  REQUIRE(ended);
  CHECK(ended->result.outcome.status == Status::timeout);
  CHECK(ended->result.outcome.message.find("CPU time") != std::string::npos);
  CHECK(build(pool, kGood).outcome.status == Status::ok);
}

TEST_CASE("a build ends at its deadline, and the next one runs") {
  auto pool = make_pool();
  const auto result = build(pool, kEndless, 1s);
  CHECK(result.outcome.status == Status::timeout);
  CHECK(result.outcome.stage == StageId::build);
  CHECK(build(pool, kGood).outcome.status == Status::ok);
}

TEST_CASE("a build does not say when it was made") {
  auto pool = make_pool();
  const auto built = build(pool,
                           "__device__ const char made[] = __DATE__ \", \" __TIME__;\n"
                           "extern \"C\" __global__ void k(char* out) { out[0] = made[threadIdx.x]; }\n");
  REQUIRE(built.outcome.status == Status::ok);
  // "Jan  1 1970, 12:00:00"
  CHECK_THAT(built.ptx,
             Catch::Contains("made[22] = {74, 97, 110, 32, 32, 49, 32, 49, 57, 55, 48, 44, 32, 49, 50, 58, "
                             "48, 48, 58, 48, 48"));
}

TEST_CASE("what is not name of a kernel does not reach the compiler") {
  auto pool = make_pool();
  for (const char* name :
       {"k\n#include \"/etc/hostname\"\n", "k\\u0023", "k%:include", "k\"", "", "k;", "k{}"}) {
    INFO(name);
    const auto refused = build(pool, unit_of("extern \"C\" __global__ void k() {}\n", {name}));
    CHECK(refused.outcome.status == Status::invalid_candidate);
    CHECK_THAT(refused.outcome.message, Catch::Contains("not the name of a kernel"));
  }
}

TEST_CASE("time that a busy machine does not give to a build's worker is not time of the build") {
  bool waited = false;
  // The worker has to be stopped before the build has used up its time.
  for (auto limit = 500ms; !waited && limit < kPatience; limit *= 4) {
    auto pool = make_pool();
    pool.submit(unit_of(kEndless), BuildOrigin::candidate, limit);
    const pid_t worker = worker_at_work();
    ::kill(worker, SIGSTOP);
    waited = !pool.wait(in(2 * limit));
    ::kill(worker, SIGCONT);
    if (!waited) continue;
    const auto ended = pool.wait(out_of_patience());
    REQUIRE(ended);
    CHECK(ended->result.outcome.status == Status::timeout);
  }
  CHECK(waited);
}

TEST_CASE("cancelled builds finish as interrupted, whether they wait or run") {
  auto pool = make_pool();
  const auto running = pool.submit(unit_of(kEndless));
  const auto waiting = pool.submit(unit_of(kGood));
  worker_at_work();
  pool.cancel(waiting);
  auto finished = pool.wait(out_of_patience());
  REQUIRE(finished);
  CHECK(finished->ticket == waiting);
  CHECK(finished->result.outcome.status == Status::interrupted);
  pool.cancel(running);
  finished = pool.wait(out_of_patience());
  REQUIRE(finished);
  CHECK(finished->ticket == running);
  CHECK(finished->result.outcome.status == Status::interrupted);
  CHECK(build(pool, kGood).outcome.status == Status::ok);
}

TEST_CASE("the cache answers a second pool, errors included") {
  const fs::path folder = fs::temp_directory_path() / ("ak-pool-test-" + std::to_string(random_seed()));
  const std::string bad = "__global__ void k() { undefined(); }";
  {
    auto pool = make_pool(1, folder);
    CHECK_FALSE(build(pool, kGood).cache_hit);
    CHECK_FALSE(build(pool, bad).cache_hit);
  }
  auto pool = make_pool(1, folder);
  const auto good = build(pool, kGood), error = build(pool, bad);
  CHECK(good.cache_hit);
  CHECK(good.outcome.status == Status::ok);
  CHECK_FALSE(good.cubin.empty());
  CHECK(error.cache_hit);
  CHECK(error.outcome.status == Status::compile_error);
  fs::remove_all(folder);
}

TEST_CASE(
    "what a verdict rests on is built by a worker that has built no candidate, nor taken from its builds") {
  const fs::path folder = fs::temp_directory_path() / ("ak-pool-test-" + std::to_string(random_seed()));
  auto pool = make_pool(1, folder);
  const auto built = [&](BuildOrigin origin) {
    pool.submit(unit_of(kGood), origin);
    auto finished = pool.wait(out_of_patience());
    REQUIRE(finished);
    CHECK(finished->result.outcome.status == Status::ok);
    return std::pair(finished->result.cache_hit, children());
  };
  const auto [first_known, first] = built(BuildOrigin::candidate);
  CHECK_FALSE(first_known);
  const auto [own_known, own] = built(BuildOrigin::own);
  CHECK_FALSE(own_known);
  CHECK(own != first);
  const auto [leader_known, leader] = built(BuildOrigin::leader);
  CHECK_FALSE(leader_known);
  CHECK(leader == own);  // which has built nothing else
  const auto [again_known, again] = built(BuildOrigin::leader);
  CHECK_FALSE(again_known);
  CHECK(again != leader);
  CHECK(built(BuildOrigin::own).first);
  CHECK(built(BuildOrigin::candidate).first);
  fs::remove_all(folder);
}

TEST_CASE("a worker command that cannot compile is an error of the environment, in words") {
  try {
    CompilePool pool({{"/bin/false"}, 1, 30s, {}});
    FAIL("no exception");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::environment);
    CHECK(std::string(error.what()).find("compile worker") != std::string::npos);
  }
}

TEST_CASE("folders of precompiled headers go when nobody has locked them, and no others") {
  const auto folder = [](const char* name) { return fs::temp_directory_path() / name; };
  const fs::path old = folder("alphakernel-pch-1-oldone"), locked = folder("alphakernel-pch-1-locked"),
                 young = folder("alphakernel-pch-1-young1");
  for (const fs::path& each : {old, locked, young}) fs::create_directories(each);
  const FileDescriptor lock(::open(locked.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(::flock(lock.get(), LOCK_SH | LOCK_NB) == 0);
  for (const fs::path& each : {old, locked})
    fs::last_write_time(each, fs::file_time_type::clock::now() - std::chrono::hours(1));
  remove_stale_pch_folders();
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(locked));
  CHECK(fs::exists(young));
  fs::remove_all(locked);
  fs::remove_all(young);
}

TEST_CASE("headers that take long to parse are parsed once per include set, whatever the macros are") {
  auto pool = make_pool();
  const auto source = [](int n) {
    return "#define AK_N " + std::to_string(n) +
           "\n#line 1 \"k.cu\"\n#include <cooperative_groups.h>\n#include <cuda/barrier>\nconstexpr int N = "
           "AK_N;\n"
           "extern \"C\" __global__ void k(int* x) { cooperative_groups::this_thread_block().sync(); x[0] = "
           "N; }\n";
  };
  const auto unit = [&](int n) {
    auto result = unit_of(source(n));
    result.headers = {{"ak_prelude.h", "#pragma once\n#define AK_PRELUDE 1\n"}};
    result.options.insert(result.options.end(), {"--pre-include=ak_prelude.h", "--generate-line-info"});
    return result;
  };
  const auto first = build(pool, unit(1));
  REQUIRE(first.outcome.status == Status::ok);
  const auto parsed = precompiled_headers();
  CHECK(parsed.size() == 1);
  const auto second = build(pool, unit(2));
  REQUIRE(second.outcome.status == Status::ok);
  CHECK(precompiled_headers() == parsed);  // had it not been of use, there would be another
  CHECK(second.log.empty());
  CHECK(first.ptx != second.ptx);
  const auto wrong = build(pool, source(3) + "__global__ void j() { oops(); }\n");
  REQUIRE(wrong.outcome.diagnostics.size() == 1);
  CHECK(wrong.outcome.diagnostics[0].line == 5);
}

TEST_CASE("no spelling of an include brings the text of a host file into a log or PTX") {
  auto pool = make_pool();
  INFO(pool.facts().degradation);
  for (const char* source : {
           "#include \"/etc/passwd\"\n",
           "#include </etc/passwd>\n",
           "#include <../../../../../../etc/passwd>\n",
           "#include \"../../../../../../../../../etc/passwd\"\n",
           "#include </usr/local/cuda/include/../../../../etc/passwd>\n",
           "#define F </etc/passwd>\n#include F\n",
           "#define Q(x) #x\n#define S(x) Q(x)\n#include S(/etc/passwd)\n",
           "#inc\\\nlude \"/etc/passwd\"\n",
           "%:include \"/etc/passwd\"\n",
           "?\?=include \"/etc/passwd\"\n",
           "#include_next </etc/passwd>\n",
           "#import \"/etc/passwd\"\n",
           "#include \"/proc/self/environ\"\n",
           "#include \"/proc/self/maps\"\n",
           "#if __has_include(\"/etc/passwd\")\n#error oracle says root:\n#endif\n#error stop\n",
           "const char text[] = {\n#embed \"/etc/passwd\"\n};\n",
           "__device__ void f() { asm volatile(\".incbin \\\"/etc/passwd\\\";\"); } __global__ void j() { "
           "f(); }\n",
           "__device__ void f() { asm volatile(\".include \\\"/etc/passwd\\\";\"); } __global__ void j() { "
           "f(); }\n",
           "#pragma GCC dependency \"/etc/passwd\"\n#error stop\n",
       }) {
    INFO(source);
    const auto result = build(pool, std::string(source) + kGood);
    CHECK(result.outcome.status != Status::ok);
    const std::string everything = to_json(result).dump(-1, ' ', false, Json::error_handler_t::replace);
    CHECK(everything.find("root:") == std::string::npos);
    CHECK(everything.find("PATH=") == std::string::npos);
  }
}

TEST_CASE("compile bombs end as outcomes, and the pool goes on") {
  auto pool = make_pool();
  struct Bomb {
    const char* name;
    std::string source;
  };
  const Bomb bombs[] = {
      {"template tree", kEndless},
      {"endless constexpr",
       "constexpr long f() { long x = 0; for (long i = 0; i < 1l << 60; ++i) x += i; return x; }\n"
       "extern \"C\" __global__ void k(long* x) { constexpr long v = f(); x[0] = v; }\n"},
      {"endless template recursion",
       "template <int N> struct R { static constexpr int v = R<N + 1>::v; };\n"
       "extern \"C\" __global__ void k(int* x) { x[0] = R<0>::v; }\n"},
      {"macro doubling",
       [] {
         std::string text = "#define M0 x[0] += 1;\n";
         for (int i = 1; i < 40; ++i)
           text += "#define M" + std::to_string(i) + " M" + std::to_string(i - 1) + " M" +
                   std::to_string(i - 1) + "\n";
         return text + "extern \"C\" __global__ void k(int* x) { M39 }\n";
       }()},
      {"pack doubling",
       "template <int... I> struct S {};\ntemplate <class T> struct D;\n"
       "template <int... I> struct D<S<I...>> { using type = S<I..., I...>; };\n"
       "template <int N> struct G { using type = typename D<typename G<N - 1>::type>::type; };\n"
       "template <> struct G<0> { using type = S<1>; };\n"
       "extern \"C\" __global__ void k(int* x) { typename G<30>::type v; x[0] = sizeof v; }\n"},
  };
  for (const auto& bomb : bombs) {
    INFO(bomb.name);
    const auto result = build(pool, bomb.source, 2s);
    const auto status = result.outcome.status;
    CHECK((status == Status::timeout || status == Status::out_of_memory || status == Status::compile_error));
    CHECK_FALSE(result.outcome.message.empty());
  }
  CHECK(build(pool, kGood).outcome.status == Status::ok);
}

TEST_CASE(
    "a source that needs more memory than a worker may have ends as out of memory, and the pool goes on") {
  auto pool = make_pool();
  const std::string source =
      "__device__ char big[300 << 20] = {1};\nextern \"C\" __global__ void k(char* x) { x[0] = big[5]; }\n";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // A sanitizer needs more address space than a worker may have, so there the deadline is what ends it.
  CHECK(build(pool, source, 30s).outcome.status != Status::ok);
#else
  CHECK(build(pool, source).outcome.status == Status::out_of_memory);
#endif
  CHECK(build(pool, kGood).outcome.status == Status::ok);
}

TEST_CASE("a source of a hundred megabytes is refused without being compiled") {
  auto pool = make_pool();
  const auto result = build(pool, std::string(100u << 20, ' '));
  CHECK(result.outcome.status == Status::invalid_candidate);
  CHECK(result.outcome.message.find("104857600") != std::string::npos);
}

}  // namespace ak::runtime
