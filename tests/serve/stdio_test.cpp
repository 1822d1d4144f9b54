// SPDX-License-Identifier: Apache-2.0
// The stdio interface: what comes from outside may be anything, and every request gets one answer.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <future>
#include <random>

#include "app/operations/request_check.h"
#include "core/text/file.h"
#include "core/text/json_line.h"
#include "core/text/locations.h"
#include "serve/stdio/stdio_server.h"
#include "tests/support/fuzz_iterations.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

using namespace ak;
using namespace ak::stdio;
using namespace ak::testing;

namespace {

const std::vector<std::string> kLines{
    R"({"id":1,"operation":"list_problems"})",
    R"({"id":"a","operation":"query","request":{"sql":"SELECT 1","limit":5}})",
    R"({"id":2,"operation":"evaluate","request":{"source":"x","params":{"dtype":"bf16"},"depth":"build"}})",
    R"({"stop":"a"})",
};

/// One of these lines with some bytes replaced, doubled, cut out, or taken from another one.
std::string mutated_line(std::mt19937& random) {
  const auto pick = [&](std::size_t below) { return random() % std::max<std::size_t>(below, 1); };
  std::string text = kLines[pick(kLines.size())];
  for (std::size_t changes = pick(5); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = pick(text.size()), length = pick(12);
    const std::string& other = kLines[pick(kLines.size())];
    if (pick(4) == 0) text[at] = static_cast<char>(random());
    if (pick(4) == 0) text.insert(at, text.substr(pick(text.size()), length));
    if (pick(4) == 0) text.erase(at, length);
    if (pick(4) == 0) text.replace(at, length, other.substr(pick(other.size()), length));
  }
  std::erase(text, '\n');
  return text;
}

/// A server in this process, whose workers are the real program's.
class Search {
 public:
  Search() {
    std::signal(SIGPIPE, SIG_IGN);
    set_locations({.program = AK_PROGRAM, .config = folder_ / "config.json"});
    int to[2], from[2];
    REQUIRE(pipe2(to, O_CLOEXEC) == 0);
    REQUIRE(pipe2(from, O_CLOEXEC) == 0);
    to_server_ = FileDescriptor(to[1]);
    from_server_ = FileDescriptor(from[0]);
    in_ = FileDescriptor(to[0]);
    out_ = FileDescriptor(from[1]);
    operations::Context context;
    context.config.cache = (folder_ / "cache").string();
    context.database = folder_ / "ak.db";
    context.caller = "test";
    server_ = std::async(std::launch::async,
                         [this, context] { Server(in_.get(), out_.get(), context, interrupted).run(); });
  }
  ~Search() {
    to_server_.reset();
    from_server_.reset();
    if (server_.valid()) server_.wait();
    set_locations({});
  }

  void send(const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = write(to_server_.get(), text.data() + sent, text.size() - sent);
      REQUIRE(count > 0);
      sent += static_cast<std::size_t>(count);
    }
  }
  void send(const Json& message) { send(one_line(message) + "\n"); }

  /// The next line; fails the test where none comes.
  Json receive() {
    for (;;) {
      if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
        Json message = parse_json(buffer_.substr(0, end));
        buffer_.erase(0, end + 1);
        return message;
      }
      pollfd ready{.fd = from_server_.get(), .events = POLLIN, .revents = 0};
      char chunk[4096];
      const ssize_t count = poll(&ready, 1, std::chrono::milliseconds(kPatience).count()) > 0
                                ? read(from_server_.get(), chunk, sizeof chunk)
                                : 0;
      REQUIRE(count > 0);
      buffer_.append(chunk, static_cast<std::size_t>(count));
    }
  }
  /// The answer or the error of a request; what came before it goes to `events`.
  Json receive(const Json& id) {
    for (;;) {
      Json message = receive();
      if (!message.contains("event") && message["id"] == id) return message;
      events.push_back(std::move(message));
    }
  }

  void close_input() { to_server_.reset(); }
  void go_away() { from_server_.reset(); }
  /// Waits for the end of run(); throws what it throws.
  void finish() { server_.get(); }

  std::atomic<bool> interrupted{false};
  std::vector<Json> events;

 private:
  TemporaryFolder folder_;
  FileDescriptor to_server_, from_server_, in_, out_;
  std::string buffer_;
  std::future<void> server_;
};

Json search_request(const Json& id) {
  return {{"id", id},
          {"operation", "search"},
          {"request", {{"problem", "softmax"}, {"device", "none"}, {"arch", "sm_90a"}}}};
}

}  // namespace

