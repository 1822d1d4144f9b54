// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "emulator/parse/parser_body.h"

namespace ak::emulator {
namespace {

// PTX ISA 9.0, section 10.
constexpr std::array<std::string_view, 8> kVectors = {
    "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"};
constexpr std::array<std::string_view, 29> kScalars = {"%laneid",
                                                       "%warpid",
                                                       "%nwarpid",
                                                       "%smid",
                                                       "%nsmid",
                                                       "%gridid",
                                                       "%is_explicit_cluster",
                                                       "%cluster_ctarank",
                                                       "%cluster_nctarank",
                                                       "%lanemask_eq",
                                                       "%lanemask_le",
                                                       "%lanemask_lt",
                                                       "%lanemask_ge",
                                                       "%lanemask_gt",
                                                       "%clock",
                                                       "%clock_hi",
                                                       "%clock64",
                                                       "%globaltimer",
                                                       "%globaltimer_lo",
                                                       "%globaltimer_hi",
                                                       "%reserved_smem_offset_begin",
                                                       "%reserved_smem_offset_end",
                                                       "%reserved_smem_offset_cap",
                                                       "%reserved_smem_offset_0",
                                                       "%reserved_smem_offset_1",
                                                       "%total_smem_size",
                                                       "%aggr_smem_size",
                                                       "%dynamic_smem_size",
                                                       "%current_graph_exec"};
constexpr int kPerformanceCounters = 8;    ///< %pm0 to %pm7, each also with _64
constexpr int kEnvironmentRegisters = 32;  ///< %envreg0 to %envreg31

/// "%envreg12" with the stem "%envreg" and fewer than `count`.
bool is_numbered(std::string_view name, std::string_view stem, int count) {
  if (!name.starts_with(stem)) return false;
  const std::string_view digits = name.substr(stem.size());
  if (digits.empty() || digits.size() > 2 || (digits.size() == 2 && digits[0] == '0')) return false;
  int number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + (c - '0');
  }
  return number < count;
}

}  // namespace

SpecialName special_name(std::string_view name) {
  if (std::ranges::find(kVectors, name) != kVectors.end()) return {true, true};
  std::string_view counter = name;
  if (counter.ends_with("_64")) counter.remove_suffix(3);
  const bool known = std::ranges::find(kScalars, name) != kScalars.end() ||
                     is_numbered(name, "%envreg", kEnvironmentRegisters) ||
                     is_numbered(counter, "%pm", kPerformanceCounters);
  return {known, false};
}

}  // namespace ak::emulator
