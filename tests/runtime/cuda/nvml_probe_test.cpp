// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nvml_probe.h"

#include <catch2/catch.hpp>
#include <deque>

#include "runtime/cuda/nvml_events.h"
#include "runtime/timing/energy.h"

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// What the library of these tests answers. NVML's functions have no place for state of their own.
struct Answers {
  int result = 0;
  unsigned milliwatts = 512'500, mhz = 1'755, celsius = 61;
  unsigned long long reasons = 0, millijoules = 1'000;
  std::deque<NvmlEvent> events = {}, late = {};  ///< `late`: only for who waits
  unsigned long long refused_types = 0;          ///< of events
  int event_sets = 0;                            ///< that there are
};
Answers answers;

template <class Value>
int answer(Value value, Value* out) {
  if (answers.result == 0) *out = value;
  return answers.result;
}

NvmlLibrary library() {
  answers = {};
  return {
      .functions = {
          .init = nullptr,
          .error_string = [](int) { return "Not Supported"; },
          .by_uuid =
              [](const char* uuid, void** device) {
                *device = &answers;
                return std::string(uuid) == "GPU-1" ? 0 : 6;
              },
          .clock = [](void*, unsigned type, unsigned* mhz) { return answer(answers.mhz + type, mhz); },
          .temperature = [](void*, unsigned, unsigned* celsius) { return answer(answers.celsius, celsius); },
          .power = [](void*, unsigned* mw) { return answer(answers.milliwatts, mw); },
          .power_limit = [](void*, unsigned* mw) { return answer(700'000u, mw); },
          .throttle = [](void*, unsigned long long* bits) { return answer(answers.reasons, bits); },
          .memory_errors = [](void*, unsigned type, unsigned,
                              unsigned long long* count) { return answer(40ull + type, count); },
          .energy = [](void*, unsigned long long* mj) { return answer(answers.millijoules, mj); },
          .event_set_create =
              [](void** set) {
                ++answers.event_sets;
                return answer(static_cast<void*>(&answers), set);
              },
          .event_set_free = [](void*) { return --answers.event_sets, 0; },
          .register_events = [](void*, unsigned long long types,
                                void*) { return (types & answers.refused_types) == 0 ? 0 : 3; },
          .event_wait =
              [](void*, NvmlEvent* event, unsigned wait_ms) {
                auto& events = answers.events.empty() && wait_ms > 0 ? answers.late : answers.events;
                if (events.empty()) return 10;  // NVML_ERROR_TIMEOUT
                *event = events.front();
                events.pop_front();
                return 0;
              }},
      .unavailable_reason = ""};
}

TEST_CASE("NVML's figures come in units that people use") {
  const NvmlLibrary nvml = library();
  const NvmlProbe probe("GPU-1", nvml);
  CHECK(probe.power_w().value() == Approx(512.5));
  CHECK(probe.power_limit_w().value() == Approx(700));
  CHECK(probe.energy_j().value() == Approx(1));
  CHECK(probe.memory_errors().value() == 41);    // nvmlMemoryErrorType_t: uncorrected is 1
  CHECK(probe.sm_clock_mhz().value() == 1'756);  // nvmlClockType_t: SM is 1, memory 2
  CHECK(probe.memory_clock_mhz().value() == 1'757);
  CHECK(probe.temperature_c().value() == 61);
  CHECK(probe.throttle_reasons().value().empty());
  CHECK_FALSE(probe.held_down());
}

TEST_CASE("heat holds a device down, its power cap does not") {
  const NvmlLibrary nvml = library();
  const NvmlProbe probe("GPU-1", nvml);
  answers.reasons = 0x4;
  CHECK(probe.throttle_reasons().value() == "power cap");
  CHECK_FALSE(probe.held_down());
  answers.reasons = 0x44;
  CHECK(probe.throttle_reasons().value() == "power cap, hardware thermal");
  CHECK(probe.held_down());
}

TEST_CASE("of a GPU's events those are faults of its hardware that no program causes") {
  const NvmlLibrary nvml = library();
  {
    const NvmlEvents events("GPU-1", nvml);
    CHECK(events.hardware_fault().empty());
    constexpr unsigned long long kXid = 8, kDoubleBitError = 2;
    for (const unsigned long long xid : {13, 31, 43, 45, 63})
      answers.events.push_back({.type = kXid, .data = xid});
    CHECK(events.hardware_fault().empty());
    CHECK(answers.events.empty());
    for (const unsigned long long xid : {31, 79, 48}) answers.events.push_back({.type = kXid, .data = xid});
    CHECK(events.hardware_fault() == "it has fallen off the bus (Xid 79)");
    CHECK(events.hardware_fault().empty());  // it was said
    answers.events.push_back({.type = kDoubleBitError});
    CHECK(events.hardware_fault() == "its memory had an error that was not corrected");
    answers.events.resize(1'000);
    static_cast<void>(events.hardware_fault());
    CHECK_FALSE(answers.events.empty());  // a flood ends
  }
  CHECK(answers.event_sets == 0);
}

TEST_CASE("a fault of a GPU's hardware is waited for beyond the events that a program causes") {
  const NvmlLibrary nvml = library();
  const NvmlEvents events("GPU-1", nvml);
  constexpr unsigned long long kXid = 8;
  constexpr unsigned kPatience_ms = 60'000;  // these answers come at once
  answers.events = {{.type = kXid, .data = 13}};
  answers.late = {{.type = kXid, .data = 45}, {.type = kXid, .data = 79}, {.type = kXid, .data = 48}};
  CHECK(events.hardware_fault(0).empty());
  CHECK(answers.late.size() == 3);
  answers.events = {{.type = kXid, .data = 13}};
  CHECK(events.hardware_fault(kPatience_ms) == "it has fallen off the bus (Xid 79)");
  CHECK(answers.late.size() == 1);  // with a fault found nothing more is waited for
}

TEST_CASE("a GPU without ECC reports Xid events, and one that reports none is not listened to") {
  const NvmlLibrary nvml = library();
  answers.refused_types = 2;
  answers.events.push_back({.type = 8, .data = 79});
  CHECK_FALSE(NvmlEvents("GPU-1", nvml).hardware_fault().empty());
  answers.events.push_back({.type = 8, .data = 79});
  CHECK(NvmlEvents("GPU-2", nvml).hardware_fault().empty());
  answers.refused_types = 8;
  CHECK(NvmlEvents("GPU-1", nvml).hardware_fault().empty());
  const NvmlLibrary none{.functions = {}, .unavailable_reason = "no library"};
  CHECK(NvmlEvents("GPU-1", none).hardware_fault().empty());
  CHECK(answers.event_sets == 0);
}

TEST_CASE("a figure that is not to be had says why") {
  const auto reason = [](const auto& reading) { return reading.ok() ? "" : reading.error().reason; };
  SECTION("the library is not there") {
    const NvmlLibrary none{.functions = {}, .unavailable_reason = "no library"};
    const NvmlProbe probe("GPU-1", none);
    CHECK(reason(probe.energy_j()) == "no library");
    CHECK(reason(probe.throttle_reasons()) == "no library");
    CHECK(probe.read().power_w == 0);
    CHECK_FALSE(probe.held_down());
  }
  SECTION("the library does not know the device") {
    const NvmlLibrary nvml = library();
    CHECK(reason(NvmlProbe("GPU-2", nvml).power_w()) == "NVML does not know the device: Not Supported");
  }
  SECTION("the library is older than the function") {
    NvmlLibrary nvml = library();
    nvml.functions.energy = nullptr;
    const NvmlProbe probe("GPU-1", nvml);
    CHECK(reason(probe.energy_j()) == "this NVML does not read the energy counter");
    CHECK(probe.power_w().ok());
  }
  SECTION("the device has no such counter") {
    const NvmlLibrary nvml = library();
    const NvmlProbe probe("GPU-1", nvml);
    answers.result = 3;
    CHECK(reason(probe.energy_j()) == "NVML did not read the energy counter: Not Supported");
    CHECK(probe.read().sm_clock_mhz == 0);
  }
}

class TestClock final : public Clock {
 public:
  [[nodiscard]] steady_clock::time_point now() const override { return time_; }
  void pass(steady_clock::duration time) { time_ += time; }

 private:
  steady_clock::time_point time_ = steady_clock::time_point{} + 1h;
};

/// A device that takes 0.4 mJ and 1 us per call and whose counter moves every 50 ms.
struct Device {
  TestClock clock;
  unsigned long long calls = 0;

  EnergyRound round() {
    return [this]() -> Result<std::uint64_t, Outcome> {
      calls += 20'000;
      clock.pass(20ms);
      answers.millijoules = calls / 50'000 * 20'000;
      return std::uint64_t{20'000};
    };
  }
};

TEST_CASE("the energy of a call is what the counter moved by over the calls, once it has been seen to move") {
  const NvmlLibrary nvml = library();
  answers.millijoules = 0;
  Device device;
  const auto energy = measure_energy(NvmlProbe("GPU-1", nvml), device.round(), device.clock, std::nullopt);
  REQUIRE(energy.ok());
  CHECK(energy->unavailable_reason.empty());
  CHECK(energy->joule == Approx(0.4e-3).epsilon(0.02));
  CHECK(energy->power_w == Approx(400).epsilon(0.02));
  CHECK(energy->call_ns == Approx(1'000));
  CHECK(energy->calls >= 1'000'000);
  CHECK(energy->calls < 1'100'000);
}

TEST_CASE("an energy that cannot be measured says why, and runs nothing where that is known before") {
  const NvmlLibrary nvml = library();
  const NvmlProbe probe("GPU-1", nvml);
  Device device;
  SECTION("no counter") {
    answers.result = 3;
    const auto energy = measure_energy(probe, device.round(), device.clock, std::nullopt);
    CHECK(energy->unavailable_reason.find("Not Supported") != std::string::npos);
    CHECK(device.calls == 0);
  }
  SECTION("no time") {
    const auto energy = measure_energy(probe, device.round(), device.clock, device.clock.now() + 1s);
    CHECK(energy->unavailable_reason == "there was no time left before the deadline");
    CHECK(device.calls == 0);
  }
  SECTION("a counter that stands still") {
    EnergyRound round = device.round();
    round = [&]() -> Result<std::uint64_t, Outcome> {
      device.clock.pass(20ms);
      return std::uint64_t{20'000};
    };
    const auto energy = measure_energy(probe, round, device.clock, std::nullopt);
    CHECK(energy->unavailable_reason == "the energy counter did not move as it should");
    CHECK(energy->joule == 0);
  }
}

TEST_CASE("a call that fails while its energy is measured is the candidate's failure") {
  const NvmlLibrary nvml = library();
  const TestClock clock;
  const EnergyRound round = []() -> Result<std::uint64_t, Outcome> {
    return Outcome{
        .status = Status::launch_error, .stage = StageId::time, .message = "it fell over", .diagnostics = {}};
  };
  const auto energy = measure_energy(NvmlProbe("GPU-1", nvml), round, clock, std::nullopt);
  REQUIRE_FALSE(energy.ok());
  CHECK(energy.error().status == Status::launch_error);
}

}  // namespace
}  // namespace ak::runtime
