// SPDX-License-Identifier: Apache-2.0
#include "core/gate.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace ak {
namespace {

// In the order of Gate, which info() relies on and gate_test checks.
constexpr std::array kGates{
    GateInfo{Gate::source_rules, "source_rules", GateDevices::both,
             "a candidate is device code and a launch plan: no host code, no names that the problem lacks"},
    GateInfo{Gate::includes, "includes", GateDevices::both,
             "a candidate includes headers of the CUDA toolkit and no other file of the machine"},
    GateInfo{Gate::compile_limits, "compile_limits", GateDevices::both,
             "compiling ends within limits of time, memory and size, in its own process"},
    GateInfo{Gate::untrusted_text, "untrusted_text", GateDevices::both,
             "names, prints and compiler messages are data: control characters are stripped and length is "
             "capped"},
    GateInfo{Gate::precision, "precision", GateDevices::both,
             "arithmetic is in the precision of the problem's tensors and parameters or better"},
    GateInfo{Gate::plan_bounds, "plan_bounds", GateDevices::both,
             "on every workload the launch plan has values within its limits and launches something"},
    GateInfo{Gate::argument_types, "argument_types", GateDevices::both,
             "arguments match the kernel's parameters in number, type and size"},
    GateInfo{Gate::resources, "resources", GateDevices::both,
             "threads, registers, shared memory and clusters fit the device"},
    GateInfo{Gate::context_limits, "context_limits", GateDevices::gpu,
             "printf and malloc on the device have 1 MiB each"},
    GateInfo{Gate::private_protocol, "private_protocol", GateDevices::both,
             "results travel on a separate descriptor under a nonce; what a kernel prints is never parsed"},
    GateInfo{
        Gate::launch_errors, "launch_errors", GateDevices::both,
        "every launch and every wait is checked: a trap, a failed assertion or a refused launch ends the "
        "evaluation"},
    GateInfo{Gate::hang_watchdog, "hang_watchdog", GateDevices::both,
             "a kernel that does not end is stopped, and its process with it"},
    GateInfo{Gate::unmapped_reference, "unmapped_reference", GateDevices::both,
             "reference results are not mapped while candidate code runs; touching what is not mapped ends "
             "the launch"},
    GateInfo{Gate::memory_checker, "memory_checker", GateDevices::cpu,
             "every access is within the buffers a kernel was given, aligned and in the right space"},
    GateInfo{Gate::initialised_reads, "initialised_reads", GateDevices::cpu,
             "no value that nothing wrote decides, addresses or is stored"},
    GateInfo{Gate::race_detector, "race_detector", GateDevices::cpu,
             "threads that use the same memory are ordered by barriers, fences or atomics"},
    GateInfo{Gate::barrier_checker, "barrier_checker", GateDevices::cpu,
             "all threads that a barrier waits for reach it"},
    GateInfo{Gate::poison, "poison", GateDevices::both,
             "outputs and workspace hold a poison pattern before every call, and no output does afterwards"},
    GateInfo{
        Gate::guard_bands, "guard_bands", GateDevices::gpu,
        "guard pattern of 64 KiB or more on both sides of every buffer stays as it was, and so does what the "
        "harness or another program keeps between calls"},
    GateInfo{Gate::input_hash, "input_hash", GateDevices::both,
             "inputs hold after a call what they held before"},
    GateInfo{Gate::tolerance, "tolerance", GateDevices::both,
             "every element is within the tolerance derived from the exact reference and its twin"},
    GateInfo{Gate::non_finite, "non_finite", GateDevices::both,
             "NaN and infinity are where the reference has them and nowhere else"},
    GateInfo{Gate::distributions, "distributions", GateDevices::both,
             "results are right under every input distribution of the problem"},
    GateInfo{Gate::shapes, "shapes", GateDevices::both,
             "results are right on further shapes than the timed ones: odd, prime, 1, next to tile edges"},
    GateInfo{Gate::repeat_bitwise, "repeat_bitwise", GateDevices::both,
             "a second call on the same inputs, in other buffers, is right and gives the same bytes"},
    GateInfo{
        Gate::weights_only, "weights_only", GateDevices::both,
        "what prepares weights is given weights and prepared memory, and runs while no other input holds "
        "its contents"},
    GateInfo{Gate::prepared_memory, "prepared_memory", GateDevices::both,
             "prepared memory holds after a call what preparation left there"},
    GateInfo{Gate::module_reload, "module_reload", GateDevices::both,
             "a program is loaded again for every distribution and for timing: nothing kept in it survives"},
    GateInfo{Gate::fresh_contents, "fresh_contents", GateDevices::both,
             "timed calls get contents that no call before has seen"},
    GateInfo{Gate::shuffled_batch, "shuffled_batch", GateDevices::gpu,
             "timed calls run over distinct inputs in an order and a number that no kernel can know"},
    GateInfo{Gate::timed_outputs, "timed_outputs", GateDevices::both,
             "outputs of timed calls are compared with the reference too"},
    GateInfo{Gate::persisting_l2, "persisting_l2", GateDevices::gpu,
             "lines that a kernel marked as persisting in the L2 cache are reset before timing"},
    GateInfo{Gate::floor, "floor", GateDevices::gpu,
             "no time is below what the traffic and the operations of the problem take at data-sheet peaks"},
    GateInfo{Gate::held_out, "held_out", GateDevices::both,
             "the best candidate of a search is right on shapes drawn when the search has ended"},
    GateInfo{Gate::problem_audit, "problem_audit", GateDevices::both,
             "the checks of a problem reject zeros, constants, copies, skipped stages, lower precision and "
             "ignored parts of inputs"},
};

}  // namespace

std::span<const GateInfo> gates() { return kGates; }

const GateInfo& info(Gate gate) {
  const auto index = static_cast<std::size_t>(gate);
  AK_ASSERT(index < kGates.size() && kGates[index].gate == gate, "every Gate has its row in kGates");
  return kGates[index];
}

std::string_view to_string(Gate gate) { return info(gate).name; }

std::string_view to_string(GateDevices devices) {
  constexpr std::array<std::string_view, 3> kNames{"GPU and CPU device", "GPU", "CPU device"};
  return kNames[static_cast<std::size_t>(devices)];
}

std::optional<Gate> parse_gate(std::string_view name) {
  const auto found = std::ranges::find(kGates, name, &GateInfo::name);
  return found == kGates.end() ? std::nullopt : std::optional(found->gate);
}

}  // namespace ak