TEST_CASE("whatever a line holds is a request that was checked, a stop, or an error that is one line") {
  std::mt19937 random(3);
  int requests = 0, stops = 0, errors = 0;
  for (int i = 0; i < test::fuzz_iterations(20'000); ++i) {
    const std::string line = mutated_line(random);
    INFO(line);
    const auto asked = read_request(line);
    if (const auto* wanted = std::get_if<OperationRequest>(&asked)) {
      ++requests;
      CHECK((wanted->id.is_string() || wanted->id.is_number_integer()));
      CHECK(operations::request_error(wanted->operation->name, wanted->operation->parameters, wanted->request)
                .empty());
    }
    stops += std::holds_alternative<StopRequest>(asked) ? 1 : 0;
    if (const auto* bad = std::get_if<BadRequest>(&asked)) {
      ++errors;
      const std::string text = one_line(error_message(bad->id, ExitCode::usage, bad->message));
      if (text.find('\n') != std::string::npos || bad->message.empty() ||
          parse_json(text)["error"]["code"] != 2)
        FAIL(text);
    }
  }
  CHECK(requests > 1'000);
  CHECK(stops > 100);
  CHECK(errors > 1'000);
}

TEST_CASE("malformed lines get an error each, and the requests between them their answers") {
  Search search;
  struct Line {
    std::string text, why;
  };
  const std::vector<Line> bad{{"{", "not JSON"},
                              {"\xff\xfe", "not JSON"},
                              {std::string(100'000, '['), "nested"},
                              {"[]", "expected {"},
                              {"5", "expected {"},
                              {R"({"operation":"query"})", "an id"},
                              {R"({"id":1.5,"operation":"query"})", "an id"},
                              {R"({"id":9})", "an operation"},
                              {R"({"id":9,"operation":5})", "an operation"},
                              {R"({"id":9,"operation":"qery"})", "did you mean 'query'?"},
                              {R"({"id":9,"operation":"query"})", "needs the argument 'sql'"},
                              {R"({"id":9,"operation":"query","request":[]})", "object"},
                              {R"({"id":9,"operation":"query","reqest":{}})", "unknown member 'reqest'"},
                              {R"({"id":9,"stop":9})", "stop"},
                              {std::string(kMaxLineBytes + 1, 'x'), "longer than"}};
  int id = 100;
  for (const Line& line : bad) {
    INFO(line.text.substr(0, 100));
    search.send(line.text + "\n");
    const Json refused = search.receive();
    CHECK(refused["error"]["code"] == 2);
    CHECK(refused["error"]["message"].get<std::string>().find(line.why) != std::string::npos);
    CHECK((refused["id"].is_null() || refused["id"] == 9));
    search.send({{"id", ++id}, {"operation", "explain_failure"}, {"request", {{"gate", "tolerance"}}}});
    const Json answer = search.receive();
    CHECK(answer["id"] == id);
    CHECK(answer["failed"] == false);
    CHECK(answer["answer"]["gate"]["name"] == "tolerance");
  }
}

TEST_CASE("requests that are piped in are all answered, in their order, before the server ends") {
  Search search;
  for (int id = 0; id < 20; ++id) search.send({{"id", id}, {"operation", "list_problems"}});
  search.send(std::string(R"({"id":"last","operation":"list_problems"})"));  // without a newline
  search.close_input();
  for (int id = 0; id < 20; ++id) CHECK(search.receive()["id"] == id);
  CHECK(search.receive()["answer"]["problems"].size() > 5);
  search.finish();
}

TEST_CASE("a search reports on the way and is stopped; what waits is stopped before it begins") {
  Search search;
  search.send(search_request("first"));
  search.send(search_request("second"));
  search.send(search_request("first"));
  const Json again = search.receive("first");
  CHECK(again["error"]["message"].get<std::string>().find("another request with this id") == 0);
  search.send({{"stop", "second"}});
  const Json second = search.receive("second");
  CHECK(second["error"]["code"] == 130);
  while (search.events.empty()) search.events.push_back(search.receive());
  search.send({{"stop", "first"}});
  search.send({{"stop", "unknown"}});
  const Json first = search.receive("first");
  CHECK(first["answer"]["interrupted"] == true);
  for (const Json& event : search.events)
    CHECK((event["event"] == "progress" || event["event"] == "new_best"));
  search.send({{"id", 3}, {"operation", "query"}, {"request", {{"sql", "SELEC"}}}});
  CHECK(search.receive(3)["error"]["message"].get<std::string>().size() > 5);
}

TEST_CASE("a signal, or a client that is gone, ends the server and what is at work") {
  {
    Search search;
    search.send(search_request(1));
    search.send(search_request(2));
    while (search.events.empty()) search.events.push_back(search.receive());
    search.interrupted = true;
    CHECK(search.receive(2)["error"]["code"] == 130);
    CHECK(search.receive(1)["answer"]["interrupted"] == true);
    search.finish();
  }
  Search search;
  search.send(search_request(1));
  while (search.events.empty()) search.events.push_back(search.receive());
  search.go_away();
  CHECK_THROWS_WITH(search.finish(), Catch::Contains("cannot answer the client"));
}
