// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/optimisations.h"

#include <algorithm>
#include <initializer_list>
#include <sstream>

namespace ak::codegen {
namespace {

using Words = std::initializer_list<std::string_view>;

struct Recogniser {
  std::string_view name, purpose;
  Words code;      ///< any of them on a line of code
  Words plan;      ///< any of them on a line of the launch plan
  Words tunables;  ///< any of them in the name of a tunable
  Words counters;
};

// What shows each of them: names of PTX instructions, intrinsics, CUDA C++ and fields of launch plans; names
// of tunables as templates and models choose them; counters of the metric catalogue and of the CPU device.
const Recogniser kRecognisers[] = {
    {"warp-group matrix products",
     "matrix units fed from shared memory by four warps",
     {"wgmma"},
     {},
     {},
     {"pipe/tensor", "inst/tensor"}},
    {"matrix products",
     "matrix units",
     {"mma.sync", "ak::mma<", "wmma::", "mma_sync", "tcgen05"},
     {},
     {},
     {"pipe/tensor", "inst/tensor"}},
    {"bulk copies (TMA)",
     "a copy engine moves tiles, no thread computes addresses",
     {"cp.async.bulk", "ak::tma_", "ak::bulk_load", "CUtensorMap"},
     {"\"tensor_maps\""},
     {},
     {"pipe/tma"}},
    {"asynchronous copies",
     "loads to shared memory go on while warps compute",
     {"cp.async.ca", "cp.async.cg", "ak::copy_async", "memcpy_async", "__pipeline_memcpy"},
     {},
     {"ASYNC"},
     {"stall/long_scoreboard"}},
    {"several buffers",
     "the next tile is loaded while this one is used",
     {"STAGES", "BUFFERS"},
     {},
     {"STAGES", "BUFFER", "PIPELINE", "PREFETCH"},
     {"stall/long_scoreboard", "stall/barrier"}},
    {"shared memory",
     "values are read once from device memory and used by many threads",
     {"__shared__"},
     {"\"shared\""},
     {"BM", "BN", "BK", "TILE"},
     {"shared/requests", "shared/wavefronts", "shared/bank_conflicts"}},
    {"swizzled or padded layout",
     "threads of a warp meet different banks of shared memory",
     {"swizzle", "SWIZZLE", "PAD"},
     {"\"swizzle\""},
     {"SWIZZLE", "PAD"},
     {"shared/bank_conflicts", "shared/wavefronts"}},
    {"vector loads",
     "fewer and wider accesses to device memory",
     {"float4", "uint4", "int4", "float2", "uint2", "ld.global.v", "ak::Pack<", "VEC"},
     {},
     {"VEC"},
     {"global/requests", "global/sectors", "inst/memory_128b"}},
    {"packed arithmetic",
     "two values an instruction",
     {"__half2", "bfloat162", "f16x2", "f32x2"},
     {},
     {},
     {"pipe/fp16"}},
    {"warp shuffles",
     "threads of a warp talk without shared memory",
     {"__shfl", "shfl.sync", "__reduce_", "ak::reduce_", "ak::block_sum", "ak::shuffle_xor"},
     {},
     {},
     {"inst/thread/communication", "inst/thread/shuffle"}},
    {"several elements a thread",
     "work in registers hides latency and saves addresses",
     {},
     {},
     {"ITEMS", "PER_THREAD", "UNROLL", "ROWS_PER", "TM", "TN", "ILP"},
     {}},
    {"unrolled loops", "fewer branches, more loads under way", {"#pragma unroll"}, {}, {"UNROLL"}, {}},
    {"split sum",
     "several blocks share one long sum",
     {"SPLIT"},
     {"SPLIT"},
     {"SPLIT"},
     {"atomic/operations"}},
    {"persistent blocks",
     "as many blocks as the device holds, each does several tiles",
     {},
     {"SM_COUNT"},
     {"PERSISTENT"},
     {}},
    {"block clusters", "blocks share their shared memory", {"cluster"}, {"\"cluster\""}, {"CLUSTER"}, {}},
    {"cache hints",
     "what is used once does not drive out what is used again",
     {"__ldcs", "__stcs", "__ldcg", "__stcg", "__ldlu", "ld.global.nc", "L2::", "evict_", "createpolicy",
      "Cache::"},
     {},
     {"CACHE", "HINT"},
     {"l2/hit_rate", "dram/bytes_read"}},
    {"launch bounds",
     "the compiler spends registers for so many blocks an SM",
     {"__launch_bounds__"},
     {"maxrregcount"},
     {"MIN_BLOCKS", "BLOCKS_PER_SM"},
     {"occupancy/achieved"}},
    {"fast functions",
     "approximate functions of the special units",
     {"__expf", "ex2.approx", "exp2f", "rsqrt", "__fdividef", "tanh.approx", "__logf", "ak::fast_"},
     {"fast_math"},
     {"FAST"},
     {"pipe/xu"}},
    {"atomics",
     "results of several blocks are put together in memory",
     {"atomicAdd", "atomicMax", "atomicMin", "atomicCAS", "red.global", "atom.global"},
     {},
     {"ATOMIC"},
     {"atomic/global_requests", "atomic/operations", "atomic/conflicts"}},
    {"one launch for several steps",
     "the whole grid waits for itself, no launch between",
     {"this_grid", "grid.sync", "grid_group"},
     {"\"cooperative\""},
     {},
     {}},
    {"early launch",
     "a launch begins before the one before has ended",
     {"griddepcontrol", "cudaGridDep"},
     {"\"pdl\""},
     {},
     {"timeline/gap"}},
    {"warps of different work",
     "some warps load, others compute",
     {"setmaxnreg", "ak::take_registers", "producer"},
     {},
     {"PRODUCER", "CONSUMER"},
     {"stall/barrier"}},
};

struct SourceLine {
  std::string text;  ///< without comments
  bool plan = false;
};

/// The lines of the file; those of the leading comment are the plan's.
std::vector<SourceLine> lines_of(const std::string& source) {
  std::vector<SourceLine> lines(1);
  const std::size_t plan_end = source.find("*/");
  bool comment = false, line_comment = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    const bool in_plan = plan_end != std::string::npos && i <= plan_end;
    if (c == '\n') {
      line_comment = false;
      lines.emplace_back();
      continue;
    }
    lines.back().plan = lines.back().plan || in_plan;
    const std::string_view here = std::string_view(source).substr(i, 2);
    if (!in_plan && !comment && here == "//") line_comment = true;
    if (!in_plan && !line_comment && here == "/*") comment = true;
    if (in_plan || (!comment && !line_comment)) lines.back().text += c;
    if (comment && here == "*/") {
      comment = false;
      ++i;
    }
  }
  return lines;
}

bool holds_any(std::string_view text, Words words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// "BM" is the whole name or a part of it between underscores: SUBMIT has none.
bool names_tunable(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || name[at - 1] == '_') && (end == name.size() || name[end] == '_' || word.size() > 2))
      return true;
  }
  return false;
}

}  // namespace

