// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver.h"

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/launch.h"
#include "tests/runtime/cuda/fake_driver.h"

namespace ak::runtime {
namespace {

// Everything a candidate's run acquires, in the order in which it does.
void acquire_everything() {
  const StreamHandle stream = create_stream();
  const EventHandle before = create_event(), after = create_event();
  const LoadedImage image({.image = "not looked at", .kernels = {{"k", "_Z1kv"}}}, "a test program");
  GuardedBuffer buffer(1'000, 512, "output 'c'");
  buffer.arm_guards(stream.get());
  std::vector<HiddenBuffer> references;
  references.emplace_back(1'000, "a reference");
  references.emplace_back(2'000, "another reference");
  const auto mapping = references[0].map();
  std::vector<HiddenBuffer::Mapping> mappings;
  mappings.push_back(references[1].map());
}

TEST_CASE("whichever driver call fails, every module, stream, event, buffer and mapping is released") {
  int failures = 0;
  for (int n = 0;; ++n) {
    REQUIRE(n < 100);
    test::FakeDriver fake;
    fake.calls_before_failure = n;
    bool failed = false;
    try {
      acquire_everything();
    } catch (const CudaError& error) {
      failed = true;
      CHECK(error.result() == CUDA_ERROR_OUT_OF_MEMORY);
    }
    INFO("call " << n << " failed");
    CHECK(fake.live == 0);
    if (!failed) break;
    ++failures;
  }
  CHECK(failures >= 15);
}

TEST_CASE("a failed driver call says what was being done, to what, and the error's name") {
  test::FakeDriver fake;
  fake.calls_before_failure = 1;  // the first asks for the size of a page
  CHECK_THROWS_WITH(GuardedBuffer(1'000, 0, "output 'c'"),
                    Catch::Contains("allocating output 'c'") && Catch::Contains("FAKE_ERROR (made up)"));
}

TEST_CASE("guard bands touch the data on both sides and keep its alignment") {
  test::FakeDriver fake;
  const GuardedBuffer buffer(1'001, 768, "x");
  CHECK(buffer.data().address % kBufferAlignment == 0);
  CHECK(buffer.low_guard().address + buffer.low_guard().bytes == buffer.data().address);
  CHECK(buffer.high_guard().address == buffer.data().address + 1'001);
  CHECK(buffer.low_guard().bytes >= kGuardBytes);
  CHECK(buffer.high_guard().bytes >= kGuardBytes);
}

TEST_CASE("guard bands fill the pages of a buffer, and nothing is mapped for 4 GiB around them") {
  test::FakeDriver fake;
  const GuardedBuffer buffer(1'001, 768, "x");
  CHECK(buffer.low_guard().bytes + 1'001 + buffer.high_guard().bytes == buffer.whole_bytes());
  CHECK(buffer.whole_bytes() == fake.mapped.bytes);
  CHECK(buffer.low_guard().address == fake.mapped.address);
  CHECK(fake.mapped.address == fake.reserved.address + kUnmappedBytes);
  CHECK(fake.reserved.bytes == fake.mapped.bytes + 2 * kUnmappedBytes);
}

TEST_CASE("the codes after which a process must be relaunched are exactly these") {
  const std::vector<int> lost{214, 220, 226, 700, 702, 709, 710, 714, 715,
                              716, 717, 718, 719, 721, 810, 911, 999};
  for (int code = 0; code < 1'000; ++code) {
    INFO(code);
    const bool listed = std::find(lost.begin(), lost.end(), code) != lost.end();
    CHECK(process_lost(static_cast<CUresult>(code)) == listed);
  }
}

TEST_CASE("an absent driver is a value with a reason") {
  const auto loaded = load_driver();
  if (!loaded)
    CHECK_THAT(loaded.error().message, Catch::Contains("NVIDIA driver"));
  else
    CHECK(loaded.value()->cuInit != nullptr);
}

TEST_CASE("what a lost device means for a candidate names the kernel and the CUDA error") {
  test::FakeDriver fake;
  const Outcome illegal = outcome_of(CUDA_ERROR_ILLEGAL_ADDRESS, StageId::check, "softmax");
  CHECK(illegal.status == Status::memory_error);
  CHECK_THAT(illegal.message, Catch::StartsWith("softmax: ") && Catch::Contains("FAKE_ERROR"));
  CHECK(outcome_of(CUDA_ERROR_ASSERT, StageId::check, "k").status == Status::launch_error);
  CHECK(outcome_of(CUDA_ERROR_OUT_OF_MEMORY, StageId::check, "k").status == Status::out_of_memory);
}

}  // namespace
}  // namespace ak::runtime
