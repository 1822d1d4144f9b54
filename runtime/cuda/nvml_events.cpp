// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nvml_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>

namespace ak::runtime {
namespace {

constexpr unsigned long long kMemoryError = 0x2,
                             kXid = 0x8;  // nvmlEventTypeDoubleBitEccError, -XidCriticalError

/// Numbers of NVIDIA's list of Xid errors ("XID Errors", GPU deployment and management documentation) whose causes there are
/// hardware or the driver's firmware. The others may be a program's, such as 13 and 31, or say that something was repaired.
struct XidMeaning {
  unsigned long long xid;
  std::string_view words;
};
constexpr XidMeaning kHardware[] = {{48, "its memory had an error that was not corrected"},
                                    {62, "its internal controller halted"},
                                    {64, "a bad row of its memory could not be replaced"},
                                    {74, "its NVLink had an error"},
                                    {79, "it has fallen off the bus"},
                                    {92, "its memory has many errors"},
                                    {94, "its memory had an error that was contained"},
                                    {95, "its memory had an error that was not contained"},
                                    {119, "its system processor did not answer"},
                                    {120, "its system processor had an error"},
                                    {140, "its memory had an error that was not recovered"}};

std::string fault_of(const NvmlEvent& event) {
  if (event.type == kMemoryError) return "its memory had an error that was not corrected";
  const auto known = std::ranges::find(kHardware, event.data, &XidMeaning::xid);
  if (event.type != kXid || known == std::end(kHardware)) return "";
  return fmt::format("{} (Xid {})", known->words, known->xid);
}

}  // namespace

NvmlEvents::NvmlEvents(const std::string& uuid, const NvmlLibrary& library) : functions_(library.functions) {
  const bool reports = functions_.by_uuid != nullptr && functions_.event_set_create != nullptr &&
                       functions_.register_events != nullptr && functions_.event_wait != nullptr &&
                       functions_.event_set_free != nullptr;
  void* device = nullptr;
  if (!library.unavailable_reason.empty() || !reports || functions_.by_uuid(uuid.c_str(), &device) != 0)
    return;
  if (functions_.event_set_create(&set_) != 0) {
    set_ = nullptr;
    return;
  }
  // A GPU without ECC has Xid events all the same.
  for (const unsigned long long types : {kMemoryError | kXid, kXid})
    if (functions_.register_events(device, types, set_) == 0) return;
  functions_.event_set_free(set_);
  set_ = nullptr;
}

NvmlEvents::~NvmlEvents() {
  if (set_ != nullptr) functions_.event_set_free(set_);
}

std::string NvmlEvents::hardware_fault(unsigned patience_ms) const {
  if (set_ == nullptr) return "";
  constexpr int kMostEvents =
      64;  // more than one evaluation can cause; a flood must not keep the worker here
  using std::chrono::milliseconds;
  const auto give_up = std::chrono::steady_clock::now() + milliseconds(patience_ms);
  // That of a program, such as Xid 13, may come before that of the hardware.
  std::string fault;
  NvmlEvent event;
  for (int i = 0; i < kMostEvents; ++i) {
    const auto left = std::chrono::duration_cast<milliseconds>(give_up - std::chrono::steady_clock::now());
    const auto wait_ms =
        fault.empty() ? static_cast<unsigned>(std::max(left, milliseconds::zero()).count()) : 0U;
    if (functions_.event_wait(set_, &event, wait_ms) != 0) break;
    if (fault.empty()) fault = fault_of(event);
  }
  return fault;
}

}  // namespace ak::runtime
