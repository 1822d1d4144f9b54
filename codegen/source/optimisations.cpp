// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/optimisations.h"

#include <algorithm>
#include <initializer_list>
#include <sstream>

#include "codegen/source/line_patterns.h"
#include "codegen/source/live_code.h"
#include "codegen/source/plan_demands.h"
#include "core/text/characters.h"

namespace ak::codegen {
namespace {

using Words = std::initializer_list<std::string_view>;

/// What decides beside words.
struct Decision {
  std::int64_t least =
      1;  ///< value of a tunable or constant that governs it from which on it is there; a switch needs 1
  bool by_name = false;                        ///< such a value alone shows it
  bool (*line)(std::string_view) = nullptr;    ///< a line of code that shows it
  bool (*plan)(const PlanDemands&) = nullptr;  ///< what the launch plan has to ask for
  std::string_view needs = {};                 ///< another one, without which it is none
  bool own = false;                            ///< device headers offer it for who asks
  std::string_view never = {};                 ///< Optimisation::never
};

struct Recogniser {
  std::string_view name, purpose;
  Words code;      ///< any of them on a line of code
  Words plan;      ///< any of them on a line of the launch plan
  Words tunables;  ///< any of them in the name of a tunable or constant
  Words counters;
  Decision decision = {};
};

constexpr std::string_view kSharedMemory = "shared memory";

// What shows each of them: names of PTX instructions, intrinsics, CUDA C++ and fields of launch plans; names
// of tunables as templates and models choose them; counters of the metric catalogue and of the CPU device.
// What another one needs stands in front of it.
const Recogniser kRecognisers[] = {
    {"warp-group matrix products",
     "matrix units fed from shared memory by four warps",
     {"wgmma"},
     {},
     {},
     {"pipe/tensor", "inst/tensor"},
     {.never = "flop/tensor"}},
    {"matrix products",
     "matrix units",
     {"mma.sync", "ak::mma<", "wmma::", "mma_sync", "tcgen05"},
     {},
     {},
     {"pipe/tensor", "inst/tensor"},
     {.never = "flop/tensor"}},
    {"bulk copies (TMA)",
     "a copy engine moves tiles, no thread computes addresses",
     {"cp.async.bulk", "ak::tma_", "ak::bulk_load", "CUtensorMap"},
     {"\"tensor_maps\""},
     {},
     {"pipe/tma"}},
    {kSharedMemory,
     "values are read once from device memory and used by many threads",
     {"__shared__"},
     {"\"shared\""},
     {"BM", "BN", "BK", "TILE"},
     {"shared/requests", "shared/wavefronts", "shared/bank_conflicts"},
     {.never = "shared/"}},
    {"asynchronous copies",
     "loads to shared memory go on while warps compute",
     {"cp.async.ca", "cp.async.cg", "ak::copy_async", "memcpy_async", "__pipeline_memcpy"},
     {},
     {"ASYNC"},
     {"stall/long_scoreboard"},
     {.needs = kSharedMemory, .never = "inst/thread/async_copy"}},
    {"several buffers",
     "the next tile is loaded while this one is used",
     {},
     {},
     {"STAGES", "BUFFER", "PIPELINE", "PREFETCH", "DEPTH"},
     {"stall/long_scoreboard", "stall/barrier"},
     {.least = 2, .by_name = true, .line = takes_buffers_in_turn, .needs = kSharedMemory, .own = true}},
    {"swizzled or padded layout",
     "threads of a warp meet different banks of shared memory",
     {"swizzle", "SWIZZLE", "PAD"},
     {"\"swizzle\""},
     {"SWIZZLE", "PAD"},
     {"shared/bank_conflicts", "shared/wavefronts"},
     {.line = spreads_over_banks, .needs = kSharedMemory}},
    {"vector loads",
     "fewer and wider accesses to device memory",
     {"ld.global.v", "st.global.v", "ak::Pack<"},
     {},
     {"VEC"},
     {"global/requests", "global/sectors", "inst/memory_128b"},
     {.least = 2, .line = points_to_vectors}},
    {"packed arithmetic",
     "two values an instruction",
     {"__hfma2", "__hadd2", "__hsub2", "__hmul2", "__hmax2", "__hmin2", "h2exp", "h2rsqrt"},
     {},
     {},
     {"pipe/fp16"},
     {.line = computes_with_pairs}},
    {"warp shuffles",
     "threads of a warp talk without shared memory",
     {"__shfl", "shfl.sync", "__reduce_", "redux.sync", ".shfl", "cg::reduce", "cub::WarpReduce",
      "ak::reduce_", "ak::block_sum", "ak::shuffle_xor"},
     {},
     {},
     {"inst/thread/communication", "inst/thread/shuffle"},
     {.never = "inst/thread/warp"}},
    {"several elements a thread",
     "work in registers hides latency and saves addresses",
     {},
     {},
     {"ITEMS", "ELEMENTS", "PACKS", "PER_THREAD", "PER_LANE", "UNROLL", "TM", "TN", "ILP"},
     {},
     {.least = 2, .by_name = true, .line = keeps_numbers_in_registers, .own = true}},
    {"unrolled loops",
     "fewer branches, more loads under way",
     {},
     {},
     {"UNROLL"},
     {},
     {.least = 0, .line = unrolls}},
    {"split sum",
     "several blocks share one long sum",
     {},
     {"SPLIT"},
     {"SPLIT", "PARTS"},
     {"atomic/operations"},
     {.least = 2, .by_name = true, .plan = hands_on_sums}},
    {"persistent blocks",
     "as many blocks as the device holds, each does several tiles",
     {},
     {"SM_COUNT"},
     {"PERSISTENT"},
     {},
     {.by_name = true, .plan = fills_device}},
    {"block clusters",
     "blocks share their shared memory",
     {"barrier.cluster", "cluster_group", "__cluster_dims__", "mapa.", "map_shared_rank", "ak::cluster_"},
     {"\"cluster\""},
     {"CLUSTER"},
     {},
     {.least = 2, .plan = has_clusters}},
    {"cache hints",
     "what is used once does not drive out what is used again",
     {"__ldcs", "__stcs", "__ldcg", "__stcg", "__ldlu", "__ldg", "ld.global.nc", "L2::", "evict_",
      "createpolicy", "Cache::streaming", "Cache::read_only", "Cache::l2"},
     {},
     {"CACHE", "HINT"},
     {"l2/hit_rate", "dram/bytes_read"},
     {.own = true}},
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
     {"pipe/xu"},
     {.never = "inst/thread/special_function"}},
    {"atomics",
     "results of several blocks are put together in memory",
     {"atomicAdd", "atomicMax", "atomicMin", "atomicCAS", "red.global", "atom.global", "red.shared",
      "atom.shared"},
     {},
     {"ATOMIC"},
     {"atomic/global_requests", "atomic/operations", "atomic/conflicts"},
     {.never = "atomic/operations"}},
    {"one launch for several steps",
     "the whole grid waits for itself, no launch between",
     {"this_grid", "grid.sync", "grid_group"},
     {"\"cooperative\""},
     {},
     {},
     {.plan = is_cooperative}},
    {"early launch",
     "a launch begins before the one before has ended",
     {"griddepcontrol", "cudaGridDep"},
     {"\"pdl\""},
     {},
     {"timeline/gap"},
     {.plan = launches_early}},
    {"warps of different work",
     "some warps load, others compute",
     {"setmaxnreg", "ak::take_registers"},
     {},
     {"PRODUCER", "CONSUMER"},
     {"stall/barrier"}},
};

/// A tunable, or a constant with a number in the code that launches may come to.
struct Number {
  std::string name;
  std::int64_t value = 0;
  bool tunable = false, is_switch = false;
};

/// All that a candidate is looked at for.
struct Subject {
  std::vector<LiveLine> code, plan;
  std::vector<Number> numbers;
  PlanDemands demands;
};

/// The lines of the leading comment.
std::vector<LiveLine> plan_lines(const std::string& source) {
  std::vector<LiveLine> lines;
  std::istringstream text(source.substr(0, source.find("*/")));
  int number = 0;
  for (std::string line; std::getline(text, line);) lines.push_back({.text = line, .line = ++number});
  return lines;
}

std::vector<Number> numbers_of(const Candidate& candidate, const std::vector<LiveLine>& code) {
  std::vector<Number> numbers;
  for (const Tunable& tunable : candidate.plan.tunables) {
    const auto chosen = candidate.tunables.find(tunable.name);
    numbers.push_back({.name = tunable.name,
                       .value = chosen == candidate.tunables.end() ? tunable.default_value : chosen->second,
                       .tunable = true,
                       .is_switch = std::ranges::max(tunable.values) <= 1});
  }
  for (const LiveLine& line : code) {
    if (line.header) continue;
    for (const auto& [name, value] : constants_of(line.text))
      numbers.push_back({.name = name, .value = value});
  }
  return numbers;
}

Subject subject_of(const Candidate& candidate, const std::vector<ResolvedPlan>& plans,
                   const std::string& kernel) {
  PlanDemands demands = plan_demands(candidate.plan, plans, kernel);
  std::vector<LiveLine> code = live_code(candidate, demands.kernels);
  std::vector<Number> numbers = numbers_of(candidate, code);
  return {.code = std::move(code),
          .plan = plan_lines(candidate.source),
          .numbers = std::move(numbers),
          .demands = std::move(demands)};
}

/// "red.global" is none in "shared.global", "swizzle" is one in "unswizzled".
bool holds(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool within = word.find('.') != std::string_view::npos && word.front() != '.' && at > 0 &&
                        is_word(text[at - 1]) && is_word(word.front());
    if (!within) return true;
  }
  return false;
}

