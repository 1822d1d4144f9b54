// SPDX-License-Identifier: Apache-2.0
#include "app/setup/pool_file.h"

#include <catch2/catch.hpp>
#include <functional>

#include "app/setup/target.h"
#include "core/error.h"
#include "core/text/file.h"
#include "runtime/fleet/tcp_socket.h"
#include "tests/support/run_program.h"

namespace ak::app {
namespace {

PoolDevices pool_of(const std::string& devices) {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder / "pool.json", "{\"devices\": " + devices + "}");
  return read_pool(folder / "pool.json");
}

std::string refusal(const std::string& devices) {
  try {
    static_cast<void>(pool_of(devices));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
  return "";
}

TEST_CASE("a pool has as many devices as its entries say, in their order") {
  const PoolDevices pool = pool_of(
      R"([{"local": [2, 0]}, {"launch": "ssh gpu7", "devices": [0, 1], "program": "/opt/ak/bin/alphakernel"},
          {"launch": ["srun", "-N1", "--comment=two words"], "count": 2}])");
  CHECK(pool.kind == DeviceKind::cuda);
  std::vector<std::string> names;
  for (const runtime::DevicePlace& place : pool.places) names.push_back(place.name);
  CHECK(names == std::vector<std::string>{"cuda:2", "cuda:0", "cuda:0 of ssh gpu7", "cuda:1 of ssh gpu7",
                                          "cuda:0 of srun -N1 --comment=two words (1)",
                                          "cuda:0 of srun -N1 --comment=two words (2)"});
  CHECK(pool.places[0].worker_command.empty());
  CHECK(pool.places[3].worker_command ==
        std::vector<std::string>{"ssh", "gpu7", "/opt/ak/bin/alphakernel", "worker"});
  CHECK(pool.places[3].ordinal == 1);
  CHECK(pool.places[4].worker_command.at(2) == "--comment=two words");
}

TEST_CASE("a pool of CPU devices is one of costs") {
  const PoolDevices pool =
      pool_of(R"([{"local": "emulator", "count": 3}, {"launch": "env", "device": "emulator"}])");
  CHECK(pool.kind == DeviceKind::emulator);
  CHECK(pool.places.size() == 4);
}

TEST_CASE("a pool of GPUs may say that the CPU device takes their place, and no other device may") {
  const testing::TemporaryFolder folder;
  const auto fallback = [&](const std::string& key, const std::string& devices) {
    write_file_atomically(folder / "pool.json", "{" + key + "\"devices\": [" + devices + "]}");
    return read_pool(folder / "pool.json").cpu_fallback;
  };
  CHECK_FALSE(fallback("", R"({"local": [0]})"));
  CHECK(fallback(R"("fallback": "emulator", )", R"({"local": [0]})"));
  CHECK_THROWS_WITH(fallback(R"("fallback": "cuda", )", R"({"local": [0]})"), Catch::Contains("emulator"));
  CHECK_THROWS_WITH(fallback(R"("fallback": "emulator", )", R"({"local": "emulator"})"),
                    Catch::Contains("a fallback beside GPUs only"));
}

/// The entry of a GPU whose worker says what it is.
std::string gpu_that_is_there(const std::filesystem::path& script) {
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
  write_file_atomically(script, R"(
import json, sys
answers = {'hello': ('hello', {'protocol': 1, 'pid': 1, 'version': '', 'unix_ms': 0, 'free_bytes': None}),
           'describe': ('devices', {'devices': [json.loads(sys.argv[1])]})}
for line in sys.stdin:
    message = json.loads(line)
    if message['type'] not in answers: continue
    message['type'], message['body'] = answers[message['type']]
    print(json.dumps(message), flush=True)
)");
  return Json{{"launch", {"python3", script.string(), to_json(gpu).dump()}}}.dump();
}

TEST_CASE("the CPU device takes the place of a pool's GPUs only where none of them is there") {
  const testing::TemporaryFolder folder;
  const std::string there = gpu_that_is_there(folder / "there.py"), gone = R"({"launch": "/bin/false"})";
  const auto target_of = [&](const std::string& fallback, const std::string& devices) {
    write_file_atomically(folder / "pool.json", "{" + fallback + "\"devices\": [" + devices + "]}");
    return choose_search_target("", (folder / "pool.json").string(), "sm_80");
  };
  const std::string fallback = R"("fallback": "emulator", )";
  const Target some = target_of(fallback, gone + ", " + there);
  CHECK(some.kind == DeviceKind::cuda);
  CHECK_FALSE(some.fell_back);
  REQUIRE(some.device);
  CHECK(some.device->name == "NVIDIA A100");
  REQUIRE(some.pool.size() == 2);
  CHECK_THAT(some.pool.front().name, Catch::Contains("there.py"));
  CHECK_THAT(some.pool.back().name, Catch::Contains("/bin/false"));  // it may come back
  const Target none = target_of(fallback, gone + ", " + gone);
  CHECK(none.kind == DeviceKind::emulator);
  CHECK(none.fell_back);
  CHECK_THROWS_WITH(target_of("", gone + ", " + there), Catch::Contains("no GPU to run on"));

  // An entry whose devices cannot be asked for is left out: here the port is another program's.
  write_file_atomically(folder / "token", "0123456789abcdef0123456789abcdef");
  std::filesystem::permissions(folder / "token", std::filesystem::perms::owner_read);
  const auto occupied = runtime::listen_on({.host = "127.0.0.1", .port = "0"}, false);
  const std::string faulty =
      Json{{"listen", std::to_string(runtime::port_of(occupied))}, {"token_file", "token"}}.dump();
  const Target others = target_of(fallback, faulty + ", " + there);
  CHECK(others.kind == DeviceKind::cuda);
  CHECK(others.pool.size() == 1);
  CHECK(target_of(fallback, faulty).fell_back);
}

TEST_CASE("a pool says how many of its devices have to agree about a champion") {
  const testing::TemporaryFolder folder;
  const auto confirm = [&](const std::string& key) {
    write_file_atomically(folder / "pool.json", "{" + key + "\"devices\": [{\"local\": \"emulator\"}]}");
    return read_pool(folder / "pool.json").confirm;
  };
  CHECK(confirm("") == 1);
  CHECK(confirm("\"confirm\": 3, ") == 3);
  CHECK_THROWS_WITH(confirm("\"confirm\": 0, "), Catch::Contains("confirm: expected an integer from 1"));
}

TEST_CASE("a pool file that cannot be right is refused by its key") {
  const struct {
    const char *devices, *said;
  } cases[] = {
      {"[]", "devices: expected at least one entry"},
      {R"([{"count": 2}])",
       "devices[0]: what the devices are is missing: expected one of the keys local, launch"},
      {R"([{"local": "any"}])", "devices[0].local: expected all, emulator or a list of numbers"},
      {R"([{"local": [1, 1]}])", "the same GPU twice"},
      {R"([{"local": [0], "count": 2}])", "count"},
      {R"([{"local": "emulator", "count": 0}])", "devices[0].count: expected an integer from 1 to 256"},
      {R"([{"launch": ""}])", "devices[0].launch: expected a command"},
      {R"([{"launch": "ssh a", "device": "tpu"}])", "devices[0].device: expected cuda or emulator"},
      {R"([{"local": [0]}, {"local": "emulator"}])", "devices[1]: the CPU device beside GPUs"},
      {R"([{"launch": "a", "count": 256, "devices": [0, 1]}])", "512 devices, where 256 are allowed"},
  };
  for (const auto& one : cases) {
    INFO(one.devices);
    CHECK_THAT(refusal(one.devices), Catch::Contains("pool.json") && Catch::Contains(one.said));
  }
}

TEST_CASE("places that listen are for whichever workers connect, at a port that these can name") {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder / "token", "0123456789abcdef0123456789abcdef");
  std::filesystem::permissions(folder / "token", std::filesystem::perms::owner_read);
  const auto listening = [&](const std::string& port) {
    return R"([{"listen": ")" + port + R"(", "token_file": ")" + (folder / "token").string() +
           R"(", "count": 2}])";
  };
  const std::string free =
      std::to_string(runtime::port_of(runtime::listen_on({.host = "127.0.0.1", .port = "0"}, false)));
  const PoolDevices pool = pool_of(listening(free));
  CHECK_THROWS_WITH(runtime::claim_address({.host = "127.0.0.1", .port = free}),
                    Catch::Contains("127.0.0.1:" + free) && Catch::Contains("the port is taken"));
  CHECK(pool_of(listening(free)).places[0].claim == pool.places[0].claim);
  REQUIRE(pool.places.size() == 2);
  CHECK(pool.places[0].connects);
  CHECK(pool.places[1].connects);
  CHECK_THAT(refusal(listening("0")), Catch::Contains("devices[0].listen: '0' is no address"));
}

