// SPDX-License-Identifier: Apache-2.0
#include "app/operations/failure_advice.h"

#include <algorithm>
#include <array>

namespace ak::operations {
namespace {

struct GateAdvice {
  Gate gate;
  std::string_view advice;
};

constexpr std::string_view kSeeOnCpu =
    "evaluate with device 'emulator': it names the line, the thread and the byte";
constexpr std::string_view kNoState =
    "the answer depends on earlier calls: keep nothing in __device__ variables or workspace from call to "
    "call (workspace with init 'zero' is cleared before each), and read every input in every call";
constexpr std::string_view kAllWork =
    "do the whole work in every call: read every input and write every output element";

constexpr std::array kGateAdvice{
    GateAdvice{Gate::source_rules,
               "leave host code out: no main, no <<<>>>, no cudaMalloc; launches belong into the plan, and "
               "args name tensors of the problem, workspace or tensor maps of the plan"},
    GateAdvice{Gate::includes, "include only headers that the contract lists under Includes"},
    GateAdvice{Gate::compile_limits,
               "fewer template instantiations, less recursion, smaller unrolling factors"},
    GateAdvice{Gate::untrusted_text, "shorten names and printed text"},
    GateAdvice{Gate::precision,
               "compute in the type of the tensors or wider: remove conversions to narrower types; "
               "accumulate in float"},
    GateAdvice{Gate::plan_bounds,
               "work out grid, block and scalars of the plan for the shape that is named: none may be 0 or "
               "above its limit; max(1, ...) and ceil_div() help"},
    GateAdvice{Gate::argument_types,
               "let args agree with the kernel's parameters in number, order and type: {\"i64\": ...} for "
               "long long, {\"i32\": ...} for int"},
    GateAdvice{Gate::resources,
               "use a smaller block or tile, less shared memory, or __launch_bounds__ and maxrregcount; "
               "show_devices tells the limits"},
    GateAdvice{Gate::context_limits, "print less, and do not call malloc in the kernel"},
    GateAdvice{Gate::private_protocol, "do not print what looks like a result"},
    GateAdvice{Gate::launch_errors, kSeeOnCpu},
    GateAdvice{
        Gate::hang_watchdog,
        "look for a loop that waits for another block, a loop without progress, a barrier that some threads "
        "never reach; on device 'emulator' the waiting threads are named"},
    GateAdvice{Gate::unmapped_reference, kSeeOnCpu},
    GateAdvice{Gate::memory_checker,
               "compare the index with the tensor's length where a tile hangs over its end; compute offsets "
               "in 64 bits; use vector loads only where row length and offset are multiples of the vector"},
    GateAdvice{Gate::initialised_reads,
               "write before reading: set accumulators and shared memory first, also the part past the "
               "tensor's end; workspace needs init 'zero' where it is added to"},
    GateAdvice{Gate::race_detector,
               "put __syncthreads() between a write and another thread's read of it, and again before the "
               "next round overwrites it; between blocks use atomics or a second launch"},
    GateAdvice{Gate::barrier_checker,
               "let all threads of the block reach the barrier: no return before it, none inside a branch "
               "that depends on the thread"},
    GateAdvice{Gate::poison,
               "some outputs were never written: compare grid times tile with the shape, handle the last "
               "tile, write also where the result is zero"},
    GateAdvice{Gate::guard_bands, kSeeOnCpu},
    GateAdvice{Gate::input_hash, "do not write to inputs; use workspace for intermediate results"},
    GateAdvice{Gate::tolerance,
               "compare expected and got at worst_index: wrong everywhere is the formula or the indexing, "
               "wrong at the "
               "end is the last tile, wrong now and then is a missing barrier, slightly wrong is "
               "accumulation in too narrow a type"},
    GateAdvice{Gate::non_finite,
               "subtract the maximum before exp, begin maxima at -INFINITY, keep masked elements out of "
               "sums, divide by nothing that can be zero"},
    GateAdvice{Gate::distributions,
               "right on ordinary inputs only: look for overflow, cancellation and assumptions on the range "
               "of values"},
    GateAdvice{Gate::shapes,
               "right on some shapes only: look for what assumes that a size is a multiple of a tile or a "
               "vector, or larger than one"},
    GateAdvice{Gate::repeat_bitwise,
               "two calls differ: a race, memory read before it is written, float atomics in changing order, "
               "or state kept between calls; device 'emulator' finds the first two"},
    GateAdvice{
        Gate::weights_only,
        "\"prepare\" is passed weights, prepared workspaces and numbers; what needs another input belongs "
        "in \"launches\""},
    GateAdvice{Gate::prepared_memory,
               "a call only reads prepared workspaces: give it a workspace of its own for what it writes"},
    GateAdvice{Gate::module_reload, kNoState},
    GateAdvice{Gate::fresh_contents, kNoState},
    GateAdvice{Gate::shuffled_batch, kNoState},
    GateAdvice{Gate::timed_outputs, kNoState},
    GateAdvice{Gate::persisting_l2,
               "do not set persisting accesses: the cache is flushed before every timed call"},
    GateAdvice{Gate::floor, kAllWork},
    GateAdvice{Gate::held_out, "right on the listed shapes only: remove what is special to them"},
    GateAdvice{Gate::problem_audit,
               "the problem itself is at fault: its checks accept a mistake; correct its tolerance, "
               "distributions or shapes"},
};

struct StatusAdvice {
  Status status;
  std::string_view advice;
};
constexpr std::array kStatusAdvice{
    StatusAdvice{
        Status::compile_error,
        "correct the first error first, others often follow from it; only the headers under Includes of the "
        "contract are there, and no host code"},
    StatusAdvice{Status::invalid_candidate, "read 'The launch plan' in the contract that show_problem gives"},
    StatusAdvice{Status::timeout, "try depth 'check' or one small shape; less unrolling compiles faster"},
    StatusAdvice{Status::out_of_memory, "less workspace, or fewer template instantiations"},
    StatusAdvice{Status::unsupported, "use another instruction, another arch, or a device that has it"},
    StatusAdvice{Status::below_floor, kAllWork},
    StatusAdvice{Status::invalid_reference, "the problem's reference is at fault, not the kernel"},
    StatusAdvice{Status::interrupted, "evaluate it again"},
    StatusAdvice{Status::infrastructure_error,
                 "not the kernel's fault: evaluate it again; `alphakernel doctor` on the command line checks "
                 "the machine"},
};

}  // namespace

std::string_view advice_for(Gate gate) {
  const auto found = std::ranges::find(kGateAdvice, gate, &GateAdvice::gate);
  return found == kGateAdvice.end() ? "" : found->advice;
}

std::string_view advice_for(Status status) {
  const auto found = std::ranges::find(kStatusAdvice, status, &StatusAdvice::status);
  return found == kStatusAdvice.end() ? "" : found->advice;
}

}  // namespace ak::operations
