// SPDX-License-Identifier: Apache-2.0
#include "app/setup/pool_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <sstream>

#include "app/setup/program_paths.h"
#include "core/error.h"
#include "core/text/format_version.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"
#include "runtime/fleet/secure_stream.h"
#include "runtime/fleet/tcp_socket.h"

namespace ak::app {
namespace {

using runtime::DevicePlace;

constexpr Format kPoolFormat{.name = "a file of a pool"};
constexpr std::size_t kShownText = 60;

std::int64_t integer_between(const JsonReader& at, std::int64_t low, std::int64_t high) {
  const std::int64_t value = at.integer();
  if (value < low || value > high) at.fail(fmt::format("an integer from {} to {}", low, high));
  return value;
}

/// How many of an entry there are: 1 where it does not say.
int count_of(const JsonReader& entry) {
  const auto given = entry.find("count");
  return given ? static_cast<int>(integer_between(*given, 1, kMostPoolDevices)) : 1;
}

std::vector<int> ordinals_in(const JsonReader& at) {
  if (!at.json().is_array() || at.json().empty()) at.fail("a list of numbers of GPUs, such as [0, 2]");
  std::vector<int> ordinals;
  for (const JsonReader& item : at.items()) {
    const int ordinal = static_cast<int>(integer_between(item, 0, kMostPoolDevices));
    if (std::ranges::find(ordinals, ordinal) != ordinals.end()) item.reject("the same GPU twice");
    ordinals.push_back(ordinal);
  }
  return ordinals;
}

DeviceKind kind_in(const JsonReader& entry) {
  const auto given = entry.find("device");
  if (!given) return DeviceKind::cuda;
  const std::string text = given->text();
  if (text != "cuda" && text != "emulator") given->fail("cuda or emulator");
  return text == "cuda" ? DeviceKind::cuda : DeviceKind::emulator;
}

std::vector<DevicePlace> cpu_devices(const std::string& where, const std::vector<std::string>& command,
                                     int count) {
  return std::vector<DevicePlace>(
      static_cast<std::size_t>(count),
      {.name = fmt::format("a CPU device of {}", where), .worker_command = command});
}

/// {"local": "all"}, {"local": [0, 2]}, {"local": "emulator", "count": 4}
PoolDevices read_local(const JsonReader& entry, const std::filesystem::path&) {
  const JsonReader local = entry.member("local");
  if (local.json() == Json("emulator")) {
    entry.only({"local", "count"});
    return {.kind = DeviceKind::emulator, .places = cpu_devices("this machine", {}, count_of(entry))};
  }
  entry.only({"local"});
  if (local.json() == Json("all")) return {.kind = DeviceKind::cuda, .places = local_gpus()};
  if (!local.json().is_array()) local.fail("all, emulator or a list of numbers of GPUs, such as [0, 2]");
  PoolDevices found;
  for (const int ordinal : ordinals_in(local)) found.places.push_back(local_gpu(ordinal));
  return found;
}

/// The words of a command: a list of texts, or one text with spaces between them.
std::vector<std::string> words_in(const JsonReader& at) {
  std::vector<std::string> words;
  if (at.json().is_array()) {
    for (const JsonReader& item : at.items()) words.push_back(item.text());
  } else {
    std::istringstream text(at.text());
    for (std::string word; text >> word;) words.push_back(word);
  }
  if (words.empty() || words.front().empty()) at.fail("a command, such as \"srun -N1 -n1 --gpus=1\"");
  return words;
}

/// {"launch": "ssh gpu7", "devices": [0, 1]}, {"launch": "srun -N1 -n1 --gpus=1", "count": 8}
PoolDevices read_launch(const JsonReader& entry, const std::filesystem::path&) {
  entry.only({"launch", "count", "devices", "program", "device"});
  std::vector<std::string> command = words_in(entry.member("launch"));
  const std::string launcher = sanitize(fmt::format("{}", fmt::join(command, " ")), kShownText);
  const auto program = entry.find("program");
  std::vector<std::string> worker = worker_command();
  if (program) worker.front() = program->text();
  command.insert(command.end(), worker.begin(), worker.end());
  PoolDevices found{.kind = kind_in(entry), .places = {}};
  const int count = count_of(entry);
  if (found.kind == DeviceKind::emulator) {
    found.places = cpu_devices(launcher, command, count);
    return found;
  }
  const auto devices = entry.find("devices");
  const std::vector<int> ordinals = devices ? ordinals_in(*devices) : std::vector<int>{0};
  for (int i = 0; i < count; ++i)
    for (const int ordinal : ordinals)
      found.places.push_back({.name = fmt::format("cuda:{} of {}{}", ordinal, launcher,
                                                  count > 1 ? fmt::format(" ({})", i + 1) : ""),
                              .worker_command = command,
                              .ordinal = ordinal});
  return found;
}

/// Another run there would take some of the workers, and so is named before anything is begun. What this process reads
/// twice it claims once.
std::shared_ptr<const FileDescriptor> claim_on(const runtime::FleetAddress& address) {
  static std::map<std::string, std::weak_ptr<const FileDescriptor>> claims;
  std::weak_ptr<const FileDescriptor>& known = claims[to_string(address)];
  auto claim = known.lock();
  if (!claim) known = claim = std::make_shared<const FileDescriptor>(runtime::claim_address(address));
  return claim;
}

/// {"listen": "127.0.0.1:7777", "token_file": "token", "count": 4}: for each a process of ours that stands for the
/// worker that connects to it.
PoolDevices read_listen(const JsonReader& entry, const std::filesystem::path& folder) {
  entry.only({"listen", "token_file", "count", "device"});
  const JsonReader listen = entry.member("listen");
  runtime::FleetAddress address;
  try {
    address = runtime::parse_fleet_address(listen.text());
  } catch (const Error& error) {
    listen.reject(error.what());
  }
  const std::filesystem::path token = std::filesystem::absolute(folder / entry.member("token_file").text());
  static_cast<void>(runtime::FleetToken(token));
  const auto claim = claim_on(address);
  std::vector<std::string> command = worker_command();
  command.insert(command.end(), {"--listen", to_string(address), "--token-file", token.string()});
  const std::string where = "a worker at " + to_string(address);
  PoolDevices found{.kind = kind_in(entry), .places = {}};
  const int count = count_of(entry);
  if (found.kind == DeviceKind::emulator)
    found.places = cpu_devices(where, command, count);
  else
    found.places.assign(static_cast<std::size_t>(count), {.name = where, .worker_command = command});
  for (DevicePlace& place : found.places) place.connects = true, place.claim = claim;
  return found;
}

/// What an entry is, by the key that it has.
struct EntryKind {
  std::string_view key;
  PoolDevices (*read)(const JsonReader& entry, const std::filesystem::path& folder);
};
constexpr std::array kEntryKinds{EntryKind{"local", read_local}, EntryKind{"launch", read_launch},
                                 EntryKind{"listen", read_listen}};

PoolDevices read_entry(const JsonReader& entry, const std::filesystem::path& folder) {
  const auto known = std::ranges::find_if(
      kEntryKinds, [&](const EntryKind& kind) { return entry.find(kind.key).has_value(); });
  if (known == kEntryKinds.end()) {
    std::vector<std::string_view> keys;
    for (const EntryKind& kind : kEntryKinds) keys.push_back(kind.key);
    entry.reject(
        fmt::format("what the devices are is missing: expected one of the keys {}", fmt::join(keys, ", ")));
  }
  return known->read(entry, folder);
}

PoolDevices read(const JsonReader& at, const std::filesystem::path& folder, std::vector<PoolFault>* faults) {
  at.only({"format", "devices", "confirm", "fallback"});
  const JsonReader list = at.member("devices");
  PoolDevices pool;
  if (const auto confirm = at.find("confirm"))
    pool.confirm = static_cast<int>(integer_between(*confirm, 1, kMostPoolDevices));
  const auto fallback = at.find("fallback");
  if (fallback && fallback->json() != Json("emulator")) fallback->fail("emulator");
  pool.cpu_fallback = fallback.has_value();
  std::size_t number = 0;
  for (const JsonReader& entry : list.items()) {
    PoolDevices found;
    try {
      found = read_entry(entry, folder);
    } catch (const Error& error) {
      if (faults == nullptr || error.code() != ExitCode::environment) throw;
      faults->push_back({.entry = fmt::format("devices[{}]", number), .why = error.what()});
    }
    ++number;
    if (found.places.empty()) continue;
    if (pool.places.empty()) pool.kind = found.kind;
    if (found.kind != pool.kind)
      entry.reject(
          "the CPU device beside GPUs: times and costs are never compared, so a pool has one of the two");
    pool.places.insert(pool.places.end(), found.places.begin(), found.places.end());
  }
  if (fallback && pool.kind == DeviceKind::emulator)
    fallback->reject("the pool has CPU devices: expected a fallback beside GPUs only");
  if (number == 0) list.fail("at least one entry, such as {\"local\": \"all\"}");
  if (std::ssize(pool.places) > kMostPoolDevices)
    list.reject(fmt::format("{} devices, where {} are allowed", pool.places.size(), kMostPoolDevices));
  return pool;
}

}  // namespace

DevicePlace local_gpu(int ordinal) {
  return {.name = fmt::format("cuda:{}", ordinal), .worker_command = {}, .ordinal = ordinal};
}

std::vector<DevicePlace> local_gpus() {
  std::string why;
  const std::vector<DeviceFacts> devices = runtime::probe_devices(worker_command(), why);
  if (devices.empty())
    fail(ExitCode::environment, "no GPU to run on: {} (alphakernel doctor says more)", why);
  std::vector<DevicePlace> places;
  for (const DeviceFacts& device : devices) places.push_back(local_gpu(device.ordinal));
  return places;
}

PoolDevices read_pool(const std::filesystem::path& file, std::vector<PoolFault>* faults) {
  const Json json = read_written_json(file);
  try {
    const Json current = up_to_date(kPoolFormat, json);
    return read(JsonReader(current), file.parent_path(), faults);
  } catch (const JsonInputError& error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), error.what());
  }
}

}  // namespace ak::app
