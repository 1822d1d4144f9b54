// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/machine/call_chain.h"

namespace ak::emulator {
namespace {

enum class Shape : std::uint8_t {
  access,            ///< one thread touched what it must not
  two_participants,  ///< two threads touched the same bytes
  event,             ///< something happened at an instruction
};

struct KindInfo {
  FaultKind kind;
  std::string_view name;   ///< stored; never renamed
  std::string_view words;  ///< "... read" is appended for accesses
  Shape shape;
  Status status;
  Gate gate;
  std::string_view advice;
};

// A barrier that only some threads reach has the status of a deadlock: that is what it is on most
// devices (CUDA C++ Programming Guide, "Synchronization Functions": "likely to hang or produce
// unintended side effects").
constexpr KindInfo kKinds[] = {
    {FaultKind::out_of_bounds, "out_of_bounds", "out-of-bounds", Shape::access, Status::memory_error,
     Gate::memory_checker,
     "correct the offset, or compare it with the extent of the tensor (of dynamic shared memory: "
     "shared_bytes of "
     "the launch) before the access"},
    {FaultKind::misaligned, "misaligned", "misaligned", Shape::access, Status::memory_error,
     Gate::memory_checker, "an access of n bytes needs an address that is a multiple of n"},
    {FaultKind::uninitialized_read, "uninitialized_read", "uninitialised", Shape::access,
     Status::memory_error, Gate::initialised_reads, "write these bytes before they are read"},
    {FaultKind::wrong_space, "wrong_space", "wrong-address-space", Shape::access, Status::memory_error,
     Gate::memory_checker, "the address belongs to another state space than the instruction"},
    {FaultKind::read_only, "read_only", "forbidden", Shape::access, Status::memory_error, Gate::input_hash,
     "inputs, constants and parameters must not be written"},
    {FaultKind::shared_race, "shared_race", "shared memory race", Shape::two_participants, Status::race,
     Gate::race_detector, "put a barrier between the two accesses, or let them use different bytes"},
    {FaultKind::global_race, "global_race", "global memory race", Shape::two_participants, Status::race,
     Gate::race_detector, "put a barrier between the two accesses, or let one thread own these bytes"},
    {FaultKind::global_conflict, "global_conflict", "conflict between blocks", Shape::two_participants,
     Status::race, Gate::race_detector, "let one block own these bytes, or use atomics"},
    {FaultKind::barrier_divergence, "barrier_divergence", "divergent barrier", Shape::event, Status::hang,
     Gate::barrier_checker, "every thread of the block must reach the same barrier"},
    {FaultKind::async_pending, "async_pending", "use of a pending asynchronous copy", Shape::two_participants,
     Status::race, Gate::race_detector,
     "wait for the copy (a wait that leaves groups pending may leave this one), and synchronise, before its "
     "destination is used"},
    {FaultKind::missing_proxy_fence, "missing_proxy_fence", "missing fence between proxies",
     Shape::two_participants, Status::race, Gate::race_detector,
     "execute fence.proxy.async (after mbarrier.init: fence.mbarrier_init) between the write and the "
     "asynchronous operation"},
    {FaultKind::non_coherent_read, "non_coherent_read", "non-coherent read", Shape::two_participants,
     Status::race, Gate::race_detector,
     "ld.global.nc, __ldg and const __restrict__ pointers are for data that nothing writes during the "
     "launch"},
    {FaultKind::early_access, "early_access", "early", Shape::access, Status::race, Gate::race_detector,
     "execute griddepcontrol.wait (cudaGridDependencySynchronize) before memory that the launch before uses, "
     "or leave pdl out of the launch plan"},
    {FaultKind::register_hazard, "register_hazard", "hazard in registers of wgmma", Shape::event,
     Status::race, Gate::race_detector,
     "put wgmma.fence before the first wgmma and after writes to its registers, and wgmma.wait_group before "
     "its results are used"},
    {FaultKind::cluster_lifetime, "cluster_lifetime", "shared memory of a block that may not be there",
     Shape::access, Status::memory_error, Gate::memory_checker,
     "put a cluster barrier before the first access to another block's shared memory, and one after the "
     "last"},
    {FaultKind::deadlock, "deadlock", "deadlock", Shape::event, Status::hang, Gate::barrier_checker,
     "every thread that a barrier waits for must reach it"},
    {FaultKind::instruction_budget, "instruction_budget", "no end in sight", Shape::event, Status::hang,
     Gate::hang_watchdog,
     "check that every loop ends, and that each phase of an mbarrier gets the arrivals and bytes that it "
     "waits for, and is waited for with its own parity"},
    {FaultKind::assertion, "assertion", "failed assertion", Shape::event, Status::launch_error,
     Gate::launch_errors, "the condition asserted in the kernel does not hold"},
    {FaultKind::trap, "trap", "trap", Shape::event, Status::launch_error, Gate::launch_errors,
     "the kernel stopped itself: find what it checks there"},
    {FaultKind::inactive_lane, "inactive_lane", "value of an inactive lane", Shape::event,
     Status::memory_error, Gate::initialised_reads,
     "read only from lanes that execute the shuffle and that its mask names"},
    {FaultKind::stack_overflow, "stack_overflow", "stack overflow", Shape::event, Status::memory_error,
     Gate::memory_checker, "bound the depth of the recursion, or use a loop"},
    {FaultKind::invalid_operand, "invalid_operand", "invalid operand", Shape::event, Status::launch_error,
     Gate::launch_errors, "see the PTX ISA on what the instruction demands"},
};

const KindInfo& info_of(FaultKind kind) {
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const KindInfo& k) { return k.kind == kind; });
  AK_ASSERT(found != std::end(kKinds), "every kind of fault is described");
  return *found;
}