std::vector<Optimisation> optimisations_of(const Candidate& candidate) {
  const std::vector<SourceLine> lines = lines_of(candidate.source);
  std::vector<Optimisation> found;
  for (const Recogniser& known : kRecognisers) {
    Optimisation one{.name = known.name,
                     .purpose = known.purpose,
                     .lines = {},
                     .tunables = {},
                     .counters = {known.counters.begin(), known.counters.end()}};
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (holds_any(lines[i].text, lines[i].plan ? known.plan : known.code))
        one.lines.push_back(static_cast<int>(i) + 1);
    for (const Tunable& tunable : candidate.plan.tunables)
      if (std::ranges::any_of(known.tunables,
                              [&](std::string_view word) { return names_tunable(tunable.name, word); }))
        one.tunables.push_back(tunable.name);
    const bool only_tunables = known.code.size() + known.plan.size() == 0;
    if (!one.lines.empty() || (only_tunables && !one.tunables.empty())) found.push_back(std::move(one));
  }
  return found;
}

std::vector<std::string> switches_of(const Candidate& candidate) {
  std::vector<std::string> names;
  std::istringstream lines(candidate.source);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string define, name, value, rest;
    words >> define >> name >> value >> rest;
    const bool asked = candidate.source.find("#if " + name) != std::string::npos;
    if (define == "#define" && name.starts_with("AK_") && value == "1" && rest.empty() && asked)
      names.push_back(name);
  }
  return names;
}

std::string switched_off(const std::string& source, const std::string& macro) {
  std::string text = source;
  const std::string on = "#define " + macro + " 1";
  if (const std::size_t at = text.find(on); at != std::string::npos) text[at + on.size() - 1] = '0';
  return text;
}

}  // namespace ak::codegen