bool holds_any(std::string_view text, Words words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return holds(text, word); });
}

/// "BM" is the whole name or a part of it between underscores: SUBMIT has none.
bool names_number(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || name[at - 1] == '_') && (end == name.size() || name[end] == '_' || word.size() > 2))
      return true;
  }
  return false;
}

std::vector<const Number*> governing(const Recogniser& known, const std::vector<Number>& numbers) {
  std::vector<const Number*> found;
  for (const Number& number : numbers)
    if (std::ranges::any_of(known.tunables,
                            [&](std::string_view word) { return names_number(number.name, word); }))
      found.push_back(&number);
  return found;
}

void add_line(std::vector<int>& lines, int line) {
  if (line > 0 && std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
}

/// Whether some line shows it; where is noted in `lines`.
bool find_lines(const Recogniser& known, const Subject& subject, std::vector<int>& lines) {
  bool found = false;
  for (const LiveLine& line : subject.plan) {
    if (!holds_any(line.text, known.plan)) continue;
    found = true;
    add_line(lines, line.line);
  }
  for (const LiveLine& line : subject.code) {
    const bool shows = holds_any(line.text, known.code) ||
                       (known.decision.line != nullptr && known.decision.line(line.text));
    if (!shows || (line.header && known.decision.own)) continue;
    found = true;
    add_line(lines, line.line);
  }
  std::ranges::sort(lines);
  return found;
}

bool is_there(const Recogniser& known, const Subject& subject, const std::vector<const Number*>& numbers,
              bool by_lines) {
  const Decision& decision = known.decision;
  const auto on = [&](const Number* number) {
    return number->value >= (number->is_switch ? std::min<std::int64_t>(decision.least, 1) : decision.least);
  };
  const bool switched_on = std::ranges::any_of(numbers, on);
  if (!numbers.empty() && !switched_on) return false;
  if (decision.by_name && switched_on) return true;
  return decision.plan != nullptr ? decision.plan(subject.demands) : by_lines;
}

}  // namespace

std::vector<Optimisation> optimisations_of(const Candidate& candidate, const std::vector<ResolvedPlan>& plans,
                                           const std::string& kernel) {
  const Subject subject = subject_of(candidate, plans, kernel);
  std::vector<Optimisation> found;
  for (const Recogniser& known : kRecognisers) {
    const Decision& decision = known.decision;
    Optimisation one{.name = known.name,
                     .purpose = known.purpose,
                     .lines = {},
                     .tunables = {},
                     .counters = {known.counters.begin(), known.counters.end()},
                     .never = decision.never};
    const std::vector<const Number*> numbers = governing(known, subject.numbers);
    const bool by_lines = find_lines(known, subject, one.lines);
    if (!is_there(known, subject, numbers, by_lines)) continue;
    if (!decision.needs.empty() &&
        std::ranges::find(found, decision.needs, &Optimisation::name) == found.end())
      continue;
    for (const Number* number : numbers)
      if (number->tunable) one.tunables.push_back(number->name);
    found.push_back(std::move(one));
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