/// Locations of `op` from the innermost outwards, until `visit` returns true.
template <class Visit>
void walk_locations(const Program& program, Index op, Visit visit) {
  if (op >= program.facts.size()) return;
  Index at = program.facts[op].location;
  // Bounded: a cycle in hostile debug information must end.
  for (std::size_t steps = 0; at < program.locations.size() && steps <= program.locations.size(); ++steps) {
    const SourceLocation& location = program.locations[at];
    if (visit(location)) return;
    at = location.inlined_at;
  }
}

bool same_line(const Program& program, Index a, Index b) {
  if (a == b) return true;
  struct Ends {
    Index inner_file = kNone, outer_file = kNone;
    int inner_line = 0, outer_line = 0;
    bool operator==(const Ends&) const = default;
  };
  const auto ends = [&](Index op) {
    Ends found;
    walk_locations(program, op, [&](const SourceLocation& location) {
      if (found.inner_file == kNone) found.inner_file = location.file, found.inner_line = location.line;
      found.outer_file = location.file;
      found.outer_line = location.line;
      return false;
    });
    return found;
  };
  const Ends at_a = ends(a);
  return at_a.inner_line != 0 && at_a == ends(b);
}

std::string plural(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string coordinates(const std::array<std::uint32_t, 3>& at) {
  return fmt::format("({},{},{})", at[0], at[1], at[2]);
}

std::string thread_text(const Participant& participant) {
  if (!participant.thread_known) return "block " + coordinates(participant.block);
  return fmt::format("thread {} of block {}", coordinates(participant.thread),
                     coordinates(participant.block));
}

/// The other of two parties: its block is not said twice.
std::string other_thread_text(const Finding& finding) {
  const Participant& other = *finding.other;
  if (!other.thread_known && other.block == finding.first.block) return "another thread";
  return other.block == finding.first.block ? "thread " + coordinates(other.thread) : thread_text(other);
}

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool is_own(const Program& program, const SourceLocation& location, const std::string& own_file) {
  return !own_file.empty() && location.file < program.files.size() &&
         program.files[location.file].ends_with(own_file);
}

/// ", inlined at line 19": where in the own file functions are inlined that the place is in, outwards.
std::string inlined_text(const Program& program, Index op, const std::string& own_file) {
  constexpr int kMaxLines = 3;  // chosen: a wait, in a step, in a loop over tiles
  std::string words;
  int inner = 0, lines = 0;
  walk_locations(program, op, [&](const SourceLocation& location) {
    if (!is_own(program, location, own_file) || location.line == inner) return false;
    if (inner != 0)
      words += fmt::format("{} at line {}", words.empty() ? ", inlined" : ", that", location.line);
    inner = location.line;
    return ++lines > kMaxLines;
  });
  return words;
}

std::string place_text(const Program& program, Index op, const std::string& own_file) {
  const Place place = place_of(program, op, own_file);
  if (place.line > 0)
    return fmt::format("{}:{}:{}{}: ", base_name(place.file), place.line, place.column,
                       inlined_text(program, op, own_file));
  if (op >= program.facts.size()) return {};
  return fmt::format("PTX line {} ({}): ", program.facts[op].ptx_line, program.facts[op].spelling);
}

/// Where the other party's instruction is, seen from the first one.
std::string at_line(const Program& program, Index op, const std::string& own_file) {
  const Place place = place_of(program, op, own_file);
  if (place.line > 0) return fmt::format(" at line {}", place.line);
  if (op >= program.facts.size()) return {};
  return fmt::format(" at PTX line {}", program.facts[op].ptx_line);
}

std::string where_text(const Finding& finding) {
  if (finding.buffer.empty()) return fmt::format("at address 0x{:x}", finding.address);
  return fmt::format("at byte {} of {}", finding.byte_offset, finding.buffer);
}

std::string bounds_text(const Finding& finding) {
  if (finding.buffer.empty()) return ", where no buffer is";
  const auto size = static_cast<std::int64_t>(finding.buffer_bytes);
  std::string words = fmt::format(", which is {} long", plural(finding.buffer_bytes, "byte"));
  if (finding.byte_offset < 0)
    return words + fmt::format(" ({} before its start)",
                               plural(static_cast<std::uint64_t>(-finding.byte_offset), "byte"));
  if (finding.byte_offset >= size)
    return words + fmt::format(" ({} past its end)",
                               plural(static_cast<std::uint64_t>(finding.byte_offset - size), "byte"));
  if (finding.byte_offset + finding.access_bytes > size)
    return words + fmt::format(" (the last {} lie past its end)",
                               plural(static_cast<std::uint64_t>(finding.byte_offset) + finding.access_bytes -
                                          finding.buffer_bytes,
                                      "byte"));
  return words;
}

std::string access_text(const Finding& finding, const KindInfo& kind) {
  std::string words = fmt::format("{} {}: {} {} {} {}", kind.words, finding.first.write ? "write" : "read",
                                  thread_text(finding.first), finding.first.write ? "writes" : "reads",
                                  plural(finding.access_bytes, "byte"), where_text(finding));
  if (kind.kind == FaultKind::out_of_bounds) words += bounds_text(finding);
  if (kind.kind == FaultKind::uninitialized_read) words += ", which nothing has written";
  if (kind.kind == FaultKind::misaligned)
    words +=
        fmt::format(", whose address 0x{:x} is not a multiple of {}", finding.address, finding.access_bytes);
  return words;
}

std::string missing_text(FaultKind kind) {
  if (kind == FaultKind::shared_race || kind == FaultKind::global_race) return " with no barrier between";
  return kind == FaultKind::global_conflict ? " with nothing that orders the two blocks" : "";
}

bool is_multiplication(const Program& program, Index op) {
  return op < program.facts.size() && program.facts[op].kind == InstructionClass::tensor;
}

std::string pair_words(const Program& program, const Finding& finding, const KindInfo& kind,
                       const std::string& own_file) {
  std::string words = fmt::format("{}: {} {} {} {}", kind.words, thread_text(finding.first),
                                  finding.first.write ? "writes" : "reads",
                                  plural(finding.access_bytes, "byte"), where_text(finding));
  if (!finding.other) return words;
  const Participant& other = *finding.other;
  const std::string line = at_line(program, other.op, own_file);
  const std::string reader = other_thread_text(finding);
  if (kind.kind == FaultKind::async_pending && !other.write)
    return words + fmt::format(", from which the {} that {} started{} may still be reading",
                               is_multiplication(program, other.op) ? "wgmma" : "copy", reader, line);
  if (kind.kind == FaultKind::missing_proxy_fence)
    return words + fmt::format(" asynchronously that {} writes{} with no proxy fence between", reader, line);
  if (kind.kind == FaultKind::non_coherent_read)
    return words + fmt::format(" through a cache that does not see what {} writes{} in the same launch",
                               reader, line);
  if (kind.kind == FaultKind::async_pending)
    return words + fmt::format(", to which the copy that {} started{} may still be writing",
                               other_thread_text(finding), line);
  return words + fmt::format(" that {} {}{}{}", other_thread_text(finding), other.write ? "writes" : "reads",
                             line, missing_text(kind.kind));
}

std::string sentence(const Program& program, const Finding& finding, const std::string& own_file) {
  const KindInfo& kind = info_of(finding.kind);
  // Faults found without the checker carry no buffer and no size: only their detail says what was touched.
  const bool sized = finding.access_bytes > 0;
  if (sized && kind.shape == Shape::access) return access_text(finding, kind);
  if (sized && kind.shape == Shape::two_participants) return pair_words(program, finding, kind, own_file);
  return fmt::format("{}: {}", kind.words, thread_text(finding.first));
}

Json to_json(const Program& program, const Participant& participant, const std::string& own_file) {
  const Place place = place_of(program, participant.op, own_file);
  Json json{{"block", participant.block},
            {"thread", participant.thread},
            {"thread_known", participant.thread_known},
            {"write", participant.write},
            {"file", place.file},
            {"line", place.line},
            {"column", place.column},
            {"instruction", nullptr},
            {"ptx_line", nullptr}};
  if (participant.op < program.facts.size()) {
    json["instruction"] = program.facts[participant.op].spelling;
    json["ptx_line"] = program.facts[participant.op].ptx_line;
  }
  return json;
}

}  // namespace

