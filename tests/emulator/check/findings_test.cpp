// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/findings.h"

#include <catch2/catch.hpp>

namespace ak::emulator {
namespace {

/// Op 0: line 41; op 1: line 52; op 2: in a header, inlined at line 60; op 3: without debug information.
Program program_with_lines() {
  Program program;
  program.files = {"", "build/softmax.cu", "include/helpers.h"};
  program.locations = {{.file = 1, .line = 41, .column = 17, .inlined_at = kNone},
                       {.file = 1, .line = 52, .column = 5, .inlined_at = kNone},
                       {.file = 2, .line = 7, .column = 3, .inlined_at = 3},
                       {.file = 1, .line = 60, .column = 9, .inlined_at = kNone}};
  program.code.resize(4);
  program.facts.resize(4);
  for (Index i = 0; i < 3; ++i) program.facts[i].location = i;
  program.facts[3].spelling = "ld.global.f32";
  program.facts[3].ptx_line = 12;
  return program;
}

Finding overrun() {
  Finding finding;
  finding.kind = FaultKind::out_of_bounds;
  finding.first = {.block = {3, 0, 0}, .thread = {31, 0, 0}, .op = 0};
  finding.buffer = "input 'x'";
  finding.byte_offset = 4096;
  finding.buffer_bytes = 4096;
  finding.access_bytes = 4;
  return finding;
}

Finding race() {
  Finding finding;
  finding.kind = FaultKind::shared_race;
  finding.first = {.block = {1, 0, 0}, .thread = {40, 0, 0}, .write = true, .op = 0};
  finding.other = Participant{.block = {1, 0, 0}, .thread = {5, 0, 0}, .op = 1};
  finding.buffer = "shared 'tile'";
  finding.byte_offset = 128;
  finding.access_bytes = 4;
  return finding;
}

TEST_CASE("an out-of-bounds access says who, where, and by how much", "[findings]") {
  const Program program = program_with_lines();
  Finding finding = overrun();
  finding.times = 32;
  CHECK(describe(program, finding) ==
        "softmax.cu:41:17: out-of-bounds read: thread (31,0,0) of block (3,0,0) reads 4 bytes at byte 4096 "
        "of input 'x', which is 4096 bytes long (0 bytes past its end); this happened 32 times");
  finding.byte_offset = -8;
  finding.first.write = true;
  finding.times = 1;
  CHECK(describe(program, finding) ==
        "softmax.cu:41:17: out-of-bounds write: thread (31,0,0) of block (3,0,0) writes 4 bytes at byte -8 "
        "of input 'x', which is 4096 bytes long (8 bytes before its start)");
  finding.byte_offset = 4090;
  finding.access_bytes = 16;
  CHECK_THAT(describe(program, finding), Catch::Contains("(the last 10 bytes lie past its end)"));
  finding.buffer.clear();
  finding.address = 0x10;
  CHECK_THAT(describe(program, finding), Catch::Contains("at address 0x10, where no buffer is"));
}

TEST_CASE("a race names both threads and both lines", "[findings]") {
  CHECK(
      describe(program_with_lines(), race()) ==
      "softmax.cu:41:17: shared memory race: thread (40,0,0) of block (1,0,0) writes 4 bytes at byte 128 of "
      "shared 'tile' that thread (5,0,0) reads at line 52 with no barrier between");
}

TEST_CASE("a hazard of an asynchronous operation names it and what is missing", "[findings]") {
  Program program = program_with_lines();
  Finding finding = race();
  finding.kind = FaultKind::async_pending;
  CHECK_THAT(describe(program, finding),
             Catch::Contains("writes 4 bytes at byte 128 of shared 'tile', from which the copy that thread "
                             "(5,0,0) started at line 52 may still be reading"));
  program.facts[1].kind = InstructionClass::tensor;
  CHECK_THAT(describe(program, finding), Catch::Contains("from which the wgmma that thread"));
  finding.other->write = true;
  CHECK_THAT(describe(program, finding), Catch::Contains("may still be writing"));
  finding.kind = FaultKind::missing_proxy_fence;
  finding.first.write = false;
  CHECK_THAT(
      describe(program, finding),
      Catch::Contains("reads 4 bytes at byte 128 of shared 'tile' asynchronously that thread (5,0,0) writes "
                      "at line 52 with no proxy fence between"));
  finding.kind = FaultKind::non_coherent_read;
  CHECK_THAT(describe(program, finding),
             Catch::Contains("through a cache that does not see what thread (5,0,0) writes at line 52"));
}

TEST_CASE("a conflict with an unknown thread names its block", "[findings]") {
  Finding finding = race();
  finding.kind = FaultKind::global_conflict;
  finding.buffer = "output 'y'";
  finding.other = Participant{.block = {2, 1, 0}, .thread_known = false, .write = true, .op = 1};
  CHECK_THAT(describe(program_with_lines(), finding),
             Catch::Contains("that block (2,1,0) writes at line 52 with nothing that orders the two blocks"));
}

TEST_CASE("a fault without an access says its detail", "[findings]") {
  Finding finding;
  finding.kind = FaultKind::assertion;
  finding.first = {.block = {0, 0, 0}, .thread = {1, 2, 0}, .op = 3};
  finding.detail = "assertion `i < n' failed";
  CHECK(describe(program_with_lines(), finding) ==
        "PTX line 12 (ld.global.f32): failed assertion: thread (1,2,0) of block (0,0,0): assertion `i < n' "
        "failed");
}

TEST_CASE("places follow inlining outwards to the user's own file", "[findings]") {
  const Program program = program_with_lines();
  CHECK(place_of(program, 2).line == 60);
  CHECK(place_of(program, 2, "helpers.h").line == 7);
  CHECK(place_of(program, 2, "softmax.cu").line == 60);
  CHECK(place_of(program, 2, "softmax.cu").file == "build/softmax.cu");
  CHECK(place_of(program, 2, "other.cu").line == 60);
  CHECK(place_of(program, 3).line == 0);
  CHECK(place_of(program, 99).line == 0);
  CHECK(place_of(program, kNone).line == 0);
}

TEST_CASE("a cycle in the debug information ends", "[findings]") {
  Program program = program_with_lines();
  program.locations[3].inlined_at = 2;
  CHECK(place_of(program, 2).line > 0);
}

TEST_CASE("findings of one kind at one line are counted, others are kept up to a bound", "[findings]") {
  const Program program = program_with_lines();
  Findings findings(program);
  CHECK(findings.empty());
  findings.add(overrun(), 32);
  findings.add(overrun(), 10);
  REQUIRE(findings.all().size() == 1);
  CHECK(findings.all().front().times == 42);
  findings.add(race());
  Finding elsewhere = overrun();
  elsewhere.first.op = 1;
  findings.add(elsewhere);
  CHECK(findings.all().size() == 3);
  CHECK_FALSE(findings.full());
  for (const FaultKind kind : {FaultKind::trap, FaultKind::deadlock, FaultKind::assertion,
                               FaultKind::misaligned, FaultKind::read_only, FaultKind::wrong_space}) {
    Finding finding = overrun();
    finding.kind = kind;
    findings.add(finding);
  }
  CHECK(findings.full());
  CHECK(findings.all().size() == Findings::kMaxDistinct);
}

TEST_CASE("JSON holds every field of a finding", "[findings]") {
  const Json json = to_json(program_with_lines(), race());
  CHECK(json["kind"] == "shared_race");
  CHECK(json["first"]["thread"] == Json({40, 0, 0}));
  CHECK(json["first"]["write"] == true);
  CHECK(json["first"]["line"] == 41);
  CHECK(json["other"]["line"] == 52);
  CHECK(json["buffer"] == "shared 'tile'");
  CHECK(json["byte_offset"] == 128);
  CHECK(json["times"] == 1);
  CHECK_THAT(json["message"].get<std::string>(), Catch::Contains("no barrier between"));
}

TEST_CASE("the first finding decides the outcome and all are diagnostics", "[findings]") {
  const Program program = program_with_lines();
  Findings findings(program);
  CHECK(to_outcome(program, findings, StageId::check).status == Status::ok);
  findings.add(race());
  findings.add(overrun());
  const Outcome outcome = to_outcome(program, findings, StageId::check);
  CHECK(outcome.status == Status::race);
  CHECK(outcome.stage == StageId::check);
  CHECK_THAT(outcome.message, Catch::Contains("put a barrier between"));
  REQUIRE(outcome.diagnostics.size() == 2);
  CHECK(outcome.diagnostics[1].line == 41);
  CHECK(outcome.diagnostics[1].column == 17);
  CHECK(outcome.diagnostics[1].severity == "error");
}

TEST_CASE("threads that write the same bytes in one statement are told that no barrier helps", "[findings]") {
  const Program program = program_with_lines();
  Finding own = race();
  own.first.write = true;
  REQUIRE(own.other);
  own.other->op = own.first.op;
  own.other->write = true;
  Findings findings(program);
  findings.add(own);
  const std::string message = to_outcome(program, findings, StageId::check).message;
  CHECK_THAT(message, Catch::Contains("let one thread own these bytes"));
  CHECK_THAT(message, !Catch::Contains("put a barrier between"));
}

TEST_CASE("every kind of fault has a name, a sentence and a status of a failed candidate", "[findings]") {
  const Program program = program_with_lines();
  for (int i = 0; i <= static_cast<int>(FaultKind::invalid_operand); ++i) {
    Findings findings(program);
    Finding finding = overrun();
    finding.kind = static_cast<FaultKind>(i);
    findings.add(finding);
    CHECK_FALSE(to_string(finding.kind).empty());
    CHECK_THAT(describe(program, finding), Catch::StartsWith("softmax.cu:41:17: "));
    CHECK(info(to_outcome(program, findings, StageId::check).status).candidate_fault);
  }
}

}  // namespace
}  // namespace ak::emulator
