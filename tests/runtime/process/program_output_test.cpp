// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/program_output.h"

#include <unistd.h>
#include <catch2/catch.hpp>
#include <csignal>

#include "core/text/file.h"
#include "tests/support/temporary_folder.h"

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

Result<std::string> shell(const std::string& script, const ProgramWatch& watch = {},
                          std::chrono::milliseconds limit = 60s) {
  return output_of({"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"}, limit, watch);
}

}  // namespace

TEST_CASE("a program reads what it is given, and nothing where it is given nothing") {
  const std::string long_text(300'000, 'x');
  CHECK(shell("cat", {.input = "a line\n"}).value() == "a line\n");
  CHECK(shell("wc -c", {.input = long_text}).value() == "300000\n");
  CHECK(shell("cat").value().empty());
}

TEST_CASE("lines are handed over whole, as they come") {
  Lines lines;
  const auto note = [&](std::string_view line) { lines.emplace_back(line); };
  REQUIRE(shell("printf 'one\\ntw'; sleep 0.05; printf 'o\\n\\nrest'", {.on_line = note}));
  CHECK(lines == Lines{"one", "two", ""});
}

TEST_CASE("what a program said last is in the error, without what a terminal obeys") {
  const auto failed = shell("printf 'no \\033[31mroom' >&2; exit 3", {.last_words = true});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "ended with exit code 3: no ?[31mroom");
  CHECK(shell("echo why >&2; exit 3").error().message == "ended with exit code 3");
  CHECK(shell("kill -9 $$").error().message == "was ended by signal 9");
}

TEST_CASE("of a program that complains at length the end is kept, and it is not held up") {
  const auto failed = shell("exec >&-; head -c 3000000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 3",
                            {.last_words = true});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message.size() < 1000);
  CHECK(failed.error().message.ends_with("xthe end\n"));
}

TEST_CASE("a program that closes its output and stays is ended, too") {
  CHECK(shell("exec >&-; sleep 600", {}, 300ms).error().message == "did not end within 0 s");
}

TEST_CASE("a program that is stopped, too late or too loud ends with all that it started") {
  const testing::TemporaryFolder folder;
  const auto outlived = [&](const std::string& name, const ProgramWatch& watch,
                            std::chrono::milliseconds limit, const std::string& tail) {
    const std::string pid = (folder.path() / name).string();
    const auto ended = shell("sleep 600 & echo $! > " + pid + "; " + tail, watch, limit);
    CHECK_FALSE(ended);
    const pid_t child = std::stoi(read_file(pid));
    for (int i = 0; i < 1000 && ::kill(child, 0) == 0; ++i) ::usleep(10'000);  // its new parent reaps it
    return ::kill(child, 0) == 0;
  };
  const std::atomic<bool> stop{true};
  CHECK_FALSE(outlived("late", {}, 300ms, "sleep 600"));
  CHECK_FALSE(outlived("loud", {}, 60s, "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"));
  std::atomic<bool> later{false};
  CHECK_FALSE(outlived("stopped", {.on_line = [&](std::string_view) { later = true; }, .stop = &later}, 60s,
                       "echo now; sleep 600"));
  CHECK(shell("echo x", {.stop = &stop}).error().message == "interrupted");
}

}  // namespace ak::runtime