Gate gate_of(FaultKind kind) { return info_of(kind).gate; }

std::string_view to_string(FaultKind kind) { return info_of(kind).name; }

namespace {

/// Counts it with the one of its kind and line, if that is known.
void keep(const Program& program, std::vector<Finding>& all, Finding finding, std::uint64_t times) {
  for (Finding& known : all) {
    if (known.kind != finding.kind || !same_line(program, known.first.op, finding.first.op)) continue;
    known.times += times;
    return;
  }
  if (all.size() >= Findings::kMaxDistinct) return;
  finding.times = times;
  all.push_back(std::move(finding));
}

Diagnostic diagnostic_of(const Program& program, const Finding& finding, std::string severity,
                         std::string message, const std::string& own_file) {
  const Place place = place_of(program, finding.first.op, own_file);
  return {
      .severity = std::move(severity),
      .message = std::move(message),
      .line = place.line,
      .column = place.column,
      .details = to_json(program, finding, own_file).dump(-1, ' ', false, Json::error_handler_t::replace)};
}

/// What may repair it. No barrier helps where threads meet at one statement.
std::string_view advice_on(const Program& program, const Finding& finding) {
  const bool race = finding.kind == FaultKind::shared_race || finding.kind == FaultKind::global_race;
  if (race && finding.other && finding.first.write && finding.other->write &&
      same_line(program, finding.first.op, finding.other->op))
    return "let one thread own these bytes: both execute this statement; in a loop, a barrier after it may "
           "be missing";
  return info_of(finding.kind).advice;
}

}  // namespace

