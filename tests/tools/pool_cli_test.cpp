// SPDX-License-Identifier: Apache-2.0
// `doctor --pool` as a user meets it: real workers, launched and connected, and all that can be wrong with them.
#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/text/file.h"
#include "core/text/json.h"
#include "runtime/fleet/tcp_socket.h"
#include "tests/support/sandbox.h"

namespace ak::testing {
namespace {

namespace fs = std::filesystem;
using runtime::FleetAddress;

/// A pool of CPU devices, of which each is an entry.
struct PoolBox : Sandbox {
  std::string pool(const std::string& entries) {
    return write("pool.json", "{\"devices\": [" + entries + "]}");
  }
  std::string token(const std::string& name, char character) {
    const std::string file = write(name, std::string(40, character));
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    return file;
  }
  Json doctor(const std::string& pool_file, const std::string& seconds, int exit_code) {
    const ProgramResult result = run({"doctor", "--pool", pool_file, "--wait", seconds, "--json"});
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == exit_code);
    return parse_json(result.out);
  }
};

std::string fault_of(const Json& answer, std::size_t place) {
  return answer["places"].at(place)["fault"].get<std::string>();
}

constexpr const char* kLong = "600";  // all answer before, however slow the machine is

TEST_CASE("doctor --pool shows what every device of a pool is") {
  PoolBox box;
  const std::string pool = box.pool(R"({"local": "emulator"}, {"launch": "env", "device": "emulator"})");
  const Json answer = box.doctor(pool, kLong, 0);
  CHECK(answer["usable"] == true);
  REQUIRE(answer["places"].size() == 2);
  for (const Json& place : answer["places"]) {
    CHECK(place["usable"] == true);
    CHECK(place["version"] == AK_VERSION);
    CHECK(place["clock_skew_s"].is_number());
    CHECK(place["free_bytes"].get<std::int64_t>() > 0);
    CHECK(place["calibration"] == answer["places"][0]["calibration"]);  // of a CPU device, exact
  }
  const ProgramResult text = box.run({"doctor", "--pool", pool});
  CHECK_THAT(text.out, Catch::Contains("a CPU device of env") && Catch::Contains("ok") &&
                           Catch::Contains("GB free") && Catch::Contains("calibration"));
}

/// A worker that answers like one, except for this of its greeting or its calibration.
std::string strange_worker(const Sandbox& box, const std::string& greeting, const std::string& costs) {
  const fs::path script = box.folder / "strange.py";
  write_file_atomically(script, R"(
import json, sys, time
greeting, costs = json.loads(sys.argv[1]), json.loads(sys.argv[2])
for line in sys.stdin:
    message = json.loads(line)
    if message['type'] == 'hello':
        body = {'protocol': 1, 'pid': 1, 'version': ')" AK_VERSION
                                R"(', 'unix_ms': int(1000 * time.time()), 'free_bytes': None}
        message['body'] = body | greeting
    elif message['type'] == 'calibrate':
        message['type'], message['body'] = 'calibrated', {'memory_errors': None, 'sm_clock_mhz': 0} | costs
    else: continue
    print(json.dumps(message), flush=True)
)");
  const Json entry{{"launch", {"python3", script.string(), greeting, costs}}, {"device", "emulator"}};
  return entry.dump();
}

TEST_CASE(
    "doctor --pool says of each device why it cannot be used, and the others are looked at all the same") {
  PoolBox box;
  const std::string lies = R"({"compute_ns": 1.0, "copy_ns": 1.0})";
  const std::vector<std::pair<std::string, const char*>> entries{
      {R"({"local": "emulator"})", ""},
      {R"({"launch": ["sh", "-c", "echo hello; exec \"$0\" \"$@\""], "device": "emulator"})",
       "broke the protocol"},
      {R"({"launch": ["sh", "-c", "echo no such host: gpu7 >&2; exit 255"], "device": "emulator"})",
       "it said: no such host: gpu7"},
      {R"({"launch": "/no/such/launcher", "device": "emulator"})", "127"},
      {strange_worker(box, R"({"version": "0.1"})", lies), "it is AlphaKernel 0.1"},
      {strange_worker(box, "{}", lies), "its calibration has drifted"},
      {strange_worker(box, R"({"version": 7})", lies), "broke the protocol: hello"}};
  std::string list;
  for (const auto& [entry, why] : entries) list += (list.empty() ? "" : ", ") + entry;
  const Json answer = box.doctor(box.pool(list), kLong, 5);
  INFO(answer.dump(2));
  CHECK(answer["usable"] == false);
  REQUIRE(answer["places"].size() == entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    INFO(entries[i].first);
    CHECK(answer["places"][i]["usable"] == (i == 0));
    CHECK_THAT(fault_of(answer, i), Catch::Contains(entries[i].second));
  }
}

TEST_CASE("a clock of another day is said, and keeps no device out") {
  PoolBox box;
  const Json own = box.doctor(box.pool(R"({"local": "emulator"})"), kLong, 0)["places"][0]["calibration"];
  const Json costs{{"compute_ns", 1e3 * own["compute_us"].get<double>()},
                   {"copy_ns", 1e3 * own["copy_us"].get<double>()}};
  const Json answer = box.doctor(
      box.pool(R"({"local": "emulator"}, )" +
               strange_worker(box, R"({"unix_ms": 86400000, "free_bytes": 1000000})", costs.dump())),
      kLong, 0);
  CHECK_THAT(answer["places"][1]["notes"].dump(),
             Catch::Contains("behind this one's") && Catch::Contains("only 0.0 GB are free"));
}

TEST_CASE("what does not answer in time is named, as where a firewall drops what is sent") {
  PoolBox box;
  const Json answer =
      box.doctor(box.pool(R"({"launch": ["sh", "-c", "exec sleep 1000"], "device": "emulator"})"), "0.2", 5);
  CHECK_THAT(fault_of(answer, 0),
             Catch::Contains("not answered within 0.2 s") && Catch::Contains("firewall"));
}

/// A worker of the program that connects, and ends with the object.
class ConnectingWorker {
 public:
  ConnectingWorker(const Sandbox& box, const FleetAddress& address, const std::string& token)
      : pid_(start_program({AK_PROGRAM, "worker", "--connect", to_string(address), "--token-file", token},
                           box.environment, box.folder.path())) {}
  ~ConnectingWorker() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ConnectingWorker(const ConnectingWorker&) = delete;
  ConnectingWorker& operator=(const ConnectingWorker&) = delete;

 private:
  pid_t pid_;
};

TEST_CASE("doctor --pool finds a worker that connects, and says who was turned away") {
  PoolBox box;
  const std::string right = box.token("token", 'r'), wrong = box.token("other", 'w');
  const FleetAddress any{.host = "127.0.0.1", .port = "0"};
  const FleetAddress address{.host = any.host,
                             .port = std::to_string(runtime::port_of(runtime::listen_on(any, false)))};
  const std::string pool =
      box.pool(R"({"listen": ")" + to_string(address) + R"(", "token_file": "token", "device": "emulator"})");
  {
    const ConnectingWorker worker(box, address, right);
    CHECK(box.doctor(pool, kLong, 0)["places"][0]["usable"] == true);
  }
  const ConnectingWorker stranger(box, address, wrong);
  std::string fault;
  CHECK(in_the_end([&] {
    fault = fault_of(box.doctor(pool, "1", 5), 0);
    return fault.find("was turned away") != std::string::npos;
  }));
  CHECK_THAT(fault, Catch::Contains("no worker has connected within 1 s"));
}

}  // namespace
}  // namespace ak::testing
