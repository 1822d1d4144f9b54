// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/secure_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "core/error.h"
#include "core/text/file.h"
#include "runtime/fleet/byte_relay.h"
#include "runtime/fleet/tcp_socket.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

/// A file that only its owner may use.
fs::path secret_file(const testing::TemporaryFolder& folder, const std::string& name,
                     const std::string& text) {
  write_file_atomically(folder / name, text);
  fs::permissions(folder / name, fs::perms::owner_read | fs::perms::owner_write);
  return folder / name;
}

const std::string kToken = "0123456789abcdef0123456789abcdef";

std::array<FileDescriptor, 2> socket_pair() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// The two ends of a connection, whose keys are exchanged at the same time.
struct Connection {
  Connection(FileDescriptor at_controller, FileDescriptor at_worker, const FleetToken& controllers,
             const FleetToken& workers) {
    const auto deadline = testing::out_of_patience();
    std::thread other([&] {
      worker =
          std::make_unique<SecureStream>(std::move(at_worker), workers, SecureStream::End::worker, deadline);
    });
    controller = std::make_unique<SecureStream>(std::move(at_controller), controllers,
                                                SecureStream::End::controller, deadline);
    other.join();
  }
  std::unique_ptr<SecureStream> controller, worker;
};

/// What the other end says to a frame.
std::string fault_of(SecureStream& stream) {
  try {
    static_cast<void>(stream.receive(testing::out_of_patience()));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("who has the token is understood, in both directions and in order") {
  const testing::TemporaryFolder folder;
  const FleetToken token(secret_file(folder, "token", kToken + "\n"));
  auto ends = socket_pair();
  Connection both(std::move(ends[0]), std::move(ends[1]), token, token);
  const auto deadline = testing::out_of_patience();
  both.worker->send_all("first", deadline);
  both.worker->send_all(std::string(SecureStream::kFrameBytes, 'x'), deadline);
  both.controller->send_all("answer", deadline);
  CHECK(both.controller->receive(deadline) == "first");
  CHECK(both.controller->receive(deadline) == std::string(SecureStream::kFrameBytes, 'x'));
  CHECK(both.worker->receive(deadline) == "answer");
}

TEST_CASE("who has another token is not") {
  const testing::TemporaryFolder folder;
  const FleetToken token(secret_file(folder, "token", kToken));
  const FleetToken other(secret_file(folder, "other", kToken + "!"));
  auto ends = socket_pair();
  Connection both(std::move(ends[0]), std::move(ends[1]), token, other);
  both.worker->send_all("let me in", testing::out_of_patience());
  CHECK_THAT(fault_of(*both.controller), Catch::Contains("does not have this token"));
}

/// What a stranger on the way does to the bytes that the worker sends after the keys were exchanged.
std::string after_meddling(const std::function<std::string(std::string)>& meddle) {
  const testing::TemporaryFolder folder;
  const FleetToken token(secret_file(folder, "token", kToken));
  auto ends = socket_pair();
  const FileDescriptor copy(::dup(ends[1].get()));
  Connection both(std::move(ends[0]), std::move(ends[1]), token, token);
  auto captured = socket_pair();
  // The worker's next frame goes nowhere, but to us.
  const int real = both.worker->descriptor();
  REQUIRE(::dup2(captured[0].get(), real) == real);
  both.worker->send_all("the truth", testing::out_of_patience());
  std::string frame(1'000, '\0');
  frame.resize(static_cast<std::size_t>(::read(captured[1].get(), frame.data(), frame.size())));
  const std::string sent = meddle(frame);
  REQUIRE(::write(copy.get(), sent.data(), sent.size()) == static_cast<ssize_t>(sent.size()));
  static_cast<void>(both.controller->flush());
  std::string fault = fault_of(*both.controller);
  return fault.empty() ? fault_of(*both.controller) : fault;
}

TEST_CASE("a frame that was changed, and one that comes again, end the connection") {
  CHECK_THAT(after_meddling([](std::string frame) {
               frame.back() = static_cast<char>(frame.back() ^ 1);
               return frame;
             }),
             Catch::Contains("does not have this token"));
  CHECK_THAT(after_meddling([](std::string frame) { return frame + frame; }),
             Catch::Contains("does not have this token"));
  CHECK_THAT(after_meddling([](std::string) { return std::string("\xff\xff\xff\xff", 4); }),
             Catch::Contains("does not have this token"));
}

TEST_CASE("a stranger who speaks another protocol is named as one") {
  const testing::TemporaryFolder folder;
  const FleetToken token(secret_file(folder, "token", kToken));
  auto ends = socket_pair();
  const std::string http = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
  REQUIRE(::write(ends[1].get(), http.data(), http.size()) > 0);
  CHECK_THROWS_WITH(
      SecureStream(std::move(ends[0]), token, SecureStream::End::controller, testing::out_of_patience()),
      Catch::Contains("no AlphaKernel"));
}

TEST_CASE("a token file is secret, long enough and there") {
  const testing::TemporaryFolder folder;
  const auto refusal = [](const fs::path& file) -> std::string {
    try {
      const FleetToken token(file);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      return error.what();
    }
    return "";
  };
  CHECK(refusal(secret_file(folder, "token", kToken)).empty());
  CHECK_THAT(refusal(secret_file(folder, "short", "hunter2")),
             Catch::Contains("has 7 characters, and 32 are needed"));
  CHECK_THAT(refusal(folder / "absent"), Catch::Contains("make one with"));
  fs::permissions(folder / "token", fs::perms::others_read, fs::perm_options::add);
  CHECK_THAT(refusal(folder / "token"), Catch::Contains("chmod 600"));
}

TEST_CASE("an address is a host and a port, or a port of this machine") {
  CHECK(to_string(parse_fleet_address("7777")) == "127.0.0.1:7777");
  CHECK(to_string(parse_fleet_address("gpu7:80")) == "gpu7:80");
  CHECK(to_string(parse_fleet_address("[::1]:7777")) == "[::1]:7777");
  for (const char* wrong : {"", "0", "gpu7:", ":80", "gpu7:0", "gpu7:http", "gpu7:70000"})
    CHECK_THROWS_WITH(parse_fleet_address(wrong), Catch::Contains("expected HOST:PORT"));
}

TEST_CASE("a connection that has gone is not waited for, and one that is there delays no small messages") {
  const FileDescriptor listening = listen_on({.host = "127.0.0.1", .port = "0"}, true);
  CHECK_FALSE(accept_at(listening));
  const FileDescriptor calling =
      connect_to({.host = "127.0.0.1", .port = std::to_string(port_of(listening))});
  const FileDescriptor called = accept_at(listening);
  REQUIRE(called);
  for (const FileDescriptor* end : {&calling, &called}) {
    int no_delay = 0;
    socklen_t size = sizeof no_delay;
    REQUIRE(::getsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &size) == 0);
    CHECK(no_delay != 0);
  }
}

TEST_CASE("the last frame is known as one, and nothing after it is taken") {
  const testing::TemporaryFolder folder;
  const FleetToken token(secret_file(folder, "token", kToken));
  auto ends = socket_pair();
  Connection both(std::move(ends[0]), std::move(ends[1]), token, token);
  const auto deadline = testing::out_of_patience();
  both.worker->send_all("first", deadline);
  both.worker->send_last("the end", deadline);
  both.worker->send_all("more", deadline);
  CHECK(both.controller->receive(deadline) == "first");
  CHECK_FALSE(both.controller->last());
  both.worker.reset();
  CHECK_THAT(fault_of(*both.controller), Catch::Contains("closed the connection"));
  CHECK(both.controller->last() == "the end");
}

TEST_CASE("a relay passes on what came along with the greeting") {
  const testing::TemporaryFolder folder;
  const FleetToken token(secret_file(folder, "token", kToken));
  auto ends = socket_pair(), near = socket_pair();
  Connection both(std::move(ends[0]), std::move(ends[1]), token, token);
  const auto deadline = testing::out_of_patience();
  both.controller->send_all("greeting", deadline);
  both.controller->send_all("message", deadline);
  CHECK(both.worker->receive(deadline) == "greeting");
  REQUIRE(::shutdown(near[0].get(), SHUT_WR) == 0);
  CHECK(relay(*both.worker, near[1].get(), near[1].get()) == RelayEnd::local);
  near[1].reset();
  std::array<char, 100> got{};
  REQUIRE(::read(near[0].get(), got.data(), got.size()) == 7);
  CHECK(std::string(got.data()) == "message");
}

TEST_CASE("a relay moves more than it holds in both directions at once, and all of it before the end") {
  const testing::TemporaryFolder folder;
  const FleetToken token(secret_file(folder, "token", kToken));
  auto ends = socket_pair(), near = socket_pair(), far = socket_pair();
  Connection both(std::move(ends[0]), std::move(ends[1]), token, token);
  std::thread controller([&] {
    static_cast<void>(relay(*both.controller, near[1].get(), near[1].get()));
    near[1].reset();
  });
  std::thread worker([&] {
    static_cast<void>(relay(*both.worker, far[1].get(), far[1].get()));
    both.worker.reset();
    far[1].reset();
  });
  constexpr std::size_t kBytes = std::size_t{4} << 20;  // more than sockets and relays hold
  std::thread echo([&] {
    std::array<char, 10'000> chunk;
    for (std::size_t moved = 0; moved < kBytes;) {
      const ssize_t count = ::read(far[0].get(), chunk.data(), chunk.size());
      if (count <= 0 || ::write(far[0].get(), chunk.data(), static_cast<std::size_t>(count)) != count) break;
      moved += static_cast<std::size_t>(count);
    }
    far[0].reset();
  });
  std::string sent(kBytes, '\0'), got;
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 2'654'435'761u >> 24);
  std::thread feed([&] {
    for (std::size_t at = 0; at < sent.size();) {
      const ssize_t count = ::write(near[0].get(), sent.data() + at, sent.size() - at);
      if (count <= 0) break;
      at += static_cast<std::size_t>(count);
    }
  });
  std::array<char, 10'000> chunk;
  for (;;) {
    const ssize_t count = ::read(near[0].get(), chunk.data(), chunk.size());
    if (count <= 0) break;
    got.append(chunk.data(), static_cast<std::size_t>(count));
  }
  for (std::thread* thread : {&controller, &worker, &echo, &feed}) thread->join();
  CHECK(got == sent);
}

}  // namespace
}  // namespace ak::runtime
