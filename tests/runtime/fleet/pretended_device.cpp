// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/fleet/pretended_device.h"

#include <fstream>

#include "core/text/file.h"
#include "core/text/json.h"
#include "runtime/process/device_messages.h"
#include "tests/runtime/evaluator/job_samples.h"

namespace ak::runtime::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScript = R"(
import json, os, pathlib, sys, time

told = json.loads(sys.argv[1])
trace = pathlib.Path(told['trace'])
greeted = (trace.parent / (trace.name + '.log'))
number = 1 + (greeted.read_text().count(' hello\n') if greeted.exists() else 0)
def end(): os.kill(os.getpid(), -told['exit_code']) if told['exit_code'] < 0 else sys.exit(told['exit_code'])
def turn(what): return told[what][min(number, len(told[what])) - 1]
answers = {'hello': ('hello', {'protocol': 1, 'pid': os.getpid(), 'version': told['version'], 'unix_ms': int(1000 * time.time()),
                              'free_bytes': None}),
           'describe': ('devices', {'devices': [told['facts'] | {'name': turn('models')}]}),
           'calibrate': ('calibrated', {'compute_ns': turn('compute_ns'), 'copy_ns': 70e3, 'sm_clock_mhz': 1980,
                                        'memory_errors': turn('memory_errors')}),
           'open': ('opened', {}),
           'baseline': ('evaluated', told['answer']),
           'evaluate': ('evaluated', told['answer'])}

for line in sys.stdin:
    message = json.loads(line)
    kind = message['type']
    if kind == 'evaluate' and not message['body']['image']['image']: kind = 'baseline'
    if kind not in answers: continue
    events = [kind, f'{number} {kind}']
    with greeted.open('a') as log: log.write(events[1] + '\n')
    for event in events: pathlib.Path(f'{trace}.{event}').touch()
    for event in events:
        while event in told['waits'] and not os.path.exists(told['waits'][event]): time.sleep(0.005)
    if kind == 'evaluate':
        print(json.dumps(message | {'type': 'progress', 'body': told['progress']}), flush=True)
    if set(events) & set(told['dies_at']): end()
    if set(events) & set(told['is_silent_at']): continue
    message['type'], message['body'] = answers[kind]
    if set(events) & set(told['faults']): message['body'] = told['fault']
    if set(events) & set(told['refuses']):
        message['type'], message['body'] = 'failed', {'message': 'it does not want to'}
    print(json.dumps(message), flush=True)
    if set(events) & set(told['dies_after']): end()
)";

constexpr double kHour_ms = 3'600'000;

Json facts_of(const PretendedDevice& device) {
  DeviceFacts facts = target_device();
  facts.memory_bytes = 141'000'000'000;
  if (device.has_uuid) facts.uuid = device.claims.empty() ? device.uuid : device.claims;
  facts.ordinal = 0;
  return to_json(facts);
}

Json incorrect() {
  DeviceAnswer answer;
  answer.outcome.status = Status::incorrect;
  answer.outcome.stage = StageId::check;
  return to_json(answer);
}

Json fault() {
  DeviceAnswer answer;
  answer.outcome.status = Status::infrastructure_error;
  answer.outcome.stage = StageId::check;
  answer.lost = true;
  answer.device_fault = "it has fallen off the bus (Xid 79)";
  return to_json(answer);
}

Json files(const std::map<std::string, fs::path>& waits) {
  Json json = Json::object();
  for (const auto& [event, file] : waits) json[event] = file.string();
  return json;
}

}  // namespace

DevicePlace place_of(const PretendedDevice& device, const fs::path& folder) {
  const fs::path script = folder / "worker.py";
  write_file_atomically(script, kScript);
  const Json told{{"version", kPretendedVersion},
                  {"trace", (folder / device.uuid).string()},
                  {"models", device.models},
                  {"compute_ns", device.compute_ns},
                  {"memory_errors", device.memory_errors},
                  {"facts", facts_of(device)},
                  {"answer", incorrect()},
                  {"progress", {{"doing", "candidate"}, {"what", "k.cu"}, {"limit_ms", kHour_ms}}},
                  {"dies_at", device.dies_at},
                  {"dies_after", device.dies_after},
                  {"exit_code", device.exit_code},
                  {"faults", device.faults},
                  {"fault", fault()},
                  {"refuses", device.refuses},
                  {"is_silent_at", device.is_silent_at},
                  {"waits", files(device.waits)}};
  return {.name = device.uuid, .worker_command = {"python3", script.string(), told.dump()}};
}

std::vector<std::string> events_of(const std::string& uuid, const fs::path& folder) {
  std::ifstream log(folder / (uuid + ".log"));
  std::vector<std::string> events;
  for (std::string line; std::getline(log, line);) events.push_back(line);
  return events;
}

fs::path trace_of(const std::string& uuid, const std::string& event, const fs::path& folder) {
  return folder / (uuid + "." + event);
}

}  // namespace ak::runtime::test
