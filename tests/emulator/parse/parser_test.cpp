// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace {

using namespace ak;
using namespace ak::emulator;

constexpr std::string_view kHeader = ".version 9.0\n.target sm_90a\n.address_size 64\n";

Module parse_good(std::string_view rest) {
  const std::string text = std::string(kHeader).append(rest);
  Result<Module> module = parse(text);
  if (!module) FAIL("line " << module.error().line << ": " << module.error().message << "\n" << text);
  return std::move(module).value();
}

InputError parse_bad(std::string_view rest) {
  const Result<Module> module = parse(std::string(kHeader).append(rest));
  if (module) FAIL("accepted: " << rest);
  return module.error();
}

/// The function around a body that may use %r0-%r9, %rd0-%rd9, %f0-%f9, %p0-%p9 and %rs0-%rs9.
Function parse_body(std::string_view body) {
  const Module module = parse_good(std::string(R"(.global .align 4 .b8 table[64];
.func (.param .b32 result) callee(.param .b32 a, .param .b64 b) ;
.visible .entry kernel(.param .u64 kernel_param_0)
{
.reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .f32 %f<10>; .reg .pred %p<10>; .reg .b16 %rs<10>;
)")
                                       .append(body)
                                       .append("\n}\n"));
  return module.functions.back();
}

Instruction parse_one(std::string_view text) {
  static std::deque<Function> kept;  // which has the words of its instructions
  const Function& function = kept.emplace_back(parse_body(text));
  REQUIRE(function.instructions.size() == 1);
  return function.instructions[0];
}

std::string register_name(const Function& function, const Operand& operand) {
  REQUIRE(operand.kind == OperandKind::reg);
  return function.registers.at(operand.index).name();
}

constexpr std::string_view kKernel = R"(
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.const .align 4 .b8 tab[16] = {0, 0, 192, 63, 0, 0, 0, 64, 0, 0, 64, 64, 0, 0, 128, 192};
.global .align 8 .u64 s[4] = {3, generic(tab)+4, 4607182418800017408, 4611686018427387904};
.extern .shared .align 16 .b8 dyn[];

	// .globl	k
.visible .entry k(
	.param .u64 .ptr .global .align 16 k_param_0,
	.param .align 8 .b8 k_param_1[32]
)
.maxntid 256, 1, 1
.minnctapersm 2
{
	.local .align 8 .b8 	__local_depot1[16];
	.reg .b64 	%SP;
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<6>;
	.loc	1 12 0
	ld.param.u64 	%rd1, [k_param_0];
	mov.u64 	%SP, __local_depot1;
	.loc	1 14 3
	mov.u32 	%r1, %tid.x;
	.loc	2 637 5, function_name $L__info_string0, inlined_at 1 14 3
	ld.global.v2.u32 	{%r2, _}, [%rd1+4];
	{ // callseq 0, 0
	.reg .b32 temp_param_reg;
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd1;
	.param .b32 retval0;
	call.uni (retval0),
	vprintf,
	(
	param0,
	param0
	);
	ld.param.b32 	%r4, [retval0+0];
	} // callseq 0
	setp.lt.s32 	%p1|%p2, %r1, -5;
	@!%p1 bra 	$L__BB0_2;
	st.shared::cta.b32 	[dyn+-8], %r2;
$L__BB0_2:
	ret;
}
	.file	1 "/src/a.cu"
	.file	2 "/src/b.cuh"
	.section	.debug_str
	{
$L__info_string0:
.b8 95,90,0
	}
)";

