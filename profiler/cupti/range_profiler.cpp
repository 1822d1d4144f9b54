// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti/range_profiler.h"

#include <fmt/format.h>

#include <chrono>

namespace ak::profiler {
namespace {

using std::chrono::steady_clock;

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

void require_support(const CuptiApi& api, int ordinal) {
  AK_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  check(api, api.cuptiProfilerInitialize(&initialize), "starting CUPTI's profiler");
  AK_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params, supported);
  supported.cuDevice = ordinal;
  supported.api = CUPTI_PROFILER_RANGE_PROFILING;
  check(api, api.cuptiProfilerDeviceSupported(&supported), "asking whether the device can be profiled");
  if (supported.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
  struct Part {
    CUpti_Profiler_Support_Level level;
    const char* name;
  };
  std::string parts;
  for (const Part& part : {Part{supported.architecture, "its architecture"}, Part{supported.sli, "SLI"},
                           Part{supported.vGpu, "a virtual GPU without the licence or right"},
                           Part{supported.confidentialCompute, "confidential computing"},
                           Part{supported.cmp, "a mining card"}, Part{supported.wsl, "WSL"}}) {
    if (part.level != CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
      parts += (parts.empty() ? "" : ", ") + std::string(part.name);
  }
  throw CuptiError(CUPTI_ERROR_NOT_SUPPORTED, "the device cannot be profiled because of " + parts);
}

std::string chip_of(const CuptiApi& api, int ordinal) {
  AK_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, params);
  params.deviceIndex = static_cast<std::size_t>(ordinal);
  check(api, api.cuptiDeviceGetChipName(&params), "asking for the chip's name");
  return params.pChipName;
}

std::vector<std::uint8_t> availability_of(const CuptiApi& api, CUcontext context) {
  AK_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, params);
  params.ctx = context;
  check(api, api.cuptiProfilerGetCounterAvailability(&params), "asking which counters there are");
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  check(api, api.cuptiProfilerGetCounterAvailability(&params), "asking which counters there are");
  return image;
}

}  // namespace

/// The counters of a context, held while it lives, and set up for one configuration: another one in the same
/// session crashed CUPTI 13.0.
class RangeProfiler::Session {
 public:
  Session(const CuptiApi& api, CUcontext context, const Prepared& prepared, std::size_t launches)
      : api_(api), launches_(launches) {
    AK_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, params);
    params.ctx = context;
    check(api_, api_.cuptiRangeProfilerEnable(&params), "taking hold of the counters");
    object_ = {params.pRangeProfilerObject, Disable{&api_}};
    counters_.resize(counters_size(prepared));
  }

  [[nodiscard]] std::size_t launches() const noexcept { return launches_; }
  /// As of the last call that was counted.
  [[nodiscard]] const std::vector<std::uint8_t>& counters() const noexcept { return counters_; }

  /// Ready to count one call.
  void configure(const Prepared& prepared) {
    AK_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, clear);
    clear.pRangeProfilerObject = object_.get();
    clear.counterDataSize = counters_.size();
    clear.pCounterData = counters_.data();
    check(api_, api_.cuptiRangeProfilerCounterDataImageInitialize(&clear), "clearing the counters' values");
    AK_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, params);
    params.pRangeProfilerObject = object_.get();
    params.configSize = prepared.configuration.size();
    params.pConfig = prepared.configuration.data();
    params.counterDataImageSize = counters_.size();
    params.pCounterDataImage = counters_.data();
    params.range = CUPTI_AutoRange;
    params.replayMode = CUPTI_UserReplay;
    params.maxRangesPerPass = launches_;
    params.numNestingLevels = params.minNestingLevel = params.targetNestingLevel = 1;  // ranges do not nest
    check(api_, api_.cuptiRangeProfilerSetConfig(&params), "setting the counters up");
  }

  void start() const {
    AK_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, params);
    params.pRangeProfilerObject = object_.get();
    check(api_, api_.cuptiRangeProfilerStart(&params), "starting to count");
  }
  /// @return whether that was the last pass
  bool stop() const {
    AK_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, params);
    params.pRangeProfilerObject = object_.get();
    check(api_, api_.cuptiRangeProfilerStop(&params), "ending to count");
    return params.isAllPassSubmitted != 0;
  }
  void decode() const {
    AK_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, params);
    params.pRangeProfilerObject = object_.get();
    check(api_, api_.cuptiRangeProfilerDecodeData(&params), "decoding counters");
  }
  [[nodiscard]] std::size_t ranges() const {
    AK_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, params);
    params.pCounterDataImage = counters_.data();
    params.counterDataImageSize = counters_.size();
    check(api_, api_.cuptiRangeProfilerGetCounterDataInfo(&params), "counting ranges");
    return params.numTotalRanges;
  }

 private:
  struct Disable {
    const CuptiApi* api;
    void operator()(CUpti_RangeProfiler_Object* object) const noexcept {
      AK_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, params);
      params.pRangeProfilerObject = object;
      static_cast<void>(api->cuptiRangeProfilerDisable(&params));
    }
  };

  [[nodiscard]] std::size_t counters_size(const Prepared& prepared) const {
    auto names = c_strings(prepared.metrics);
    AK_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, params);
    params.pRangeProfilerObject = object_.get();
    params.pMetricNames = names.data();
    params.numMetrics = names.size();
    params.maxNumOfRanges = launches_;
    params.maxNumRangeTreeNodes = static_cast<std::uint32_t>(launches_);
    check(api_, api_.cuptiRangeProfilerGetCounterDataSize(&params), "sizing the counters' values");
    return params.counterDataSize;
  }

  const CuptiApi& api_;
  std::size_t launches_;
  std::vector<std::uint8_t> counters_;  ///< CUPTI writes to it until the object is gone
  std::unique_ptr<CUpti_RangeProfiler_Object, Disable> object_{nullptr, Disable{nullptr}};
};

