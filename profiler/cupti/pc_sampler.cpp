// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti/pc_sampler.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

namespace ak::profiler {
namespace {

// Samples that one scheduler should take in a call: a hundred thousand on a whole GPU tell lines apart, and
// millions take seconds to decode (chosen). The hardware's periods are powers of two from 2^5 cycles on.
constexpr double kSamplesOfScheduler = 200, kCyclesPerNs = 2;
constexpr int kShortestPeriod = 5, kLongestPeriod = 31;
// Instructions that have samples, of a call's kernels; templates have a few thousand (chosen). More are read
// in several goes.
constexpr std::size_t kMaxPcs = 1u << 17;
// A round is one call; what is too short for enough samples is called again (chosen).
constexpr int kMaxRounds = 64;
constexpr std::uint64_t kEnoughSamples = 20'000;

constexpr std::string_view kPrefix = "smsp__pcsamp_warps_issue_stalled_";
// The same samples again, of cycles in which nothing was issued.
constexpr std::string_view kNotIssued = "_not_issued";

struct Free {
  void operator()(char* text) const noexcept { std::free(text); }
};
using CString = std::unique_ptr<char, Free>;

/// What PC samples of a call are written to.
class SampleBuffer {
 public:
  explicit SampleBuffer(std::size_t reasons) : pcs_(kMaxPcs), stalls_(kMaxPcs * reasons) {
    for (std::size_t i = 0; i < kMaxPcs; ++i) {
      pcs_[i].size = sizeof(CUpti_PCSamplingPCData);
      pcs_[i].stallReason = &stalls_[i * reasons];
    }
    data_.size = sizeof(CUpti_PCSamplingData);
    data_.collectNumPcs = kMaxPcs;
    data_.pPcData = pcs_.data();
  }
  [[nodiscard]] CUpti_PCSamplingData* data() { return &data_; }
  [[nodiscard]] std::span<const CUpti_PCSamplingPCData> pcs() const {
    return {pcs_.data(), data_.totalNumPcs};
  }
  /// The functions' names are left alone: CUPTI hands the same text out again, and freeing it aborted later.
  void clear() { data_.totalNumPcs = 0; }

 private:
  std::vector<CUpti_PCSamplingPCData> pcs_;
  std::vector<CUpti_PCSamplingStallReason> stalls_;
  CUpti_PCSamplingData data_{};
};

class Sampling {
 public:
  Sampling(const CuptiApi& api, CUcontext context) : api_(api), context_(context) {
    CUpti_PCSamplingEnableParams params{};
    params.size = CUpti_PCSamplingEnableParamsSize;
    params.ctx = context_;
    check(api_, api_.cuptiPCSamplingEnable(&params), "switching sampling on");
  }
  ~Sampling() {
    CUpti_PCSamplingDisableParams params{};
    params.size = CUpti_PCSamplingDisableParamsSize;
    params.ctx = context_;
    static_cast<void>(api_.cuptiPCSamplingDisable(&params));
  }
  Sampling(const Sampling&) = delete;
  Sampling& operator=(const Sampling&) = delete;

  /// By index.
  [[nodiscard]] std::map<std::uint32_t, std::string> reasons() const {
    std::size_t count = 0;
    CUpti_PCSamplingGetNumStallReasonsParams number{};
    number.size = CUpti_PCSamplingGetNumStallReasonsParamsSize;
    number.ctx = context_;
    number.numStallReasons = &count;
    check(api_, api_.cuptiPCSamplingGetNumStallReasons(&number), "counting stall reasons");
    std::vector<std::uint32_t> indices(count);
    std::vector<std::array<char, CUPTI_STALL_REASON_STRING_SIZE>> texts(count);
    std::vector<char*> names;
    for (auto& text : texts) names.push_back(text.data());
    CUpti_PCSamplingGetStallReasonsParams params{};
    params.size = CUpti_PCSamplingGetStallReasonsParamsSize;
    params.ctx = context_;
    params.numStallReasons = count;
    params.stallReasonIndex = indices.data();
    params.stallReasons = names.data();
    check(api_, api_.cuptiPCSamplingGetStallReasons(&params), "naming stall reasons");
    std::map<std::uint32_t, std::string> found;
    for (std::size_t i = 0; i < count; ++i) found[indices[i]] = names[i];
    return found;
  }