TEST_CASE("A kernel as the compiler writes it is read with its parameters, bounds and places") {
  const Module module = parse_good(kKernel);
  CHECK(module.version == "9.0");
  CHECK(module.target == "sm_90a");
  REQUIRE(module.files.size() == 3);
  CHECK(module.files[2] == "/src/b.cuh");
  REQUIRE(module.functions.size() == 2);
  CHECK(module.functions[0].is_extern);
  const Function& kernel = module.functions[1];
  CHECK(kernel.entry);
  CHECK(kernel.maximum_threads == std::array<std::uint32_t, 3>{256, 1, 1});
  CHECK(kernel.required_threads == std::array<std::uint32_t, 3>{});
  REQUIRE(kernel.parameters.size() == 2);
  CHECK(kernel.parameters[0].pointer_alignment);
  CHECK(kernel.parameters[0].bytes == 8);
  CHECK(kernel.parameters[0].alignment == 8);
  CHECK(kernel.parameters[1].bytes == 32);
  CHECK(kernel.parameters[1].alignment == 8);
  REQUIRE(kernel.instructions.size() == 11);
  const Instruction& inlined = kernel.instructions[3];
  CHECK(inlined.spelling() == "ld.global.v2.u32");
  const SourceLocation& place = module.locations.at(inlined.location);
  CHECK(place.file == 2);
  CHECK(place.line == 637);
  CHECK(place.column == 5);
  const SourceLocation& caller = module.locations.at(place.inlined_at);
  CHECK(caller.file == 1);
  CHECK(caller.line == 14);
  CHECK(caller.inlined_at == kNone);
  CHECK(place.inlined_at == kernel.instructions[2].location);
  CHECK(kernel.instructions[0].ptx_line == 29);
}

TEST_CASE("A source location is one token, which ends where its grammar does") {
  const auto kinds = [](std::string_view text) {
    std::vector<TokenKind> found;
    for (const Token& token : TokenizedText(text).tokens) found.push_back(token.kind);
    return found;
  };
  using enum TokenKind;
  CHECK(kinds(".loc 1 12 0 ret;") == std::vector{location, word, punctuation, end});
  CHECK(kinds(".loc\t2 637 5, // of\n function_name $L__info + 4,\n inlined_at 1 14 3\nret;") ==
        std::vector{location, word, punctuation, end});
  CHECK(kinds(".loc 1 2 3, mul") == std::vector{location, word, end});
  CHECK(kinds(".loc .loc 1 \"") == std::vector{location, location, bad});
  CHECK(kinds(".local") == std::vector{dotted, end});
}

std::string shown(std::string_view text) {
  std::string all;
  for (const Token& token : TokenizedText(text).tokens) {
    constexpr std::string_view kLetters = "$!wdirspl";
    all += fmt::format("{}{}{}:{}", token.glued ? "" : " ", kLetters[static_cast<std::size_t>(token.kind)],
                       token.line, token.text);
    if (token.kind == TokenKind::integer)
      all += fmt::format("={}{}", token.bits, token.is_unsigned ? "u" : "");
  }
  return all;
}

