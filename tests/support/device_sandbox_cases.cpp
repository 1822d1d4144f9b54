// SPDX-License-Identifier: Apache-2.0
#include "tests/support/device_sandbox_cases.h"

#include <catch2/catch.hpp>

#include "runtime/build/candidate_plan.h"
#include "runtime/build/compile_pool.h"
#include "runtime/evaluator/local_evaluator.h"
#include "runtime/evaluator/problem_build.h"
#include "tests/support/build_cache.h"
#include "tests/support/patience.h"
#include "tests/support/tiny_problem.h"

namespace ak::test {
namespace {

std::vector<std::string> device_worker() {
  auto command = self_as_worker();
  command.insert(command.end(), {"--role", "device"});
  return command;
}

DeviceFacts facts_of(DeviceKind device) {
  std::string why;
  if (device == DeviceKind::cuda) return runtime::probe_devices(self_as_worker(), why).front();
  return runtime::nominal_device({.major = 9, .minor = 0, .feature = 'a'});
}

Json build(DeviceKind device) {
  runtime::CompilePool pool({.worker_command = self_as_worker(),
                             .workers = 1,
                             .deadline = testing::kPatience,
                             .cache_dir = testing::shared_build_cache()});
  const DeviceFacts facts = facts_of(device);
  runtime::ProblemBuild problem(make_problem({}), facts.arch, plain_assembler(),
                                [&](const TranslationUnit& unit) { return pool.submit(unit); });
  while (!problem.ready()) {
    const auto built = pool.wait(testing::out_of_patience());
    REQUIRE((built && problem.take(built->ticket, built->result)));
  }
  return to_json(*problem.open_problem(device_environment(facts, facts.arch), 0, device));
}

}  // namespace

OpenDeviceWorker::OpenDeviceWorker(DeviceKind device) : process_(device_worker()), problem_(build(device)) {
  REQUIRE(process_.await_hello(testing::out_of_patience()));
  open();
}

void OpenDeviceWorker::open() { opened_ = ask("open", problem_); }

Json OpenDeviceWorker::ask(const std::string& type, const Json& body) {
  process_.send({.id = 1, .type = type, .body = body, .prints = {}});
  const auto reply = process_.receive(testing::out_of_patience());
  const auto* message = std::get_if<runtime::WorkerMessage>(&reply);
  REQUIRE(message != nullptr);
  INFO(message->body.dump());
  REQUIRE(message->type != "failed");
  return message->body;
}

}  // namespace ak::test
