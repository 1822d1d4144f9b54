// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <string>

#include "core/error.h"
#include "core/result.h"

/// Every function of CUPTI that is used.
// clang-format off
#define AK_CUPTI_FUNCTIONS(X)                                                                              \
  X(cuptiGetResultString) X(cuptiProfilerInitialize) X(cuptiProfilerDeviceSupported)                       \
  X(cuptiDeviceGetChipName) X(cuptiProfilerGetCounterAvailability)                                         \
  X(cuptiProfilerHostInitialize) X(cuptiProfilerHostDeinitialize) X(cuptiProfilerHostGetMetricProperties)  \
  X(cuptiProfilerHostConfigAddMetrics) X(cuptiProfilerHostGetConfigImageSize)                              \
  X(cuptiProfilerHostGetConfigImage) X(cuptiProfilerHostGetNumOfPasses)                                    \
  X(cuptiProfilerHostEvaluateToGpuValues)                                                                  \
  X(cuptiRangeProfilerEnable) X(cuptiRangeProfilerDisable) X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart) X(cuptiRangeProfilerStop) X(cuptiRangeProfilerPushRange)                      \
  X(cuptiRangeProfilerPopRange) X(cuptiRangeProfilerDecodeData) X(cuptiRangeProfilerGetCounterDataSize)    \
  X(cuptiRangeProfilerCounterDataImageInitialize) X(cuptiRangeProfilerGetCounterDataInfo)                  \
  X(cuptiRangeProfilerCounterDataGetRangeInfo)                                                             \
  X(cuptiPCSamplingEnable) X(cuptiPCSamplingDisable) X(cuptiPCSamplingSetConfigurationAttribute)           \
  X(cuptiPCSamplingGetNumStallReasons) X(cuptiPCSamplingGetStallReasons) X(cuptiPCSamplingStart)           \
  X(cuptiPCSamplingStop) X(cuptiPCSamplingGetData) X(cuptiGetSassToSourceCorrelation)   \
  X(cuptiActivityRegisterCallbacks) X(cuptiActivityEnable) X(cuptiActivityDisable) X(cuptiActivityFlushAll) \
  X(cuptiActivityGetNextRecord)
// clang-format on

namespace ak::profiler {

/// CUPTI as a table: loaded with dlopen, or made up by a test.
struct CuptiApi {
#define AK_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  AK_CUPTI_FUNCTIONS(AK_CUPTI_MEMBER)
#undef AK_CUPTI_MEMBER
};

/// Loads libcupti.so.13 of the toolkit's folders or the dynamic linker's path, once a process. Error: why
/// there is none, and what to install.
[[nodiscard]] Result<const CuptiApi*> load_cupti();

/// A call of CUPTI was refused. What is profiled goes without what it was for.
class CuptiError : public Error {
 public:
  CuptiError(CUptiResult result, const std::string& message)
      : Error(ExitCode::environment, message), result_(result) {}
  [[nodiscard]] CUptiResult result() const noexcept { return result_; }

 private:
  CUptiResult result_;
};

/// What a refusal means and what can be done about it, in words.
[[nodiscard]] std::string describe(const CuptiApi& api, CUptiResult result);

/// Throws CuptiError("<what we were doing>: <what it means>") unless `result` is success.
void check(const CuptiApi& api, CUptiResult result, const char* activity);

/// CUPTI's parameter blocks begin with their size; the rest is zero.
#define AK_CUPTI_PARAMS(type, name) \
  type name{};                      \
  name.structSize = type##_STRUCT_SIZE

}  // namespace ak::profiler