TEST_CASE("Tokens end where they do, whatever is around them") {
  const std::string nul("a\0b", 3), long_name(100'000, 'x');
  const std::vector<std::pair<std::string, std::string>> texts{
      {"", " $1:"},
      {"ret", " w1:ret$1:"},
      {"a//b\r\nc // d", " w1:a w2:c $2:"},
      {"a/*\n*/b/**/c/", " w1:a w2:b w2:cp2:/$2:"},
      {"a /* b", " w1:a !1:a comment does not end"},
      {"a / *b", " w1:a p1:/ p1:*w1:b$1:"},
      {"\"a // b\"c", " s1:a // bw1:c$1:"},
      {"\"a\nb\"", " !1:a string does not end"},
      {"\"a", " !1:a string does not end"},
      {nul, " w1:a!1:a character that PTX does not have"},
      {"\xC3\xA9", " !1:a character that PTX does not have"},
      {"%r1 % 2 %", " w1:%r1 p1:% i1:2=2 p1:%$1:"},
      {".a::b.c::.d ..", " d1:a::bd1:cp1::p1::d1:d !1:a dot without a name"},
      {"<<=>==&&&||!", " p1:<<p1:=p1:>=p1:=p1:&&p1:&p1:||p1:!$1:"},
      {"0 7U 017 0x1F 0b11u 09", " i1:0=0 i1:7U=7u i1:017=15 i1:0x1F=31 i1:0b11u=3u !1:a malformed integer"},
      {"999999999999999999 18446744073709551615",
       " i1:999999999999999999=999999999999999999 i1:18446744073709551615=18446744073709551615u$1:"},
      {"18446744073709551616", " !1:an integer does not fit into 64 bits"},
      {"1a", " !1:a malformed integer"},
      {"0x", " !1:a malformed integer"},
      {"0f3F800000 0d3FF0000000000000 1.5 2e3", " r1:0f3F800000 r1:0d3FF0000000000000 r1:1.5 r1:2e3$1:"},
      {"0f3F8", " !1:a malformed floating-point constant"},
      {"0f3F8000000", " !1:a malformed floating-point constant"},
      {".loc 1 2 3 4", " l1:loc 1 2 3 i1:4=4$1:"},
      {".loc 1 0x2, 5", " l1:loc 1 0x2, i1:5=5$1:"},
      {".loc 1 2 3, inlined_atx", " l1:loc 1 2 3, w1:inlined_atx$1:"},
      {".loc 1 2 3, function_name %a + 4 \n, inlined_at 1 2 3;",
       " l1:loc 1 2 3, function_name %a + 4 \n, inlined_at 1 2 3p2:;$2:"},
      {".loc 1 2 3, /* \n", " l1:loc 1 2 3, !1:a comment does not end"},
      {".loc 1 2 18446744073709551616", " l1:loc 1 2 !1:an integer does not fit into 64 bits"},
      {long_name, fmt::format(" w1:{}$1:", long_name)},
  };
  for (const auto& [text, tokens] : texts) CHECK(shown(text) == tokens);
}

TEST_CASE("A register and a range that has it are declared twice, in either order") {
  const auto message = [](const std::string& registers) {
    const auto module = parse(std::string(kHeader) + ".entry k()\n{\n" + registers + "\nret;\n}\n");
    return module.ok() ? std::string() : module.error().message;
  };
  CHECK(message(".reg .b32 %r3, %r; .reg .b32 %r<3>;").empty());
  CHECK(message(".reg .b32 %r03; .reg .b32 %r<9>;").empty());
  CHECK(message(".reg .b32 %r7, %r3; .reg .b32 %r<4>;") == "'%r' is declared twice");
  CHECK(message(".reg .b32 %r<4>; .reg .b32 %r3;") == "'%r3' is declared twice");
  CHECK(message(".reg .b32 %r3; { .reg .b32 %r<9>; }").empty());
}

TEST_CASE("A function that outlives its module keeps its words") {
  const Function function = [] {
    Module module =
        parse(std::string(kHeader) + ".entry k()\n{\n.reg .b32 %r<2>;\nadd.sat.s32 %r0, %r1, 1;\n}\n")
            .value();
    return module.functions.front();
  }();
  CHECK(function.instructions.front().spelling() == "add.sat.s32");
  CHECK(function.registers.back().name() == "%r1");
}

TEST_CASE("Code that is read without its source locations is the same") {
  const std::string text =
      std::string(kHeader) + ".entry k()\n{\n.loc 1 7 3\nbar.sync 0;\n.loc 1 8 3\nret;\n}\n";
  const auto whole = parse(text);
  const auto code = parse_code(TokenizedText(text));
  REQUIRE((whole.ok() && code.ok()));
  REQUIRE(code->functions[0].instructions.size() == 2);
  CHECK(code->functions[0].instructions[1].ptx_line == whole->functions[0].instructions[1].ptx_line);
  CHECK(whole->locations.size() == 2);
  CHECK(code->locations.empty());
  CHECK(code->functions[0].instructions[1].location == kNone);
}

TEST_CASE("Names of a call sequence belong to their block and stay unique in the function") {
  const Function function = parse_body(R"(
{ .param .b32 param0; st.param.b32 [param0], %r1; call.uni callee, (param0, param0); }
{ .param .b32 param0; st.param.b32 [param0], %r2; { .reg .b32 t; mov.u32 t, %r1; } }
{ .reg .b32 t; .reg .b64 %r<2>; mov.u32 t, 1; mov.b64 %r1, 0; })");
  REQUIRE(function.variables.size() == 2);
  CHECK(function.variables[0].name == "param0");
  CHECK(function.variables[1].name != "param0");
  CHECK(function.instructions[0].operands[0].elements[0].name == function.variables[0].name);
  CHECK(function.instructions[2].operands[0].elements[0].name == function.variables[1].name);
  CHECK(function.instructions[1].operands[1].elements[0].name == function.variables[0].name);
  CHECK(register_name(function, function.instructions[3].operands[0]) !=
        register_name(function, function.instructions[4].operands[0]));
  const Operand& inner = function.instructions[5].operands[0];
  CHECK(function.registers.at(inner.index).type == Type::b64);
  std::vector<std::string> names;
  for (const Register& r : function.registers) names.push_back(r.name());
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("A label is found behind its use, and the innermost block's first") {
  const Function function = parse_body(R"(
L: bra L;
{ bra L; bra OUT; L: nop; }
bra.uni .L__x;
.L__x:
OUT:)");
  REQUIRE(function.labels.size() == 4);
  CHECK(function.labels[0].name == "L");
  CHECK(function.labels[1].name != "L");
  CHECK(function.labels[1].instruction == 3);
  CHECK(function.instructions[0].operands[0].kind == OperandKind::label);
  CHECK(function.instructions[0].operands[0].name == "L");
  CHECK(function.instructions[1].operands[0].name == function.labels[1].name);
  CHECK(function.instructions[2].operands[0].name == "OUT");
  CHECK(function.instructions[4].spelling() == "bra.uni");
  CHECK(function.instructions[4].operands[0].name == ".L__x");
  CHECK(function.labels[2].name == ".L__x");
  CHECK(function.labels[3].instruction == 5);
}

TEST_CASE("Branch tables and prototypes are kept under the name an instruction uses") {
  const Function function = parse_body(R"(
ts: .branchtargets A, B;
brx.idx %r1, ts;
A: B:
proto : .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) ;
call (%r1), %rd1, (%rd2), proto;)");
  REQUIRE(function.branch_targets.size() == 2);
  CHECK(function.branch_targets[0].labels == std::vector<std::string>{"A", "B"});
  CHECK(function.instructions[0].operands[1].kind == OperandKind::label);
  CHECK(function.instructions[0].operands[1].name == "ts");
  const Instruction& call = function.instructions[1];
  REQUIRE(call.operands.size() == 4);
  CHECK(call.operands[0].kind == OperandKind::list);
  CHECK(call.operands[1].kind == OperandKind::reg);
  CHECK(call.operands[3].name == "proto");
}

TEST_CASE("Integer constants are read in every base and computed as C does") {
  const auto value = [](const std::string& text) {
    const Instruction instruction = parse_one("mov.b64 %rd1, " + text + ";");
    REQUIRE(instruction.operands.at(1).kind == OperandKind::integer);
    return static_cast<std::int64_t>(instruction.operands[1].bits);
  };
  CHECK(value("0x1F") == 31);
  CHECK(value("0x1FU") == 31);
  CHECK(value("017") == 15);
  CHECK(value("0b101") == 5);
  CHECK(value("0") == 0);
  CHECK(value("-1") == -1);
  CHECK(value("18446744073709551615") == -1);
  CHECK(value("((1<<4)|3)") == 19);
  CHECK(value("2+3*4-1") == 13);
  CHECK(value("-8 >> 1") == -4);
  CHECK(value("0x8000000000000000 >> 63") == 1);
  CHECK(value("(.s64)0x8000000000000000 >> 63") == -1);
  CHECK(value("1 ? 2 : 3") == 2);
  CHECK(value("WARP_SZ-1") == 31);
  CHECK(value("~0 == -1") == 1);
  CHECK(value("-7 / 2") == -3);
  CHECK(value("(-9223372036854775807 - 1) / -1") == std::numeric_limits<std::int64_t>::min());
  CHECK(parse_bad(".func f() { mov.b64 1, 1/0; }").message.find("zero") != std::string::npos);
  CHECK(parse_bad(".func f() { mov.b64 1, 18446744073709551616; }").line == 4);
}

TEST_CASE("Floating-point constants keep their bits") {
  Operand operand = parse_one("mov.f32 %f1, 0f3F800000;").operands.at(1);
  CHECK(operand.kind == OperandKind::real);
  CHECK(operand.type == Type::f32);
  CHECK(operand.bits == 0x3F800000u);
  operand = parse_one("mov.f32 %f1, -0f3F800000;").operands.at(1);
  CHECK(operand.bits == 0xBF800000u);
  operand = parse_one("mov.f64 %rd1, 0dC000000000000000;").operands.at(1);
  CHECK(operand.type == Type::f64);
  CHECK(operand.bits == 0xC000000000000000u);
  operand = parse_one("mov.f32 %f1, -1.5;").operands.at(1);
  CHECK(operand.type == Type::f64);
  CHECK(operand.bits == 0xBFF8000000000000u);
  CHECK(parse_bad(".func f() { mov.f32 1, 0f3F8; }").line == 4);
}

TEST_CASE("Operands of every form are read") {
  const Function f = parse_body(R"(
ld.global.v4.b32 {%r1, _, %r2, %r3}, [%rd1+-16];
shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;
and.pred %p1, !%p2, %p3;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4+8];
@%p1 ld.const.b32 %r1, [table+4];
st.shared.u32 [16], -%r2;
mov.u32 %r1, %ntid.z;
mov.u64 %rd1, %clock64;
mov.u64 %rd1, table+8;
mov.b64 {%r1, %r2}, %rd1;
ldu.global.b32 %r1, [%rd1].unified;
mov.u32 %r1, %envreg3;
elect.sync _|%p1, -1;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r0,%r1,%r2,%r3},{%r4,%r5},{%f0,%f1,%f2,%f3};
)");
  const auto& i = f.instructions;
  REQUIRE(i.size() == 14);
  CHECK(i[0].operands[0].elements[1].kind == OperandKind::sink);
  CHECK(i[0].operands[1].kind == OperandKind::address);
  CHECK(i[0].operands[1].offset == -16);
  CHECK(register_name(f, i[0].operands[1].elements[0]) == "%rd1");
  CHECK(i[1].operands[0].kind == OperandKind::pair);
  CHECK(register_name(f, i[1].operands[0].elements[1]) == "%p1");
  CHECK(i[1].operands[4].bits == ~std::uint64_t{0});
  CHECK(i[2].operands[1].negated);
  CHECK_FALSE(i[2].operands[2].negated);
  CHECK(i[3].has("shared::cluster"));
  CHECK(i[3].has("mbarrier::complete_tx::bytes"));
  REQUIRE(i[3].operands[1].elements.size() == 2);
  CHECK(i[3].operands[1].elements[1].kind == OperandKind::list);
  CHECK(i[3].operands[2].offset == 8);
  REQUIRE(i[4].guard);
  CHECK_FALSE(i[4].guard->negated);
  CHECK(i[4].operands[1].elements[0].kind == OperandKind::symbol);
  CHECK(i[4].operands[1].elements[0].name == "table");
  CHECK(i[4].operands[1].offset == 4);
  CHECK(i[5].operands[0].elements[0].bits == 16);
  CHECK(i[5].operands[1].negated);
  CHECK(i[6].operands[1].kind == OperandKind::special);
  CHECK(i[6].operands[1].name == "%ntid.z");
  CHECK(i[7].operands[1].name == "%clock64");
  CHECK(i[8].operands[1].kind == OperandKind::symbol);
  CHECK(i[8].operands[1].offset == 8);
  CHECK(i[9].operands[0].elements.size() == 2);
  CHECK(i[10].has("unified"));
  CHECK(i[11].operands[1].name == "%envreg3");
  CHECK(i[12].operands[0].elements[0].kind == OperandKind::sink);
  CHECK(i[13].operands.size() == 4);
  CHECK(i[13].operands[1].elements.size() == 4);
}