RangeProfiler::~RangeProfiler() = default;
void RangeProfiler::release() { session_.reset(); }

RangeProfiler::RangeProfiler(const CuptiApi& api, CUcontext context, int ordinal)
    : api_(api), context_(context) {
  require_support(api_, ordinal);
  host_.emplace(api_, chip_of(api_, ordinal), availability_of(api_, context));
}

const RangeProfiler::Prepared& RangeProfiler::prepare(const std::vector<std::string>& wanted) {
  if (prepared_ && prepared_->wanted == wanted) return *prepared_;
  release();
  Prepared next{.wanted = wanted, .metrics = {}, .missing = {}, .configuration = {}};
  for (const std::string& metric : wanted)
    (host_->has(metric) ? next.metrics : next.missing).push_back(metric);
  if (!next.metrics.empty()) next.configuration = host_->configuration(next.metrics);
  return prepared_.emplace(std::move(next));
}

void RangeProfiler::measure(const std::vector<std::string>& metrics, const runtime::ProfiledCall& call,
                            Profile& profile) {
  const auto begin = steady_clock::now();
  const Prepared& prepared = prepare(metrics);
  if (!prepared.missing.empty())
    profile.degradation.push_back(fmt::format("this chip has no {}", fmt::join(prepared.missing, ", ")));
  if (prepared.metrics.empty()) return;
  profile.passes = host_->passes(prepared.configuration);
  try {
    const std::size_t launches = call.kernels.size();
    if (session_ && session_->launches() != launches) release();
    if (!session_) session_ = std::make_unique<Session>(api_, context_, prepared, launches);
    session_->configure(prepared);
    profile.setup_ms += milliseconds_since(begin);
    collect(prepared, call, profile);
    // A session that counted in several passes crashed CUPTI 13.0 when it was set up again.
    if (profile.passes > 1) release();
  } catch (...) {
    release();  // it may be in the midst of counting
    throw;
  }
}

void RangeProfiler::take_hold() {
  const Prepared& prepared = prepare({"sm__inst_executed.sum"});
  session_ = std::make_unique<Session>(api_, context_, prepared, 1);
  session_->configure(prepared);
  session_->start();
  session_->stop();
}

void RangeProfiler::collect(const Prepared& prepared, const runtime::ProfiledCall& call, Profile& profile) {
  call.prepare();
  const auto begin = steady_clock::now();
  session_->start();
  const double started_ms = milliseconds_since(begin);
  call.run();
  for (int pass = 1; !session_->stop(); ++pass) {
    if (pass == profile.passes) throw CuptiError(CUPTI_ERROR_UNKNOWN, "CUPTI wants ever more passes");
    call.prepare();
    session_->start();
    call.run();
  }
  session_->decode();
  const std::size_t launches = call.kernels.size(), found = session_->ranges();
  if (found != launches) {
    profile.degradation.push_back(fmt::format("no counters: {} launches were seen, not {}", found, launches));
    return;
  }
  for (std::size_t i = 0; i < launches; ++i)
    profile.launches[i].metrics = host_->evaluate(session_->counters(), i, prepared.metrics);
  // Starting takes hold of the hardware the first time.
  profile.setup_ms += started_ms;
  profile.collect_ms += milliseconds_since(begin) - started_ms;
}

}  // namespace ak::profiler
