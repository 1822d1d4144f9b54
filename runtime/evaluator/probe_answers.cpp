// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/probe_answers.h"

#include "core/message/message_fields.h"

namespace ak::runtime {
namespace {

constexpr std::size_t kMaxPartName = 40;           // "memory cap"
constexpr std::size_t kMaxProbeText = 4'096;       // a few sentences
constexpr std::size_t kMaxProtectionReports = 64;  // a worker has 6

constexpr Field<ProtectionReport> kProtectionFields[] = {
    {"part", take::words<&ProtectionReport::part, kMaxPartName>},
    {"in_force", take::flag<&ProtectionReport::in_force>},
    {"detail", take::words<&ProtectionReport::detail, kMaxProbeText>},
    {"cost", take::words<&ProtectionReport::cost, kMaxProbeText>},
    {"remedy", take::words<&ProtectionReport::remedy, kMaxProbeText>}};

ProtectionReport one_protection(const JsonReader& at) { return read_fields(at, kProtectionFields); }

struct SandboxGreeting {
  std::vector<ProtectionReport> protections;
};
constexpr Field<SandboxGreeting> kSandboxFields[] = {
    {"protections", take::list<&SandboxGreeting::protections, one_protection, kMaxProtectionReports>}};

struct CountersGreeting {
  std::string obstacle;
};
constexpr Field<CountersGreeting> kCountersFields[] = {
    {"obstacle", take::words<&CountersGreeting::obstacle, kMaxProbeText>}};

constexpr std::size_t kMaxVersion = 40;                     // "1.0.0-rc1"
constexpr std::int64_t kLatestMs = 32'503'680'000'000;      // the year 3000
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;  // more than any disk has

void take_free_bytes(const JsonReader& at, WorkerMachine& machine) {
  if (at.json().is_null()) return;
  const std::int64_t bytes = at.integer();
  if (bytes < 0 || bytes > kMostBytes) at.fail("a number of bytes, or null");
  machine.free_bytes = bytes;
}

constexpr Field<WorkerMachine> kMachineFields[] = {
    {"version", take::words<&WorkerMachine::version, kMaxVersion>},
    {"unix_ms", take::integer<&WorkerMachine::unix_ms, 0, kLatestMs>},
    {"free_bytes", take_free_bytes}};

InputError broken(const JsonInputError& error) {
  return InputError{fmt::format("broke the protocol: hello: {}", error.what())};
}

}  // namespace

Result<std::vector<ProtectionReport>> read_protections(const Json& hello) {
  try {
    return read_fields(JsonReader(hello), kSandboxFields).protections;
  } catch (const JsonInputError& error) {
    return broken(error);
  }
}

Result<WorkerMachine> read_worker_machine(const Json& hello) {
  try {
    return read_fields(JsonReader(hello), kMachineFields);
  } catch (const JsonInputError& error) {
    return broken(error);
  }
}

Result<std::string> read_obstacle(const Json& hello) {
  try {
    return read_fields(JsonReader(hello), kCountersFields).obstacle;
  } catch (const JsonInputError& error) {
    return broken(error);
  }
}

}  // namespace ak::runtime