TEST_CASE("Vector registers are their components") {
  const Function f =
      parse_body(".reg .v4 .f32 v; .reg .v2 .b32 a, b; mov.v4.f32 v, {%f0,%f1,%f2,v.w}; mov.b32 b.y, 1;");
  REQUIRE(f.instructions[0].operands[0].kind == OperandKind::list);
  CHECK(register_name(f, f.instructions[0].operands[0].elements[3]) == "v.w");
  CHECK(register_name(f, f.instructions[0].operands[1].elements[3]) == "v.w");
  CHECK(register_name(f, f.instructions[1].operands[0]) == "b.y");
}

TEST_CASE("Initializers become bytes and relocations") {
  const Module module = parse_good(R"(
.func g() ;
.global .b8 x[4] = {1, 2};
.global .align 16 .v2 .f32 v = {0f3F800000, 2.0};
.const .s16 m[2][3] = {{1, -1}, {2, 3, 4}};
.global .u16 open[] = {7, 8, 9};
.global .u64 one = x+3;
.global .u64 many[3] = {generic(x), 5, g};
.global .b8 packed[9] = {1, 0xFF(x+4), 0xFF00(x+4), 0xFF0000(x+4), 0xFF000000(x+4), 0xFF00000000(x+4), 0xFF0000000000(x+4), 0xFF000000000000(x+4), 0xFF00000000000000(x+4)};
.global .f64 d = 0f3F800000;
.global .align 4 .f32 b = 0fBF800000;
.shared .b32 tile[4][8];
)");
  const auto named = [&module](std::string_view name) {
    const auto found = std::ranges::find(module.variables, name, &Variable::name);
    REQUIRE(found != module.variables.end());
    return *found;
  };
  using Bytes = std::vector<std::uint8_t>;
  CHECK(named("x").contents == Bytes{1, 2, 0, 0});
  CHECK(named("v").contents == Bytes{0, 0, 0x80, 0x3F, 0, 0, 0, 0x40});
  CHECK(named("v").alignment == 16);
  CHECK(named("m").contents == Bytes{1, 0, 0xFF, 0xFF, 0, 0, 2, 0, 3, 0, 4, 0});
  CHECK(named("m").space == Space::constant);
  CHECK(named("open").bytes == 6);
  CHECK(named("open").contents == Bytes{7, 0, 8, 0, 9, 0});
  CHECK(named("open").alignment == 2);
  REQUIRE(named("one").relocations.size() == 1);
  CHECK(named("one").relocations[0].offset == 3);
  CHECK_FALSE(named("one").relocations[0].generic);
  REQUIRE(named("many").relocations.size() == 2);
  CHECK(named("many").relocations[0].generic);
  CHECK(named("many").relocations[1].at == 16);
  CHECK(named("many").contents[8] == 5);
  REQUIRE(named("packed").relocations.size() == 1);
  CHECK(named("packed").relocations[0].at == 1);
  CHECK(named("packed").relocations[0].bytes == 8);
  CHECK(named("packed").relocations[0].offset == 4);
  CHECK(named("d").contents == Bytes{0, 0, 0, 0, 0, 0, 0xF0, 0x3F});
  CHECK(named("b").contents == Bytes{0, 0, 0x80, 0xBF});
  CHECK(named("tile").bytes == 128);
  CHECK(named("tile").contents.empty());
}

