// SPDX-License-Identifier: Apache-2.0
// A test program that is its own worker: `PROGRAM worker --role compile` serves the protocol, and the role
// `scripted_worker` does as the tests say. With `--hostile` it is a worker that was taken over.

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "runtime/process/device_messages.h"
#include "runtime/process/worker_protocol.h"
#include "tests/runtime/process/hostile_worker.h"
#include "tests/support/catch_session.h"
#include "tests/support/sandbox_attempts.h"

namespace {

/// A device worker. With seed 1 it says that it waits until `limit_ms` of the task have passed, with seed 2
/// that it works, for an hour.
void evaluate(ak::runtime::WorkerChannel& channel, const ak::runtime::WorkerMessage& request) {
  constexpr double kHour_ms = 3'600'000;
  const bool waits = request.body["seed"] == 1;
  const double takes_ms = waits ? request.body["limit_ms"].get<double>() : kHour_ms;
  for (int i = 0; i < 4 && request.body["seed"] != 0; ++i) {
    channel.respond(
        request, "progress",
        {{"doing", waits ? "waiting" : "harness"}, {"what", "for the test"}, {"limit_ms", kHour_ms}});
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(takes_ms / 4));
  }
  ak::runtime::DeviceAnswer answer;
  answer.outcome.status = ak::Status::ok;
  answer.outcome.stage = ak::StageId::verdict;
  channel.respond(request, "evaluated", ak::runtime::to_json(answer));
}

int serve_scripted_worker() {
  ak::runtime::WorkerChannel channel;
  if (!channel.await_hello()) return 1;
  channel.limit_resident_memory(std::size_t{200} << 20);
  channel.answer_hello(ak::Json::object());
  while (const auto request = channel.receive()) {
    if (request->type == "print") {
      std::fputs(request->body["text"].get<std::string>().c_str(), stdout);
      std::fflush(stdout);
      std::fputs("and an error\n", stderr);
    }
    if (request->type == "attempt" || request->type == "grow") {
      channel.respond(*request, "answered", ak::test::attempt_in_worker(*request));
      continue;
    }
    AK_ASSERT(request->type != "bug", "the worker has no bug");
    if (request->type == "stick")
      for (;;) {
      }
    if (request->type == "open") {
      channel.respond(*request, "opened", ak::Json::object());
      continue;
    }
    if (request->type == "evaluate") {
      evaluate(channel, *request);
      continue;
    }
    channel.respond(*request, "echo", request->body);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "worker" && arguments[2] == "scripted_worker")
    return serve_scripted_worker();
  if (arguments.size() > 3 && arguments[1] == "--hostile")
    return ak::runtime::test::serve_hostile_worker({arguments.begin() + 1, arguments.end()});
  if (!arguments.empty() && arguments[0] == "worker") return ak::test::serve_test_worker(arguments);
  return ak::testing::run_cases(argc, argv);
}
