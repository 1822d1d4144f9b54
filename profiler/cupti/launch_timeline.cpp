// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti/launch_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

namespace ak::profiler {
namespace {

// A record has some 200 bytes, and a call some launches.
constexpr std::size_t kBufferBytes = 1u << 20;
constexpr std::size_t kAlignment = 8;  // that CUPTI demands

struct Span {
  std::uint64_t start_ns = 0, end_ns = 0;
};

/// What CUPTI's callbacks write to, from its own thread or from the flush.
struct Recorder {
  std::mutex mutex;
  const CuptiApi* api = nullptr;
  std::vector<Span> spans;
};
Recorder& recorder() {
  static Recorder instance;
  return instance;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  struct Free {
    void operator()(std::uint8_t* bytes) const noexcept { std::free(bytes); }
  };
  const std::unique_ptr<std::uint8_t, Free> owned(buffer);
  Recorder& to = recorder();
  const std::lock_guard lock(to.mutex);
  CUpti_Activity* record = nullptr;
  while (to.api->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    to.spans.push_back({kernel->start, kernel->end});
  }
}

/// Kernels are recorded while it lives.
class Recording {
 public:
  explicit Recording(const CuptiApi& api) : api_(api) {
    {
      const std::lock_guard lock(recorder().mutex);
      recorder().api = &api;
      recorder().spans.clear();
    }
    check(api_, api_.cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "asking for time stamps");
    check(api_, api_.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "switching time stamps on");
  }
  ~Recording() { static_cast<void>(api_.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// In the order in which they began.
  [[nodiscard]] std::vector<Span> spans() const {
    check(api_, api_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "fetching time stamps");
    const std::lock_guard lock(recorder().mutex);
    std::vector<Span> spans = recorder().spans;
    std::ranges::sort(spans, {}, &Span::start_ns);
    return spans;
  }

 private:
  const CuptiApi& api_;
};

}  // namespace

void add_timeline(const CuptiApi& api, const runtime::ProfiledCall& call, Profile& profile) {
  call.prepare();
  const Recording recording(api);
  call.run();
  const std::vector<Span> spans = recording.spans();
  if (spans.size() != profile.launches.size()) {
    profile.degradation.push_back(
        fmt::format("no time stamps: {} launches were seen, not {}", spans.size(), profile.launches.size()));
    return;
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    Metrics& metrics = profile.launches[i].metrics;
    metrics["timeline/duration"] = static_cast<double>(spans[i].end_ns - spans[i].start_ns);
    if (i > 0)
      metrics["timeline/gap"] =
          static_cast<double>(spans[i].start_ns) - static_cast<double>(spans[i - 1].end_ns);
  }
  for (const char* name : {"timeline/duration", "timeline/gap"}) profile.units[name] = "ns";
}

}  // namespace ak::profiler
