// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/build_queue.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/support/patience.h"

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;
using TimePoint = BuildQueue::TimePoint;

bool readable(int descriptor) {
  pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) == 1;
}

TranslationUnit unit(const std::string& source) {
  TranslationUnit made;
  made.source = source;
  return made;
}

TEST_CASE("builds are taken in the order in which they were asked for, each once") {
  BuildQueue queue;
  CHECK_FALSE(readable(queue.asked_descriptor()));
  const BuildTicket first = queue.submit(unit("first"), BuildOrigin::candidate, 5s),
                    second = queue.submit(unit("second"), BuildOrigin::candidate, 7s);
  queue.cancel(first);
  CHECK(readable(queue.asked_descriptor()));
  const BuildQueue::Asked asked = queue.take();
  REQUIRE(asked.submitted.size() == 2);
  CHECK(asked.submitted[0].ticket == first);
  CHECK(asked.submitted[0].limit == 5s);
  CHECK(asked.submitted[1].unit.source == "second");
  CHECK(asked.submitted[1].ticket == second);
  CHECK(asked.cancelled == std::vector<BuildTicket>{first});
  CHECK_FALSE(asked.stopping);
  queue.quieten();
  CHECK_FALSE(readable(queue.asked_descriptor()));
  CHECK(queue.take().submitted.empty());
}

TEST_CASE("results come back in the order in which builds finish, readable while there are some") {
  BuildQueue queue;
  const BuildTicket first = queue.submit(unit("first"), BuildOrigin::candidate, 5s),
                    second = queue.submit(unit("second"), BuildOrigin::candidate, 5s);
  CHECK_FALSE(queue.wait(TimePoint::min()));
  BuildResult result;
  result.ptx = "of the second";
  queue.finish(second, result);
  queue.finish(first, {});
  CHECK(readable(queue.ready_descriptor()));
  const auto build = queue.wait(TimePoint::min());
  REQUIRE(build);
  CHECK(build->ticket == second);
  CHECK(build->result.ptx == "of the second");
  CHECK(readable(queue.ready_descriptor()));
  CHECK(queue.wait(TimePoint::min()));
  CHECK_FALSE(readable(queue.ready_descriptor()));
}

TEST_CASE("who waits gets a build that finishes meanwhile, and nothing at once where none is left") {
  BuildQueue queue;
  CHECK_FALSE(queue.wait(testing::out_of_patience()));
  const BuildTicket ticket = queue.submit(unit("one"), BuildOrigin::candidate, 5s);
  std::thread worker([&] { queue.finish(ticket, {}); });
  const auto build = queue.wait(testing::out_of_patience());
  worker.join();
  REQUIRE(build);
  CHECK(build->ticket == ticket);
}

TEST_CASE("a queue that was stopped stays so") {
  BuildQueue queue;
  queue.stop();
  CHECK(readable(queue.asked_descriptor()));
  CHECK(queue.take().stopping);
  CHECK(queue.take().stopping);
}

}  // namespace
}  // namespace ak::runtime