  void configure(SampleBuffer& buffer, std::uint32_t period_exponent) const {
    std::array<CUpti_PCSamplingConfigurationInfo, 4> attributes{};
    attributes[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    attributes[0].attributeData.samplingPeriodData.samplingPeriod = period_exponent;
    attributes[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
    attributes[1].attributeData.collectionModeData.collectionMode =
        CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
    attributes[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL;
    attributes[2].attributeData.enableStartStopControlData.enableStartStopControl = 1;
    attributes[3].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
    attributes[3].attributeData.samplingDataBufferData.samplingDataBuffer = buffer.data();
    CUpti_PCSamplingConfigurationInfoParams params{};
    params.size = CUpti_PCSamplingConfigurationInfoParamsSize;
    params.ctx = context_;
    params.numAttributes = attributes.size();
    params.pPCSamplingConfigurationInfo = attributes.data();
    check(api_, api_.cuptiPCSamplingSetConfigurationAttribute(&params), "setting sampling up");
  }

  void start() const {
    CUpti_PCSamplingStartParams params{};
    params.size = CUpti_PCSamplingStartParamsSize;
    params.ctx = context_;
    check(api_, api_.cuptiPCSamplingStart(&params), "starting to sample");
  }
  void stop() const {
    CUpti_PCSamplingStopParams params{};
    params.size = CUpti_PCSamplingStopParamsSize;
    params.ctx = context_;
    check(api_, api_.cuptiPCSamplingStop(&params), "ending to sample");
  }
  void read(SampleBuffer& buffer) const {
    CUpti_PCSamplingGetDataParams params{};
    params.size = CUpti_PCSamplingGetDataParamsSize;
    params.ctx = context_;
    params.pcSamplingData = buffer.data();
    check(api_, api_.cuptiPCSamplingGetData(&params), "reading samples");
  }

 private:
  const CuptiApi& api_;
  CUcontext context_;
};

/// Lines of the candidate's file behind the instructions of an image.
class LineMap {
 public:
  LineMap(const CuptiApi& api, const runtime::KernelImage& image) : api_(api), image_(image) {}

  /// 0 for another file's, and for what has no line.
  int line_of(const char* function, std::uint64_t pc) {
    const auto [entry, added] = known_.try_emplace({function, pc}, 0);
    if (added) entry->second = look_up(function, pc);
    return entry->second;
  }

 private:
  [[nodiscard]] int look_up(const char* function, std::uint64_t pc) const {
    CUpti_GetSassToSourceCorrelationParams params{};
    params.size = CUpti_GetSassToSourceCorrelationParamsSize;
    params.cubin = image_.image.data();
    params.cubinSize = image_.image.size();
    params.functionName = function;
    params.pcOffset = pc;
    if (api_.cuptiGetSassToSourceCorrelation(&params) != CUPTI_SUCCESS) return 0;
    const CString file(params.fileName), folder(params.dirName);
    const bool own = file && std::filesystem::path(file.get()).filename() == image_.file_name;
    return own ? static_cast<int>(params.lineNumber) : 0;
  }

  const CuptiApi& api_;
  const runtime::KernelImage& image_;
  std::map<std::pair<std::string, std::uint64_t>, int> known_;
};

using LinesOfKernels = std::map<std::string, std::map<int, LineSamples>>;

std::string kernel_of(const runtime::KernelImage& image, const char* symbol) {
  const auto found =
      std::ranges::find(image.kernels, symbol, [](const auto& kernel) { return kernel.second; });
  return found == image.kernels.end() ? symbol : found->first;
}

/// Samples added.
std::uint64_t add(const SampleBuffer& buffer, const std::map<std::uint32_t, std::string>& reasons,
                  const runtime::KernelImage& image, LineMap& lines, LinesOfKernels& found) {
  std::uint64_t added = 0;
  for (const CUpti_PCSamplingPCData& pc : buffer.pcs()) {
    if (pc.functionName == nullptr) continue;
    const int line = lines.line_of(pc.functionName, pc.pcOffset);
    LineSamples& of_line = found[kernel_of(image, pc.functionName)][line];
    of_line.line = line;
    for (std::size_t i = 0; i < pc.stallReasonCount; ++i) {
      const CUpti_PCSamplingStallReason& stall = pc.stallReason[i];
      std::string_view reason = reasons.at(stall.pcSamplingStallReasonIndex);
      if (!reason.starts_with(kPrefix) || reason.ends_with(kNotIssued) || stall.samples == 0) continue;
      reason.remove_prefix(kPrefix.size());
      of_line.samples[std::string(reason)] += stall.samples;
      added += stall.samples;
    }
  }
  return added;
}

/// Exponent of the cycles between two samples, by the time that a call takes without any.
std::uint32_t period_for(const runtime::ProfiledCall& call) {
  call.prepare();
  const auto begin = std::chrono::steady_clock::now();
  call.run();
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  const int exponent = static_cast<int>(std::log2(std::max(ns * kCyclesPerNs / kSamplesOfScheduler, 1.0)));
  return static_cast<std::uint32_t>(std::clamp(exponent, kShortestPeriod, kLongestPeriod));
}

}  // namespace

void PcSampler::sample(const runtime::ProfiledCall& call, Profile& profile) {
  const std::uint32_t period = period_for(call);
  // CUPTI writes to them until sampling is off.
  std::optional<SampleBuffer> kept, buffer;
  const Sampling sampling(api_, context_);
  const auto reasons = sampling.reasons();
  kept.emplace(reasons.size());
  buffer.emplace(reasons.size());
  sampling.configure(*kept, period);
  call.load();  // only of programs that are loaded from now on CUPTI knows the functions
  LineMap line_map(api_, call.image);
  LinesOfKernels found;
  std::uint64_t samples = 0;
  for (int round = 0; round < kMaxRounds && samples < kEnoughSamples; ++round) {
    call.prepare();
    sampling.start();
    call.run();
    sampling.stop();
    do {
      buffer->clear();
      sampling.read(*buffer);
      samples += add(*buffer, reasons, call.image, line_map, found);
    } while (buffer->data()->remainingNumPcs > 0);
  }
  for (LaunchProfile& launch : profile.launches) {
    for (const auto& [line, of_line] : found[launch.kernel]) launch.lines.push_back(of_line);
  }
  if (samples == 0) profile.degradation.emplace_back("no samples fell on the kernels: they are too short");
}

}  // namespace ak::profiler
