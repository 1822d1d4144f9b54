// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/metric_catalog.h"

#include <algorithm>

#include "core/text/suggest.h"

namespace ak::profiler {
namespace {

using enum MetricSet;

// CUPTI's names as its host library lists them for the chip GH100 (CUDA 13.0). Chosen so that the quick set
// needs one pass there, without counters of L2, and the standard one eight: one with counters of L2 and
// device memory (each such pass takes 13 to 20 ms on an H200), one of all sm__sass, and six of the SMs'
// others (4 ms). `l2/throughput` alone takes four passes and 100 ms, `l2/hit_rate` 40.
// clang-format off
constexpr MetricInfo kCatalog[] = {
    {"time/duration", "gpu__time_duration.sum", "ns", "from the kernel's start to its end", quick},
    {"time/cycles", "sm__cycles_elapsed.max", "cycles", "SM clock cycles from start to end", quick},
    {"time/active_cycles", "sm__cycles_active.avg", "cycles", "cycles with a warp on the SM, mean over SMs", quick},
    {"time/active_cycles_max", "sm__cycles_active.max", "cycles", "the same, of the SM that was busy longest", quick},
    {"time/active_cycles_min", "sm__cycles_active.min", "cycles", "the same, of the SM that was busy shortest", full},
    {"clock/sm", "sm__cycles_elapsed.avg.per_second", "Hz", "SM clock while it was measured", quick},
    {"clock/dram", "dram__cycles_elapsed.avg.per_second", "Hz", "clock of device memory", quick},
    {"sm/throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "percent", "the busiest part of the SMs, of its peak", full},
    {"dram/throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "percent", "device memory, of its peak", quick},
    {"dram/bytes_read", "dram__bytes_read.sum", "bytes", "read from device memory", quick},
    {"dram/bytes_written", "dram__bytes_write.sum", "bytes", "written to device memory", quick},
    {"l2/throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed", "percent", "the busiest part of the L2 cache, of its peak", full},
    {"l2/sector_rate", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed", "percent", "sectors looked up in L2, of its peak rate", standard},
    {"l2/sectors", "lts__t_sectors.sum", "sectors", "looked up in L2", standard},
    {"l2/sectors_read", "lts__t_sectors_op_read.sum", "sectors", "read from L2", standard},
    {"l2/sectors_written", "lts__t_sectors_op_write.sum", "sectors", "written to L2", standard},
    {"l2/sectors_atomic", "lts__t_sectors_op_atom.sum", "sectors", "of atomics that return a value", standard},
    {"l2/sectors_reduction", "lts__t_sectors_op_red.sum", "sectors", "of atomics that return none", standard},
    {"l2/atomic_unit", "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed", "percent", "the unit for atomics of the busiest part of L2, of its peak", standard},
    {"l2/hit_rate", "lts__t_sector_hit_rate.pct", "percent", "sectors found in L2", full},
    {"l1/throughput", "l1tex__throughput.avg.pct_of_peak_sustained_elapsed", "percent", "the busiest part of L1 and shared memory, of its peak", full},
    {"l1/data_stage", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", "percent", "wavefronts through L1's data banks, of the peak rate", standard},
    {"l1/hit_rate", "l1tex__t_sector_hit_rate.pct", "percent", "sectors found in L1", standard},
    {"l1/load_hit_rate", "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", "percent", "sectors of global loads found in L1", full},
    {"l1/tma_bytes_read", "l1tex__m_xbar2l1tex_read_bytes_pipe_tma.sum", "bytes", "fetched by bulk copies (TMA)", full},
    {"l1/bytes_from_l2", "l1tex__m_xbar2l1tex_read_bytes.sum", "bytes", "that reached L1 or shared memory from L2", full},
    {"l1/bytes_to_l2", "l1tex__m_l1tex2xbar_write_bytes.sum", "bytes", "sent from the SMs to L2", full},
    {"global/requests", "sm__sass_inst_executed_op_global.sum", "requests", "warp instructions on global memory", standard},
    {"global/bytes", "sm__sass_data_bytes_mem_global.sum", "bytes", "asked for by threads, without repetitions in a request", standard},
    {"global/sectors", "sm__sass_sectors_mem_global.sum", "sectors", "of 32 bytes that requests touched", standard},
    {"global/load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "requests", "of loads", standard},
    {"global/load_sectors", "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors", "of loads", standard},
    {"global/load_bytes", "sm__sass_data_bytes_mem_global_op_ld.sum", "bytes", "of loads", standard},
    {"global/store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "requests", "of stores", standard},
    {"global/store_sectors", "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", "sectors", "of stores", standard},
    {"global/store_bytes", "sm__sass_data_bytes_mem_global_op_st.sum", "bytes", "of stores", standard},
    {"local/requests", "sm__sass_inst_executed_op_local.sum", "requests", "warp instructions on local memory", standard},
    {"local/bytes", "sm__sass_data_bytes_mem_local.sum", "bytes", "asked for in local memory", full},
    {"local/sectors", "sm__sass_sectors_mem_local.sum", "sectors", "of local memory that requests touched", standard},
    {"shared/requests", "sm__sass_inst_executed_op_shared.sum", "requests", "warp instructions on shared memory", standard},
    {"shared/bytes", "sm__sass_data_bytes_mem_shared.sum", "bytes", "asked for in shared memory", full},
    {"shared/wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "wavefronts", "passes over the banks of shared memory", standard},
    {"shared/bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "wavefronts", "passes beyond the fewest possible", standard},
    {"shared/load_bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "wavefronts", "of loads", full},
    {"shared/store_bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "wavefronts", "of stores", full},
    {"shared/tensor_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum", "wavefronts", "of operands that matrix units read there", full},
    {"shared/throughput", "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed", "percent", "passes over the banks, of the peak rate", standard},
    {"atomic/global_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "requests", "warp atomics on global memory that return a value", standard},
    {"atomic/global_reductions", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "requests", "warp atomics on global memory that return none", standard},
    {"atomic/shared_requests", "sm__sass_inst_executed_op_shared_atom.sum", "requests", "warp atomics on shared memory", standard},
    {"pipe/tensor", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "percent", "matrix units, of their peak", quick},
    {"pipe/fma", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed", "percent", "float32 multiply and add (and integer multiply)", standard},
    {"pipe/alu", "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed", "percent", "integer, logic, comparisons, conversions of bits", standard},
    {"pipe/fp16", "sm__inst_executed_pipe_fma_type_fp16.avg.pct_of_peak_sustained_elapsed", "percent", "16-bit arithmetic outside the matrix units", standard},
    {"pipe/fp64", "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed", "percent", "float64 units", standard},
    {"pipe/xu", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed", "percent", "special functions and conversions between types", quick},
    {"pipe/lsu", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed", "percent", "load and store instructions", standard},
    {"pipe/adu", "sm__inst_executed_pipe_adu.avg.pct_of_peak_sustained_elapsed", "percent", "address divergence unit: branches by register, indexed constants", full},
    {"pipe/cbu", "sm__inst_executed_pipe_cbu.avg.pct_of_peak_sustained_elapsed", "percent", "branches and warp synchronisation", full},
    {"pipe/uniform", "sm__inst_executed_pipe_uniform.avg.pct_of_peak_sustained_elapsed", "percent", "scalar (uniform) instructions", full},
    {"pipe/tma", "sm__inst_executed_pipe_tma.avg.pct_of_peak_sustained_elapsed", "percent", "bulk copies (TMA)", full},
    {"issue/active", "sm__issue_active.avg.pct_of_peak_sustained_elapsed", "percent", "cycles in which a scheduler issued, of all", quick},
    {"issue/per_cycle", "smsp__issue_active.avg.per_cycle_active", "instructions", "issued a cycle by a scheduler that has warps", full},
    {"issue/eligible_warps", "smsp__warps_eligible.avg.per_cycle_active", "warps", "that could issue, a cycle and scheduler", full},
    {"issue/active_warps", "smsp__warps_active.avg.per_cycle_active", "warps", "resident, a cycle and scheduler", full},
    {"occupancy/achieved", "sm__warps_active.avg.pct_of_peak_sustained_active", "percent", "warps resident on an SM that has any, of the most it holds", quick},
    {"inst/warp", "sm__inst_executed.sum", "instructions", "that warps executed", quick},
    {"inst/thread", "sm__sass_thread_inst_executed.sum", "instructions", "that threads executed", standard},
    {"inst/active_threads", "smsp__average_thread_inst_executed_per_inst_executed.ratio", "threads", "of 32 active in an instruction, mean", full},
    {"inst/unpredicated_threads", "smsp__average_thread_inst_executed_pred_on_per_inst_executed.ratio", "threads", "of 32 active and not predicated off, mean", full},
    {"inst/thread/integer", "sm__sass_thread_inst_executed_op_integer_pred_on.sum", "instructions", "threads': integer arithmetic", standard},
    {"inst/thread/fp16", "sm__sass_thread_inst_executed_op_fp16_pred_on.sum", "instructions", "threads': 16-bit floating point", standard},
    {"inst/thread/fp32", "sm__sass_thread_inst_executed_op_fp32_pred_on.sum", "instructions", "threads': float32", standard},
    {"inst/thread/fp64", "sm__sass_thread_inst_executed_op_fp64_pred_on.sum", "instructions", "threads': float64", standard},
    {"inst/thread/convert", "sm__sass_thread_inst_executed_op_conversion_pred_on.sum", "instructions", "threads': conversions", standard},
    {"inst/thread/control", "sm__sass_thread_inst_executed_op_control_pred_on.sum", "instructions", "threads': branches", standard},
    {"inst/thread/memory", "sm__sass_thread_inst_executed_op_memory_pred_on.sum", "instructions", "threads': loads, stores, atomics", standard},
    {"inst/thread/bit", "sm__sass_thread_inst_executed_op_bit_pred_on.sum", "instructions", "threads': shifts and logic", standard},
    {"inst/thread/communication", "sm__sass_thread_inst_executed_op_inter_thread_communication_pred_on.sum", "instructions", "threads': shuffles, votes", full},
    {"inst/thread/misc", "sm__sass_thread_inst_executed_op_misc_pred_on.sum", "instructions", "threads': moves and the rest", full},
    {"inst/tensor", "sm__inst_executed_pipe_tensor.sum", "instructions", "that warps executed on matrix units", full},
    {"inst/memory_8b", "sm__sass_inst_executed_op_memory_8b.sum", "instructions", "warps' loads and stores of 8 bits per thread", standard},
    {"inst/memory_16b", "sm__sass_inst_executed_op_memory_16b.sum", "instructions", "warps' loads and stores of 16 bits per thread", standard},
    {"inst/memory_32b", "sm__sass_inst_executed_op_memory_32b.sum", "instructions", "warps' loads and stores of 32 bits per thread", standard},
    {"inst/memory_64b", "sm__sass_inst_executed_op_memory_64b.sum", "instructions", "warps' loads and stores of 64 bits per thread", standard},
    {"inst/memory_128b", "sm__sass_inst_executed_op_memory_128b.sum", "instructions", "warps' loads and stores of 128 bits per thread", standard},
    {"branch/targets", "smsp__sass_branch_targets.sum", "branches", "branches and jumps that warps took part in", standard},
    {"branch/divergent", "smsp__sass_branch_targets_threads_divergent.sum", "branches", "those whose threads went different ways", standard},
    {"instruction_cache/hit_rate", "sm__icc_request_hit_rate.pct", "percent", "requests found in the SM's instruction cache", full},
    {"instruction_cache/misses", "sm__icc_requests_lookup_miss.sum", "requests", "to the SM's instruction cache that missed", full},
    {"stall/selected", "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", "warps", "issuing, an issued instruction", full},
    {"stall/not_selected", "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio", "warps", "able to issue, while another warp did, an issued instruction", standard},
    {"stall/long_scoreboard", "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "warps", "waiting for a value from global or local memory, an issued instruction", standard},
    {"stall/short_scoreboard", "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", "warps", "waiting for a value from shared memory or a special function, an issued instruction", standard},
    {"stall/barrier", "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "warps", "waiting for other warps at a block's barrier, an issued instruction", standard},
    {"stall/membar", "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio", "warps", "waiting for a memory fence, an issued instruction", full},
    {"stall/wait", "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "warps", "waiting for the fixed latency of an instruction before, an issued instruction", standard},
    {"stall/math_pipe_throttle", "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", "warps", "waiting for a busy arithmetic unit, an issued instruction", standard},
    {"stall/mio_throttle", "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", "warps", "waiting for the full queue of shared memory and special functions, an issued instruction", standard},
    {"stall/lg_throttle", "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "warps", "waiting for the full queue of global and local memory, an issued instruction", standard},
    {"stall/tex_throttle", "smsp__average_warps_issue_stalled_tex_throttle_per_issue_active.ratio", "warps", "waiting for the full queue of textures, an issued instruction", full},
    {"stall/branch_resolving", "smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio", "warps", "waiting for the target of a branch, an issued instruction", standard},
    {"stall/no_instruction", "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio", "warps", "waiting for an instruction from the cache, an issued instruction", standard},
    {"stall/imc_miss", "smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio", "warps", "waiting for a constant from its cache, an issued instruction", full},
    {"stall/dispatch_stall", "smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio", "warps", "waiting for a dispatcher that holds back, an issued instruction", full},
    {"stall/drain", "smsp__average_warps_issue_stalled_drain_per_issue_active.ratio", "warps", "waiting for stores at the end of the warp, an issued instruction", standard},
    {"stall/sleeping", "smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio", "warps", "waiting for the end of a nanosleep, an issued instruction", full},
    {"stall/gmma", "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio", "warps", "waiting for registers or the start of a warp group's matrix product, an issued instruction", standard},
    {"stall/misc", "smsp__average_warps_issue_stalled_misc_per_issue_active.ratio", "warps", "waiting for something else, an issued instruction", full},
};
// clang-format on

std::vector<std::string> known_terms() {
  std::vector<std::string> words{"quick", "standard", "full"};
  for (const MetricInfo& metric : kCatalog) {
    words.emplace_back(metric.name);
    words.emplace_back(metric.cupti);
  }
  return words;
}

std::optional<MetricSet> parse_set(std::string_view text) {
  for (const MetricSet set : {quick, standard, full}) {
    if (text == to_string(set)) return set;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(MetricSet set) {
  constexpr std::string_view kNames[] = {"quick", "standard", "full"};
  return kNames[static_cast<std::size_t>(set)];
}

std::span<const MetricInfo> catalog() { return kCatalog; }

std::vector<const MetricInfo*> metrics_of(MetricSet set) {
  std::vector<const MetricInfo*> metrics;
  for (const MetricInfo& metric : kCatalog) {
    if (metric.set <= set) metrics.push_back(&metric);
  }
  return metrics;
}

const MetricInfo* find_metric(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kCatalog, [&](const MetricInfo& metric) { return metric.name == name || metric.cupti == name; });
  return found == std::ranges::end(kCatalog) ? nullptr : found;
}

Result<std::vector<const MetricInfo*>> parse_metrics(std::string_view text) {
  if (const auto set = parse_set(text)) return metrics_of(*set);
  std::vector<const MetricInfo*> metrics;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const MetricInfo* metric = find_metric(name);
    if (metric == nullptr) {
      return InputError{"metrics: expected quick, standard, full or names of metrics between commas, got '" +
                        sanitize(name) + "'" + did_you_mean(name, known_terms())};
    }
    if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
    begin = end + 1;
  }
  return metrics;
}

Profile named(Profile profile) {
  for (LaunchProfile& launch : profile.launches) {
    Metrics metrics;
    for (const auto& [name, value] : launch.metrics) {
      const MetricInfo* known = find_metric(name);
      const std::string ours(known == nullptr ? name : known->name);
      metrics[ours] = value;
      if (known != nullptr) profile.units[ours] = known->unit;
    }
    launch.metrics = std::move(metrics);
  }
  return profile;
}

}  // namespace ak::profiler
