// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/bottleneck_rules.h"

#include <algorithm>

namespace ak::profiler {
namespace {

using Q = const Quantities&;

// Chosen, and checked on the kernels of tests/profiles: a unit above the first is at its limit, as honest
// kernels rarely pass 95; with none above the second the time goes into waiting.
constexpr double kSaturated = 75, kWaiting = 65;
constexpr double kNearlyBusiest = 0.9;  // of the busiest unit: as good as that one
constexpr double kMuch = 40;            // percent of warps' waiting that one cause must have

bool is_busiest(Q q, std::string_view metric, double least) {
  return q[metric] >= least && q[metric] >= kNearlyBusiest * q.busiest();
}

double memory_path(Q q) {
  return std::max({0.0, q["dram/throughput"], q["l2/throughput"], q["l1/data_stage"]});
}

// Accesses to global and local memory are what the time goes into.
bool memory_counts(Q q) {
  return memory_path(q) >= 0.85 * q.busiest() ||
         q.waiting({"long_scoreboard", "lg_throttle", "drain"}) >= kMuch;
}

// What of the traffic of device memory would stay if requests touched only what they use: caches may have
// fetched each sector once already.
double kept_of_dram(Q q, double use) {
  return q.has("dram/excess") ? std::clamp(1 / q["dram/excess"], std::min(use, 1.0), 1.0) : use;
}

double bound_of_use(Q q, double use_percent) {
  const double use = use_percent / 100;
  return q.speedup({{"dram", kept_of_dram(q, use)}, {"l2", use}, {"l1", use}},
                   {"long_scoreboard", "lg_throttle", "drain"}, 1 - use);
}

// Loads apart where the device counts them apart.
double load_use(Q q) {
  return q.has("global/load_sector_use") ? q["global/load_sector_use"] : q["global/sector_use"];
}

double wasted(Q q, const std::string& kind) {
  const double sectors = q["global/" + kind + "_sectors"];
  return sectors > 0 ? sectors * (100 - q["global/" + kind + "_sector_use"]) : 0;
}

// A request of few bytes touches a sector that it does not fill: a broadcast is not waste.
bool scattered_loads(Q q) {
  if (q.has("global/load_sector_use")) {
    return q["global/load_sector_use"] < 70 && q["global/load_sectors_per_request"] >= 2 &&
           wasted(q, "load") >= wasted(q, "store");
  }
  return q["global/sector_use"] < 70 && q["global/sectors_per_request"] >= 2;
}

bool latency_bound(Q q) { return q.busiest() < kWaiting && q.waiting({"barrier"}) < 30; }

// Few warps fit, and time goes into waiting; where nothing was measured, very few warps.
bool few_warps(Q q, std::string_view limiter) {
  if (!(q["occupancy/by " + std::string(limiter)] == 1)) return false;
  if (!q.has("stall/all")) return q["occupancy/theoretical"] <= 25;
  return q["occupancy/theoretical"] <= 50 && latency_bound(q) && q["launch/waves"] > 0.5;
}

double bound_of_warps(Q q) {
  const double most = 100 / q["occupancy/theoretical"];
  return q.has("stall/all")
             ? std::min(most, q.speedup({}, {"long_scoreboard", "short_scoreboard", "lg_throttle", "wait",
                                             "mio_throttle", "math_pipe_throttle", "branch_resolving"}))
             : most;
}

bool l2_streams(Q q) { return q["l2/throughput"] >= kNearlyBusiest * q.busiest() && q.streams(); }

double without_unit(Q q, std::string_view unit) { return q.speedup({{unit, 0.0}}); }

// clang-format off
constexpr Rule kRules[] = {
  {"launch_bound", "so little work that the launch itself is what takes time",
   "time/duration",
   [](Q q) { return q["time/duration"] < 5000 && !(q.busiest() >= 30); },
   [](Q q) { return q.has("work/floor_ns") ? std::max(1.0, std::min(q["time/duration"] / q["work/floor_ns"], q.speedup({}))) : q.speedup({}); },
   "the kernel takes {time/duration} ns; its busiest unit is used for {busiest/share} % of that; starting and ending a kernel takes some 2000 ns",
   {{{"do several launches' work in one (fuse with the kernel before or after, or take more of the problem at once)"},
     {"let it start before the one before ends: \"pdl\": true in the launch plan, or a CUDA graph around the calls", nullptr,
      [](Q q) { return std::min(q.speedup({}), 2.0); }}}},
   "Nsight Compute guide, Launch Statistics; CUDA Best Practices Guide, Concurrent Kernel Execution"},

  {"grid_too_small", "too few blocks for the SMs there are",
   "launch/blocks device/sms issue/active time/duration",
   [](Q q) {
     const bool idle_sms = q["launch/blocks"] < kNearlyBusiest * q["device/sms"];
     const bool thin = q["launch/waves"] <= 0.5 && q["occupancy/achieved"] <= 25;
     return q["time/duration"] >= 5000 && (idle_sms || thin) && q.busiest() < kWaiting;
   },
   [](Q q) { return std::max(1.0, std::min(q.speedup({}), std::max(q["device/sms"] / q["launch/blocks"], 1 / q["launch/waves"]))); },
   "{launch/blocks} blocks of {launch/threads} threads on {device/sms} SMs; they are {launch/waves} of what fits at once; the busiest unit is used for {busiest/share} %",
   {{{"cut the work into more, smaller blocks: smaller tiles, or fewer elements per thread"},
     {"split the dimension that is summed over more blocks and add their parts in a second step (split K)"}}},
   "CUDA Best Practices Guide, Execution Configuration; Nsight Compute guide, Launch Statistics"},

  {"tail_effect", "SMs that have nothing left while others still work",
   "launch/blocks device/sms time/idle_share",
   [](Q q) {
     const bool idle = q["time/idle_share"] >= 15;
     const bool partial_wave = q["launch/waves"] > 1 && q["launch/waves"] < 4 && q["launch/full_waves"] / q["launch/waves"] >= 1.25 &&
                               q["occupancy/achieved"] < 0.85 * q["occupancy/theoretical"];
     return q["launch/blocks"] >= kNearlyBusiest * q["device/sms"] && (idle || partial_wave) && q.busiest() < 85;
   },
   [](Q q) {
     const double waves = q["launch/waves"] > 1 ? q["launch/full_waves"] / q["launch/waves"] : 1;
     return std::max(1.0, std::min(q.speedup({}), std::max(100 / (100 - std::min(q["time/idle_share"], 99.0)), waves)));
   },
   "{launch/blocks} blocks are {launch/waves} waves; an SM has warps for {time/idle_share} % less time than the one that works longest",
   {{{"choose tiles whose number is a multiple of what fits at once, or a little less"},
     {"make blocks persistent: as many as fit, each taking the next tile when it is done (atomic counter or stride)"},
     {"cut into smaller blocks, so that the last wave is short"}}},
   "Nsight Compute guide, Launch Statistics (waves per SM); CUDA Best Practices Guide, Thread and Block Heuristics"},

  {"local_memory", "registers that spill to local memory, or arrays that live there",
   "kernel/spill_bytes",
   [](Q q) {
     if (q["kernel/spill_bytes"] > 0 && !q.has("stall/all")) return true;  // PTX does not show spills
     return q["local/share"] >= 20 && memory_counts(q);
   },
   [](Q q) {
     if (!q.has("local/sectors")) return 1.0;
     const double kept = 1 - q["local/share"] / 100;
     return q.speedup({{"dram", kept_of_dram(q, kept)}, {"l2", kept}, {"l1", kept}, {"load_store", kept}},
                      {"long_scoreboard", "lg_throttle", "drain"}, 1 - kept);
   },
   "{local/share} % of the sectors moved are local memory; ptxas spills {kernel/spill_bytes} bytes and keeps {kernel/stack_bytes} bytes of stack with {kernel/registers} registers",
   {{{"keep less alive at once: a smaller tile per thread, or less unrolling"},
     {"allow more registers: a smaller block, no maxrregcount, no tight __launch_bounds__", [](Q q) { return q["kernel/spill_bytes"] > 0; }},
     {"index arrays with constants only (unroll the loops over them), or put them into shared memory"}}},
   "CUDA Best Practices Guide, Local Memory; CUDA C++ Programming Guide, Device Memory Accesses", RuleKind::cause, "local/sectors"},

  {"uncoalesced_access", "loads of a warp that are far apart",
   "global/sector_use",
   [](Q q) { return scattered_loads(q) && memory_counts(q); },
   [](Q q) { return bound_of_use(q, load_use(q)); },
   "a request touches {load/sectors} sectors of 32 bytes and uses {load/use} % of them",
   {{{"let neighbouring threads load neighbouring elements: exchange the roles of the indices, or transpose the layout"},
     {"load whole rows into shared memory and pick from there"},
     {"load what one thread needs in one go of 16 bytes, so that a sector is used before it leaves L1", nullptr,
      [](Q q) { return std::min(4.0, bound_of_use(q, load_use(q))); }}}},
   "CUDA Best Practices Guide, Coalesced Access to Global Memory; Nsight Compute guide, Memory Tables"},

  {"partial_sector_writes", "stores that fill only a part of the sectors they touch",
   "global/store_sector_use",
   [](Q q) {
     return q["global/store_sector_use"] < 70 && q["global/store_sectors_per_request"] >= 2 && wasted(q, "store") > wasted(q, "load") &&
            memory_counts(q);
   },
   [](Q q) { return bound_of_use(q, q["global/store_sector_use"]); },
   "a store touches {global/store_sectors_per_request} sectors of 32 bytes and fills {global/store_sector_use} % of them: the rest of each is fetched or written apart",
   {{{"let neighbouring threads store neighbouring elements: 32 bytes in a row, aligned, fill a sector"},
     {"collect the results of a tile in shared memory and write it out row by row"},
     {"store from one thread 16 bytes at once"}}},
   "CUDA Best Practices Guide, Coalesced Access to Global Memory; Nsight Compute guide, Memory Tables"},

  {"shared_bank_conflicts", "threads of a warp that meet at a bank of shared memory",
   "shared/conflict_share",
   [](Q q) {
     const bool counts = q["shared/throughput"] >= 0.6 * q.busiest() || q.waiting({"short_scoreboard", "mio_throttle"}) >= 30;
     return q["shared/conflict_share"] >= 25 && counts;
   },
   [](Q q) {
     const double kept = 1 - q["shared/conflict_share"] / 100;
     return q.speedup({{"shared", kept}, {"l1", kept}}, {"short_scoreboard", "mio_throttle", "lg_throttle", "barrier"}, 1 - kept);
   },
   "{shared/conflict_share} % of the {shared/wavefronts} passes over the banks are conflicts; shared memory is used for {shared/throughput} % of the time",
   {{{"pad the rows of the tile by one element (16 bytes where vectors are read)"},
     {"swizzle: exclusive-or the column with the row, so that a column spreads over all banks without padding"},
     {"exchange the indices, so that threads of a warp read along a row"}}},
   "CUDA Best Practices Guide, Shared Memory and Memory Banks; Nsight Compute guide, Memory Tables"},

  {"atomics_contention", "atomics that wait for each other",
   "atomic/any",
   [](Q q) {
     if (q.has("atomic/conflict_share")) return q["atomic/conflict_share"] >= 50 && is_busiest(q, "l2/atomic_unit", 50);
     const bool waits = q.waiting({"long_scoreboard", "lg_throttle", "short_scoreboard", "mio_throttle", "drain", "membar", "barrier"}) >= 50;
     return q["atomic/share"] >= 10 && (is_busiest(q, "l2/atomic_unit", kWaiting) || (waits && q.busiest({"atomic"}) < kWaiting));
   },
   [](Q q) {
     return q.speedup({{"atomic", 0.03}, {"l2", 0.1}},
                      {"long_scoreboard", "lg_throttle", "short_scoreboard", "mio_throttle", "drain", "membar", "barrier"});
   },
   "{atomic/any} atomic requests; L2's unit for them is used for {l2/atomic_unit} % of the time",
   {{{"add up in registers and within the warp first (__reduce_add_sync, shuffles): one atomic per warp or block"},
     {"keep a copy of the target in each block's shared memory and add the copies at the end"},
     {"spread the target over several addresses (one a block or a hash of the thread)"}}},
   "CUDA C++ Programming Guide, Atomic Functions; Nsight Compute guide, Memory Tables"},

  {"redundant_traffic", "device memory moves more than the problem needs",
   "dram/excess dram/throughput",
   [](Q q) { return is_busiest(q, "dram/throughput", kWaiting) && q["dram/excess"] >= 1.5 && !(q["global/sector_use"] < 70) && !(q["local/share"] >= 20); },
   [](Q q) { return q.speedup({{"dram", 1 / q["dram/excess"]}}); },
   "{dram/bytes} bytes go through device memory, {dram/excess} times the {work/bytes} that the problem needs; that is {dram/throughput} % of its peak",
   {{{"read each element once: keep it in registers or shared memory between the passes over it"},
     {"take larger tiles, so that an operand is fetched fewer times"},
     {"let blocks that share data run at the same time (order of tiles), so that L2 holds it"}}},
   "CUDA Best Practices Guide, Device Memory Spaces; Williams et al., Roofline, CACM 52(4)"},

  {"tensor_cores_unused", "a matrix product without the matrix units",
   "work/matrix_product pipe/tensor",
   [](Q q) { return q["work/matrix_product"] == 1 && q["pipe/tensor"] < 5 && memory_path(q) < kSaturated; },
   [](Q q) {
     if (!q.has("work/tensor_ns")) return q.speedup({{"fp32", 0.06}, {"issue", 0.12}, {"integer", 0.12}, {"shared", 0.25}, {"l1", 0.25}});
     const double least = std::max(100 * q["work/tensor_ns"] / q["time/duration"], std::max(0.0, q["dram/throughput"]));
     return std::max(1.0, 100 / std::max(1.0, least));
   },
   "the problem is a matrix product of a type that matrix units take; they are used for {pipe/tensor} % of the time; float32 arithmetic for {pipe/fma} %",
   {{{"multiply with mma.sync or wmma fragments (wgmma on sm_90a)"},
     {"feed them from swizzled shared memory with ldmatrix, by asynchronous copies or TMA"}}},
   "CUDA C++ Programming Guide, Warp Matrix Functions; PTX ISA, mma and wgmma"},

  {"fp64_bound", "float64 arithmetic",
   "pipe/fp64",
   [](Q q) { return is_busiest(q, "pipe/fp64", 50); },
   [](Q q) { return q["work/float64"] == 1 ? without_unit(q, "fp64") : q.speedup({{"fp64", 0.5}}); },
   "the float64 units are used for {pipe/fp64} % of the time",
   {{{"the problem's types are not float64: compute in float32 (constants with f, expf instead of exp)", [](Q q) { return q["work/float64"] == 0; }},
     {"split each number in two of float32 where float32 alone is not exact enough"},
     {"take products through the float64 matrix units (mma .f64)", [](Q q) { return q["work/float64"] == 1; }}}},
   "CUDA C++ Programming Guide, Arithmetic Instructions; CUDA Best Practices Guide, Arithmetic Instructions"},

  {"half_precision_bound", "16-bit arithmetic outside the matrix units",
   "pipe/fp16",
   [](Q q) { return is_busiest(q, "pipe/fp16", kWaiting); },
   [](Q q) { return q.speedup({{"fp16", 0.5}, {"issue", 0.5}, {"fp32", 0.5}}); },
   "16-bit arithmetic is used for {pipe/fp16} % of the time",
   {{{"pack two numbers in an instruction (__half2, __nv_bfloat162)"},
     {"where these are products of matrices, take the matrix units"}}},
   "CUDA C++ Programming Guide, Arithmetic Instructions"},

  {"special_function_bound", "special functions (exponentials, roots, divisions)",
   "pipe/xu",
   [](Q q) { return is_busiest(q, "pipe/xu", 60); },
   [](Q q) { return without_unit(q, "special"); },
   "the units for special functions and conversions are used for {pipe/xu} % of the time",
   {{{"do a part of the exponentials with a polynomial on the float32 units", nullptr, [](Q q) { return q.speedup({{"special", 0.5}}); }},
     {"take the bare instruction (exp2f with the factor folded in, __expf, __frcp_rn, rsqrtf)"},
     {"compute less of them: reuse per row, multiply by a reciprocal instead of dividing"}}},
   "CUDA C++ Programming Guide, Arithmetic Instructions; Nsight Compute guide, Pipelines (XU)"},

  {"divergence", "threads of a warp that go different ways",
   "inst/active_threads",
   [](Q q) {
     const double busy = std::max({0.0, q["issue/active"], q["pipe/alu"], q["pipe/fma"], q["pipe/xu"]});
     return q["inst/active_threads"] <= 24 && !(q["branch/divergent"] == 0) && (busy >= 0.8 * q.busiest() || q.waiting({"branch_resolving"}) >= 15);
   },
   [](Q q) {
     const double kept = q["inst/active_threads"] / 32;
     return std::min(1 / kept, q.speedup({{"issue", kept}, {"fp32", kept}, {"integer", kept}, {"special", kept}, {"fp16", kept}, {"fp64", kept}, {"load_store", kept}}));
   },
   "{inst/active_threads} of 32 threads are active in an instruction; {branch/divergent} branches parted",
   {{{"let all threads of a warp take the same way: sort or group the work by its case, or decide by warp"},
     {"replace the branch by arithmetic or a select where both sides are short"},
     {"give a warp, not a thread, to each irregular piece of work"}}},
   "CUDA Best Practices Guide, Branching and Divergence; Nsight Compute guide, Warp State Statistics"},

  {"integer_overhead", "addresses and other integer work",
   "inst/integer_share issue/active",
   [](Q q) { return q["inst/integer_share"] >= 45 && (is_busiest(q, "issue/active", kWaiting) || is_busiest(q, "pipe/alu", kWaiting)); },
   [](Q q) { return q.speedup({{"issue", 1 - q["inst/integer_share"] / 100}, {"integer", 0.1}, {"fp32", 0.5}}); },
   "{inst/integer_share} % of the instructions are integer arithmetic; schedulers issue in {issue/active} % of the cycles",
   {{{"compute addresses once before the loop and step pointers; 32-bit offsets instead of 64-bit ones"},
     {"divide by constants or powers of two only; give tile sizes as constants"},
     {"do more elements with each address: wider vectors, unrolling with constant offsets"}}},
   "CUDA Best Practices Guide, Instruction Optimization; Nsight Compute guide, Instruction Statistics"},

  {"narrow_loads", "loads and stores of few bytes per thread",
   "global/bytes_per_thread global/sectors_per_request",
   [](Q q) {
     if (scattered_loads(q)) return false;
     const double waits = q.waiting({"long_scoreboard", "lg_throttle", "drain"});  // few bytes are in flight
     const bool many = (q["global/instruction_share"] >= 10 || waits >= kMuch) && !(q["inst/narrow_share"] < 60);
     const bool words = q["inst/word_share"] >= 80 && q["global/instruction_share"] >= 20 && std::max(q["pipe/lsu"], q["issue/active"]) >= kWaiting;
     return ((many && q["global/bytes_per_thread"] <= 2.5) || words) && !(q["dram/throughput"] >= kSaturated && q.has("stall/all"));
   },
   [](Q q) {
     const double kept = std::min(1.0, q["global/bytes_per_thread"] / 16);
     const double global_share = std::max(0.0, q["global/instruction_share"]) / 100;
     return q.speedup({{"load_store", kept}, {"issue", 1 - global_share * (1 - kept)}, {"integer", kept}, {"l1", std::min(1.0, kept * 4)}, {"l2", std::min(1.0, kept * 4)}},
                      {"long_scoreboard", "lg_throttle", "drain"}, 1 - kept);
   },
   "a thread moves {global/bytes_per_thread} bytes an instruction, {global/sectors_per_request} sectors a warp, where 16 bytes and 16 sectors are possible",
   {{{"load and store vectors of 16 bytes (float4, uint4) where alignment allows"},
     {"let a thread do several elements, so that more bytes are in flight", nullptr, [](Q q) { return q.speedup({}, {"long_scoreboard", "lg_throttle", "drain"}, 0.75); }}}},
   "CUDA C++ Programming Guide, Device Memory Accesses; Nsight Compute guide, Memory Tables"},

  {"phases_not_overlapped", "matrix units and other units that take turns",
   "pipe/tensor issue/active stall/all",
   [](Q q) { return q["pipe/tensor"] >= kMuch && q.busiest() < kSaturated && (q["pipe/xu"] >= kMuch || q["issue/active"] >= 45 || q["shared/throughput"] >= 45); },
   [](Q q) { return q.speedup({}); },
   "matrix units are used for {pipe/tensor} % of the time; issue for {issue/active} %; special functions for {pipe/xu} %; shared memory for {shared/throughput} %",
   {{{"let one group of warps multiply while another does the rest (ping-pong of warp groups)"},
     {"start the next product before the results of this one are used (software pipeline)"},
     {"fetch by TMA from a warp of its own, so that those that multiply issue less"}}},
   "Shah et al., FlashAttention-3, arXiv:2407.08608; Nsight Compute guide, Pipelines"},

  {"occupancy_registers", "few warps, for the registers each needs",
   "occupancy/theoretical",
   [](Q q) { return few_warps(q, "registers"); }, bound_of_warps,
   "{kernel/registers} registers per thread let {occupancy/theoretical} % of the warps be resident, too few to hide latency; the busiest unit is used for {busiest/share} %",
   {{{"use fewer registers: a smaller tile per thread, less unrolling, or maxrregcount as long as nothing spills"},
     {"let each warp do more between waits: independent loads first, then their uses", [](Q q) { return q.has("stall/all"); },
      [](Q q) { return q.speedup({}, {"long_scoreboard", "short_scoreboard", "wait"}); }},
     {"move values that are rarely used to shared memory"}}},
   "CUDA Best Practices Guide, Occupancy; Nsight Compute guide, Occupancy", RuleKind::cause, "stall/all"},

  {"occupancy_shared_memory", "few warps, for the shared memory each block needs",
   "occupancy/theoretical",
   [](Q q) { return few_warps(q, "shared memory"); }, bound_of_warps,
   "shared memory lets {occupancy/theoretical} % of the warps be resident, too few to hide latency; the busiest unit is used for {busiest/share} %",
   {{{"use less shared memory a block: smaller tiles, fewer stages, a narrower type"},
     {"let more threads share a tile: larger blocks on the same shared memory"},
     {"keep what one thread alone uses in registers"}}},
   "CUDA Best Practices Guide, Occupancy; Nsight Compute guide, Occupancy", RuleKind::cause, "stall/all"},

  {"occupancy_block_size", "few warps, for the size of blocks",
   "occupancy/theoretical",
   [](Q q) { return few_warps(q, "blocks") || few_warps(q, "block size"); }, bound_of_warps,
   "blocks of {launch/threads} threads let {occupancy/theoretical} % of the warps be resident, too few to hide latency; the busiest unit is used for {busiest/share} %",
   {{{"take blocks of 128 to 512 threads, a multiple of 32 that divides the SM's limit"},
     {"give a thread less to do and a block more threads"}}},
   "CUDA Best Practices Guide, Thread and Block Heuristics; Nsight Compute guide, Occupancy", RuleKind::cause, "stall/all"},

  {"barrier_bound", "warps that wait for each other at barriers",
   "stall/barrier stall/all",
   [](Q q) { return q.waiting({"barrier"}) >= 30 && q.busiest() < kSaturated; },
   [](Q q) { return q.speedup({}, {"barrier"}); },
   "warps spend {waiting/barrier} % of their time at a block's barrier; the busiest unit is used for {busiest/share} %",
   {{{"synchronise less: two alternating buffers need one barrier per step; within a warp __syncwarp is enough"},
     {"smaller blocks, so that others run while one waits"},
     {"even out the work between the barriers, or split it by warp (mbarriers instead of __syncthreads)"}}},
   "Nsight Compute guide, Warp Scheduler States (barrier); CUDA Best Practices Guide, Instruction Optimization"},

  {"instruction_cache", "instructions that do not come fast enough",
   "stall/no_instruction stall/all",
   [](Q q) { return q.waiting({"no_instruction"}) >= 20 && q.busiest() < kSaturated; },
   [](Q q) { return q.speedup({}, {"no_instruction", "branch_resolving"}); },
   "warps spend {waiting/no_instruction} % of their time without an instruction; the busiest unit is used for {busiest/share} %",
   {{{"unroll less: the inner loop should fit the instruction cache (some 128 KB, 32 KB of it near the SM)"},
     {"let warps of an SM run through the same code at the same time; fewer specialised copies of a loop"},
     {"fewer jumps: no indirect calls, short bodies instead of long ones"}}},
   "Nsight Compute guide, Warp Scheduler States (no instruction)"},

  {"branch_bound", "jumps whose target is waited for",
   "stall/branch_resolving stall/all",
   [](Q q) { return q.waiting({"branch_resolving"}) >= 20 && q.busiest() < kSaturated; },
   [](Q q) { return q.speedup({}, {"branch_resolving"}); },
   "warps spend {waiting/branch_resolving} % of their time waiting for a branch; the busiest unit is used for {busiest/share} %",
   {{{"unroll short loops, so that a jump comes less often"},
     {"replace branches by selects or predication"}}},
   "Nsight Compute guide, Warp Scheduler States (branch resolving)"},

  {"memory_latency", "waiting for loads, too few of which are in flight",
   "stall/long_scoreboard stall/all",
   [](Q q) {
     return q.waiting({"long_scoreboard", "lg_throttle"}) >= kMuch && q.busiest() < kSaturated && !(q["occupancy/theoretical"] <= 50 && latency_bound(q)) ;
   },
   [](Q q) { return q.speedup({}, {"long_scoreboard", "lg_throttle"}); },
   "warps spend {waiting/long_scoreboard} % of their time waiting for global or local memory; device memory is used for {dram/throughput} %; L2 for {l2/throughput} %",
   {{{"issue several independent loads before the first use: unroll, or wider vectors"},
     {"fetch the next step while this one is computed (cp.async or TMA into shared memory, or registers)"},
     {"more warps: smaller blocks or fewer registers", [](Q q) { return q["occupancy/theoretical"] < 80; },
      [](Q q) { return std::min(100 / q["occupancy/theoretical"], q.speedup({}, {"long_scoreboard", "lg_throttle"})); }}}},
   "CUDA Best Practices Guide, Hiding Register Dependencies and Memory Optimizations; Little's law", RuleKind::symptom},

  {"dependency_latency", "each instruction waiting for the one before",
   "stall/wait stall/all",
   [](Q q) { return q.waiting({"wait", "short_scoreboard", "math_pipe_throttle", "dispatch_stall"}) >= kMuch && q.busiest() < kWaiting; },
   [](Q q) { return q.speedup({}, {"wait", "short_scoreboard", "dispatch_stall"}); },
   "warps spend {waiting/wait} % of their time on fixed latencies and {waiting/short_scoreboard} % on shared memory or special functions; the busiest unit is used for {busiest/share} %",
   {{{"give a thread several independent chains (several sums, unrolled elements)"},
     {"more warps: smaller tiles or blocks that fit more often", [](Q q) { return q["occupancy/theoretical"] < 80; },
      [](Q q) { return std::min(100 / q["occupancy/theoretical"], q.speedup({})); }}}},
   "Nsight Compute guide, Warp Scheduler States (wait, short scoreboard)", RuleKind::symptom},

  {"tensor_bound", "the matrix units: at their limit",
   "pipe/tensor",
   [](Q q) { return is_busiest(q, "pipe/tensor", kSaturated); },
   [](Q q) { return q.speedup({}); },
   "the matrix units are used for {pipe/tensor} % of the time",
   {{{"a narrower type (fp8, int8), where the problem allows it"},
     {"at this load the power limit lowers clocks: less data movement an operation leaves more for arithmetic"}}},
   "NVIDIA H100 white paper; measurement: the best matrix products reach 90 to 95 %", RuleKind::limit},

  {"dram_bound", "device memory, or the way to it through L2: at its limit",
   "dram/throughput",
   [](Q q) { return is_busiest(q, "dram/throughput", kSaturated) || (l2_streams(q) && q["dram/throughput"] >= 55); },
   [](Q q) { return q.speedup({}); },
   "device memory is used for {dram/throughput} % of the time; it moves {dram/gbps} GB/s; L2 is used for {l2/throughput} %; {dram/excess} times the bytes that the problem needs are moved",
   {{{"move fewer bytes: fuse with the kernel before or after, or a narrower type"},
     {"loads that are not used again past L1 and L2 (ld.global.nc.L1::no_allocate, evict-first)"}}},
   "CUDA Best Practices Guide, Effective Bandwidth Calculation; measurement: plain copies reach 85 to 93 %", RuleKind::limit},

  {"l2_bound", "the L2 cache: at its limit",
   "l2/throughput",
   [](Q q) { return is_busiest(q, "l2/throughput", 70) && !l2_streams(q); },
   [](Q q) { return without_unit(q, "l2"); },
   "the L2 cache is used for {l2/throughput} % of the time; device memory for {dram/throughput} %",
   {{{"keep in shared memory what several warps of a block read: larger tiles"},
     {"share loads between blocks of a cluster (TMA multicast, distributed shared memory)"},
     {"whole sectors and aligned 128-byte lines only"}}},
   "Nsight Compute guide, Memory Chart (L2 cache)", RuleKind::limit},

  {"shared_memory_bound", "shared memory: at its limit",
   "shared/throughput",
   [](Q q) { return is_busiest(q, "shared/throughput", 65) && !(q["shared/conflict_share"] >= 25); },
   [](Q q) { return q.speedup({{"shared", 0.0}, {"l1", 0.0}}); },
   "shared memory is used for {shared/throughput} % of the time; {shared/conflict_share} % of it is conflicts",
   {{{"use a value more often once it is in a register: larger tiles per thread"},
     {"read 16 bytes a thread at once; broadcasts instead of a read a lane"},
     {"pass values between lanes with shuffles"}}},
   "CUDA Best Practices Guide, Shared Memory; Nsight Compute guide, Memory Chart", RuleKind::limit},

  {"l1_bound", "the L1 cache: at its limit",
   "l1/data_stage",
   [](Q q) { return is_busiest(q, "l1/data_stage", 65) && q["shared/throughput"] < 0.6 * q["l1/data_stage"]; },
   [](Q q) { return q.speedup({{"l1", 0.0}, {"load_store", 0.0}}); },
   "the banks of L1 are used for {l1/data_stage} % of the time; {shared/throughput} % is shared memory",
   {{{"load once into registers what is used several times; tiles in registers"},
     {"read 16 bytes a thread at once from neighbouring addresses"}}},
   "Nsight Compute guide, Memory Chart (L1/TEX cache)", RuleKind::limit},

  {"fp32_bound", "float32 arithmetic: at its limit",
   "pipe/fma",
   [](Q q) { return is_busiest(q, "pipe/fma", 70) || (q["pipe/fma"] >= 70 && q["pipe/fma"] >= 0.85 * q["issue/active"] && q["issue/active"] >= q.busiest()); },
   [](Q q) { return q.speedup({{"fp32", 0.0}, {"issue", 0.0}}); },
   "float32 arithmetic is used for {pipe/fma} % of the time; issue for {issue/active} %",
   {{{"fewer operations: factor out what is common, fused multiply-adds, tables or cheaper approximations"},
     {"packed or narrower arithmetic (half2, matrix units), where precision allows"}}},
   "CUDA C++ Programming Guide, Arithmetic Instructions", RuleKind::limit},

  {"issue_bound", "the number of instructions",
   "issue/active",
   [](Q q) { return is_busiest(q, "issue/active", 65); },
   [](Q q) { return without_unit(q, "issue"); },
   "schedulers issue in {issue/active} % of the cycles; {inst/integer_share} % of the instructions are integer arithmetic",
   {{{"more work an instruction: vectors of 16 bytes, packed arithmetic, matrix units, TMA"},
     {"move what does not change out of loops; unroll; constants instead of variables"},
     {"leave out conversions, bounds checks and selects of the inner loop (one guarded tile at the end)"}}},
   "CUDA Best Practices Guide, Instruction Optimization; Nsight Compute guide, Scheduler Statistics", RuleKind::limit},
};
// clang-format on

}  // namespace

std::span<const Rule> bottleneck_rules() { return kRules; }

const Rule* find_rule(std::string_view name) {
  const auto* found = std::ranges::find(kRules, name, &Rule::name);
  return found == std::ranges::end(kRules) ? nullptr : found;
}

}  // namespace ak::profiler