void Findings::add(Finding finding, std::uint64_t times) {
  if (!gate_enabled(info_of(finding.kind).gate)) return;
  keep(*program_, findings_, std::move(finding), times);
}

void Findings::note(Finding finding, std::uint64_t times) {
  keep(*program_, notes_, std::move(finding), times);
}

Place place_of(const Program& program, Index op, const std::string& own_file) {
  const SourceLocation* found = nullptr;
  walk_locations(program, op, [&](const SourceLocation& location) {
    found = &location;
    return is_own(program, location, own_file);
  });
  if (found == nullptr) return {};
  return {.file = found->file < program.files.size() ? program.files[found->file] : std::string{},
          .line = found->line,
          .column = found->column};
}

std::string describe(const Program& program, const Finding& finding, const std::string& own_file) {
  std::string words = place_text(program, finding.first.op, own_file) + sentence(program, finding, own_file);
  if (!finding.detail.empty()) words += ": " + finding.detail;
  if (!finding.calls.empty())
    words += "; " + describe_calls(program, finding.first.op, finding.calls, own_file);
  if (finding.times > 1) words += fmt::format("; this happened {} times", finding.times);
  return words;
}

Json to_json(const Program& program, const Finding& finding, const std::string& own_file) {
  Json json{{"kind", to_string(finding.kind)},
            {"first", to_json(program, finding.first, own_file)},
            {"other", nullptr},
            {"buffer", finding.buffer},
            {"byte_offset", finding.byte_offset},
            {"buffer_bytes", finding.buffer_bytes},
            {"access_bytes", finding.access_bytes},
            {"address", finding.address},
            {"detail", finding.detail},
            {"calls", calls_to_json(program, finding.first.op, finding.calls, own_file)},
            {"times", finding.times},
            {"advice", advice_on(program, finding)},
            {"message", describe(program, finding, own_file)}};
  if (finding.other) json["other"] = to_json(program, *finding.other, own_file);
  return json;
}

Outcome to_outcome(const Program& program, const Findings& findings, StageId stage,
                   const std::string& own_file) {
  if (findings.empty()) return {.status = Status::ok, .stage = stage, .message = {}, .diagnostics = {}};
  Outcome outcome{.status = info_of(findings.all().front().kind).status,
                  .stage = stage,
                  .message = {},
                  .diagnostics = {},
                  .gate = info_of(findings.all().front().kind).gate};
  for (const Finding& finding : findings.all()) {
    const std::string message =
        describe(program, finding, own_file) + ". To do: " + std::string(advice_on(program, finding));
    outcome.diagnostics.push_back(diagnostic_of(program, finding, "error", message, own_file));
  }
  for (const Finding& note : findings.notes())
    outcome.diagnostics.push_back(
        diagnostic_of(program, note, "note", describe(program, note, own_file), own_file));
  outcome.message = outcome.diagnostics.front().message;
  return outcome;
}

}  // namespace ak::emulator