TEST_CASE("A definition replaces its declaration and an alias is a copy") {
  const Module module = parse_good(R"(
.func (.param .b32 r) f(.param .b32 a) ;
.extern .global .b32 g;
.global .b32 g = 4;
.func h() ;
.visible .func (.param .b32 r) f(.param .b32 a) .noreturn { ret; }
.entry k() .reqntid 32 .reqnctapercluster 2, 2, 1 { call h; exit; }
.alias h, f;
)");
  REQUIRE(module.functions.size() == 3);
  CHECK_FALSE(module.functions[0].is_extern);
  CHECK(module.functions[0].returns.size() == 1);
  CHECK(module.functions[1].name == "h");
  CHECK(module.functions[1].instructions.size() == 1);
  CHECK(module.functions[2].required_threads == std::array<std::uint32_t, 3>{32, 1, 1});
  CHECK(module.functions[2].required_cluster == std::array<std::uint32_t, 3>{2, 2, 1});
  CHECK(module.functions[2].instructions[0].operands[0].kind == OperandKind::symbol);
  REQUIRE(module.variables.size() == 1);
  CHECK(module.variables[0].contents[0] == 4);
  CHECK_FALSE(module.variables[0].is_extern);
}

TEST_CASE("What is not PTX is refused with its line") {
  CHECK_FALSE(parse(""));
  CHECK_FALSE(parse("hello"));
  CHECK_FALSE(parse(".version 9.0\n.target sm_90\n.address_size 32\n"));
  const std::pair<const char*, int> cases[] = {
      {".entry k()\n{\n.frob 3;\n}", 6},
      {".entry k()\n{\nmov.u32 %r1, 3;\n}", 6},
      {".entry k()\n{\nbra NOWHERE;\nret;\n}", 6},
      {".entry k()\n{\nld.global.u32 1, [nothing];\n}", 6},
      {".entry k()\n{\nbrx.idx 1, t;\nt: .branchtargets NOWHERE;\n}", 7},
      {".entry k()\n{\nret;\n", 7},
      {".entry k()\n{\nret\n}", 7},
      {".entry k()\n{\n.reg .b32 a; .reg .b32 a;\n}", 6},
      {".entry k()\n{\n.reg .b32 a; @a ret;\n}", 6},
      {".entry k()\n{\nL:\nL:\n}", 7},
      {".entry k() { }\n.entry k() { }\n", 5},
      {".frobnicate 3\n", 4},
      {".global .u64 p = nowhere;\n", 4},
      {".global .b8 x[2] = {1,2,3};\n", 4},
      {".global .b8 x[99999999999999999999];\n", 4},
      {".global .align 3 .b8 x[2];\n", 4},
      {".global .b8 x; .global .b8 x;\n", 4},
      {"/* endless", 4},
      {".file 1 \"endless", 4},
      {".entry k() { \x01 }", 4},
  };
  for (const auto& [text, line] : cases) {
    INFO(text);
    const InputError input_error = parse_bad(text);
    INFO(input_error.message);
    CHECK(input_error.line == line);
    CHECK_FALSE(input_error.message.empty());
  }
}

