// SPDX-License-Identifier: Apache-2.0
// `doctor --pool` as a user meets it: real workers, launched and connected, and all that can be wrong with them.
#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/device/device_facts.h"
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

/// A worker of a GPU that cannot be used any more when it comes to work.
std::string worker_of_a_lost_gpu(const Sandbox& box) {
  const DeviceFacts gpu{.kind = DeviceKind::cuda,
                        .name = "NVIDIA A100",
                        .uuid = "GPU-1",
                        .arch = {.major = 8, .minor = 0},
                        .sm_count = 108,
                        .max_threads_per_sm = 2048,
                        .l2_bytes = 40 << 20,
                        .memory_bytes = std::int64_t{80} << 30,
                        .shared_bytes_per_block = 166'912,
                        .driver_version = 13'000};
  const fs::path script = box.folder / "lost.py";
  write_file_atomically(script, R"(
import json, sys
gpu = json.loads(sys.argv[1])
answers = {'hello': ('hello', {'protocol': 1, 'pid': 1, 'version': '', 'unix_ms': 0, 'free_bytes': None}),
           'describe': ('devices', {'devices': [gpu]}),
           'calibrate': ('calibrated', {'compute_ns': 1e5, 'copy_ns': 1e5, 'sm_clock_mhz': 0, 'memory_errors': None}),
           'open': ('failed', {'message': 'CUDA_ERROR_NO_DEVICE', 'code': 5})}
for line in sys.stdin:
    message = json.loads(line)
    if message['type'] not in answers: continue
    message['type'], message['body'] = answers[message['type']]
    print(json.dumps(message), flush=True)
)");
  return Json{{"launch", {"python3", script.string(), to_json(gpu).dump()}}}.dump();
}

TEST_CASE(
    "a search whose GPUs are gone goes on with the CPU device where its pool's file says so, as another "
    "search") {
  PoolBox box;
  const auto generate = [&](const std::string& entry, const std::string& fallback) {
    const std::string pool = box.write("pool.json", "{" + fallback + "\"devices\": [" + entry + "]}");
    return box.run({"generate", "--algorithm", "vector_add", "--shape", "N=1000", "--arch", "sm_80", "--pool",
                    pool, "--max-evaluations", "2", "--unaudited", "--output",
                    (box.folder / "k.cu").string()});
  };
  const std::string gpu = worker_of_a_lost_gpu(box), fallback = R"("fallback": "emulator", )";
  const ProgramResult alone = generate(gpu, "");
  CHECK(alone.exit_code == code(ExitCode::environment));
  CHECK_THAT(alone.err, Catch::Contains("CUDA_ERROR_NO_DEVICE"));

  const ProgramResult result = generate(gpu, fallback);
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.err, Catch::Contains("the GPUs of the pool are gone") &&
                             Catch::Contains("whose costs are not ranked with times") &&
                             Catch::Contains("k.cpu_device.cu"));
  CHECK(fs::exists(box.folder / "k.cpu_device.cu"));
  CHECK(!fs::exists(box.folder / "k.cu"));
  CHECK(
      box.query(
          "SELECT d.kind, s.status, (SELECT count(*) FROM evaluations e WHERE e.device_id = d.id) > 1 AS any "
          "FROM searches s JOIN devices d ON d.id = s.device_id ORDER BY s.id") ==
      "cuda,failed,0\r\ncuda,failed,0\r\nemulator,finished,1\r\n");

  const ProgramResult none = generate(R"({"launch": "/bin/false"})", fallback);
  INFO(none.out << none.err);
  CHECK(none.exit_code == 0);
  CHECK_THAT(none.err, Catch::Contains("no GPU of the pool is there"));
  CHECK(fs::exists(box.folder / "k.cu"));
}

TEST_CASE("a session whose GPUs are gone takes no costs of the CPU device for times of theirs") {
  PoolBox box;
  const std::string pool =
      box.write("pool.json", R"({"fallback": "emulator", "devices": [)" + worker_of_a_lost_gpu(box) + "]}");
  const ProgramResult result =
      box.run({"session", "start", "--foreground", "--algorithm", "vector_add", "--shape", "N=1000", "--arch",
               "sm_80", "--pool", pool, "--max-evaluations", "2", "--unaudited", "--output",
               (box.folder / "k.cu").string()});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.err, Catch::Contains("the GPUs of the pool are gone"));
  CHECK(box.query(
            "SELECT state, verified > 0 AS any, best_ns IS NULL AS best, baseline_ns IS NULL AS baseline, "
            "limit_ns IS NULL AS no_limit FROM session_searches") == "finished,1,1,1,1\r\n");
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

FleetAddress free_address() {
  const FleetAddress any{.host = "127.0.0.1", .port = "0"};
  return {.host = any.host, .port = std::to_string(runtime::port_of(runtime::listen_on(any, false)))};
}

TEST_CASE("of two searches that listen at one address the second evaluates nothing") {
  PoolBox box;
  box.token("token", 'r');
  const FleetAddress address = free_address();
  const FileDescriptor first_search = runtime::claim_address(address);
  const std::string pool = box.pool(R"({"local": "emulator"}, {"listen": ")" + to_string(address) +
                                    R"(", "token_file": "token", "device": "emulator"})");
  const ProgramResult second =
      box.run({"generate", "--algorithm", "vector_add", "--shape", "N=1000", "--pool", pool,
               "--max-evaluations", "2", "--unaudited", "--output", (box.folder / "k.cu").string()});
  CHECK(second.exit_code == code(ExitCode::environment));
  CHECK_THAT(second.err, Catch::Contains("pool.json: devices[1]") && Catch::Contains(to_string(address)) &&
                             Catch::Contains("the port is taken"));
  CHECK(!fs::exists(box.folder / "k.cu"));
}

TEST_CASE("doctor --pool finds a worker that connects, and says who was turned away") {
  PoolBox box;
  const std::string right = box.token("token", 'r'), wrong = box.token("other", 'w');
  const FleetAddress address = free_address();
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