std::string refused(const std::function<Target()>& choose) {
  try {
    static_cast<void>(choose());
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST_CASE("several GPUs are for what searches, and are named once") {
  CHECK_THAT(refused([] { return choose_target("cuda:0,2", ""); }),
             Catch::Contains("names several GPUs, and this runs on one"));
  CHECK_THAT(refused([] { return choose_target("cuda:all", ""); }), Catch::Contains("names several GPUs"));
  CHECK_THAT(refused([] { return choose_search_target("cuda:1,1", "", ""); }),
             Catch::Contains("names a GPU twice"));
  CHECK_THAT(refused([] { return choose_search_target("cuda:0,", "", ""); }),
             Catch::Contains("unknown device"));
  CHECK_THAT(refused([] { return choose_search_target("emulator", "pool.json", ""); }),
             Catch::Contains("leave --device emulator out"));
}

TEST_CASE("a session asks again for the GPUs that it began on") {
  Target target{.kind = DeviceKind::cuda, .ordinal = 2, .arch = {}, .device = std::nullopt, .notice = {}};
  CHECK(device_flag_of(target) == "cuda:2");
  target.pool = {local_gpu(2), local_gpu(0)};
  CHECK(device_flag_of(target) == "cuda:2,0");
  target.kind = DeviceKind::emulator;
  CHECK(device_flag_of(target) == "emulator");
}

}  // namespace
}  // namespace ak::app