std::string repeated(std::string_view piece, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

TEST_CASE("Hostile sizes and depths are refused, not followed") {
  constexpr int kMany = 200000;
  (void)parse_bad(".entry k() { .reg .b32 %r<1000000000>; }");
  (void)parse_bad(".global .b8 x[9223372036854775807] = {1};");
  (void)parse_bad(".global .b8 x[4294967296][4294967296][16];");
  (void)parse_bad(".global .b8 x[1099511627776] = {1};");
  (void)parse_bad(".entry k() {" + repeated("{", kMany));
  (void)parse_bad(".entry k() { mov.b32 " + repeated("{", kMany));
  (void)parse_bad(".entry k() { mov.b32 " + repeated("(", kMany));
  (void)parse_bad(".entry k() { mov.b32 1, " + repeated("-", kMany));
  (void)parse_bad(".entry k() { mov.b32 1, 1" + repeated("?1:1", kMany));
  (void)parse_bad(".entry k() { mov.b32 _" + repeated("|_", kMany));
  (void)parse_bad(".entry k() { mov" + repeated(".b32", kMany));
  (void)parse_bad(".global .b8 x" + repeated("[1]", kMany));
  (void)parse_bad(".file 4294967295 \"a\"");
  (void)parse_bad(".entry k() { " + repeated("{ .reg .b32 %r<100000>; }", 100) + "}");
  CHECK_FALSE(parse(std::string(std::size_t{17} << 20, ' ')));
}

TEST_CASE("A truncated or changed text never does worse than an error") {
  const std::string text = std::string(kHeader).append(kKernel);
  for (std::size_t length = 0; length < text.size(); ++length) (void)parse(text.substr(0, length));
  constexpr int kRounds = 5000;
  constexpr std::string_view kPieces = "{}()[]<>,;:.%$@!|&+-*/0x1fdUaLZ_\"\n \x80";
  std::mt19937 random(20);
  const auto below = [&random](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string changed = text;
    for (std::size_t change = 0; change <= below(4); ++change) {
      const std::size_t at = below(changed.size());
      const std::size_t length = std::min(below(12), changed.size() - at);
      if (below(3) == 0) {
        changed.insert(below(changed.size()), changed.substr(at, length));
      } else if (below(2) == 0) {
        changed.erase(at, length);
      } else {
        changed[at] = kPieces[below(kPieces.size())];
      }
    }
    const Result<Module> module = parse(changed);
    accepted += module.ok() ? 1 : 0;
    if (!module) CHECK_FALSE(module.error().message.empty());
  }
  CHECK(accepted > 0);
  CHECK(accepted < kRounds);
}

}  // namespace
