// SPDX-License-Identifier: Apache-2.0
// Random structured programs, run by warps and, one thread at a time, by the test itself.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>
#include <utility>

#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

constexpr int kVariables = 4;
using Variables = std::array<std::uint32_t, kVariables>;

enum class Kind { mix, branch, loop, leave_loop, next_turn, finish, choose, call };

/// One statement. Conditions look at the top bits of variable `a` times `k`.
struct Node {
  Kind kind = Kind::mix;
  int a = 0, b = 0, c = 0;
  std::uint32_t k = 1;
  std::vector<std::vector<Node>> bodies;
};
using Body = std::vector<Node>;

struct Script {
  Body kernel, function;
  bool finishes_early = false;
};

class Author {
 public:
  explicit Author(std::uint64_t seed) : random_(seed) {}
  Script write() {
    Script script;
    early_exits_ = pick(2) == 0;
    in_function_ = true;
    script.function = body(2, false);
    in_function_ = false;
    script.kernel = body(4, false);
    script.finishes_early = early_exits_;
    return script;
  }

 private:
  int pick(int choices) { return static_cast<int>(random_() % static_cast<std::uint64_t>(choices)); }
  Body body(int depth, bool in_loop) {
    Body nodes;
    for (int i = 1 + pick(4); i > 0; --i) nodes.push_back(node(depth, in_loop));
    return nodes;
  }
  Node node(int depth, bool in_loop) {
    Node made{.kind = Kind::mix,
              .a = pick(kVariables),
              .b = pick(kVariables),
              .c = pick(kVariables),
              .k = static_cast<std::uint32_t>(random_()) | 1u,
              .bodies = {}};
    const int choice = pick(10);
    if (in_loop && choice == 0) made.kind = Kind::leave_loop;
    if (in_loop && choice == 1) made.kind = Kind::next_turn;
    if (choice == 2 && (in_function_ || early_exits_)) made.kind = Kind::finish;
    if (choice == 3 && !in_function_) made.kind = Kind::call;
    if (depth == 0 || choice < 4) return made;
    if (choice < 7) {
      made.kind = Kind::branch;
      made.bodies = {body(depth - 1, in_loop), pick(2) == 0 ? Body{} : body(depth - 1, in_loop)};
    } else if (choice < 9) {
      made.kind = Kind::loop;
      made.bodies = {body(depth - 1, true)};
    } else {
      made.kind = Kind::choose;
      for (int i = 0; i < 3; ++i) made.bodies.push_back(body(depth - 1, in_loop));
    }
    return made;
  }

  std::mt19937_64 random_;
  bool early_exits_ = false, in_function_ = false;
};

// ---- one thread at a time

enum class Flow { on, left, next, finished };

class Reader {
 public:
  explicit Reader(const Script& script) : script_(script) {}
  Flow run(const Body& body, Variables& v) {
    for (const Node& node : body) {
      if (const Flow flow = run(node, v); flow != Flow::on) return flow;
    }
    return Flow::on;
  }

 private:
  static bool holds(const Node& node, const Variables& v) {
    return (v[static_cast<std::size_t>(node.a)] * node.k) >> 30 == 0;
  }
  Flow run(const Node& node, Variables& v) {
    std::uint32_t& a = v[static_cast<std::size_t>(node.a)];
    const std::uint32_t b = v[static_cast<std::size_t>(node.b)], c = v[static_cast<std::size_t>(node.c)];
    switch (node.kind) {
      case Kind::mix:
        a = (b * node.k + c) ^ a >> 7;
        return Flow::on;
      case Kind::branch:
        return run(node.bodies[holds(node, v) ? 0 : 1], v);
      case Kind::loop:
        for (std::uint32_t turns = a & 3u; turns != 0; --turns) {
          const Flow flow = run(node.bodies[0], v);
          if (flow == Flow::left) break;
          if (flow == Flow::finished) return flow;
        }
        return Flow::on;
      case Kind::leave_loop:
        return holds(node, v) ? Flow::left : Flow::on;
      case Kind::next_turn:
        return holds(node, v) ? Flow::next : Flow::on;
      case Kind::finish:
        return holds(node, v) ? Flow::finished : Flow::on;
      case Kind::choose:
        return run(node.bodies[(a >> 5) % 3], v);
      case Kind::call: {
        Variables inner{b, b * 3, b + 5, b ^ node.k};
        static_cast<void>(run(script_.function, inner));
        a = inner[0] + inner[3];  // as finish() returns them
        return Flow::on;
      }
    }
    return Flow::on;
  }
  const Script& script_;
};

// ---- the same in PTX: variables are %v0 to %v3, loops count down in %n<depth>

class Writer {
 public:
  explicit Writer(bool kernel) : kernel_(kernel) {}
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& tails() const { return tails_; }
  void body(const Body& nodes) {
    for (const Node& node : nodes) write(node);
  }
  std::string finish() const {
    if (!kernel_) return "add.u32 %t0, %v0, %v3;\nst.param.b32 [out], %t0;\nret;\n";
    return "st.global.v4.u32 [%to], {%v0, %v1, %v2, %v3};\nret;\n";
  }

 private:
  template <class... Args>
  void line(const char* format, const Args&... args) {
    text_ += fmt::format(fmt::runtime(format), args...) + "\n";
  }
  std::string label(const char* name) { return fmt::format("{}{}", name, labels_++); }
  void condition(const Node& node) {
    line("mul.lo.u32 %t0, %v{}, {};", node.a, node.k);
    line("shr.u32 %t0, %t0, 30;");
    line("setp.eq.u32 %q, %t0, 0;");
  }
  void write(const Node& node) {
    switch (node.kind) {
      case Kind::mix:
        line("mad.lo.u32 %t0, %v{}, {}, %v{};", node.b, node.k, node.c);
        line("shr.u32 %t1, %v{}, 7;", node.a);
        line("xor.b32 %v{}, %t0, %t1;", node.a);
        break;
      case Kind::branch:
        write_branch(node);
        break;
      case Kind::loop:
        write_loop(node);
        break;
      case Kind::leave_loop:
        condition(node);
        line("@%q bra {};", leave_);
        break;
      case Kind::next_turn:
        condition(node);
        line("@%q bra {};", next_);
        break;
      case Kind::finish:
        write_finish(node);
        break;
      case Kind::choose:
        write_choice(node);
        break;
      case Kind::call:
        line("{{\n.param .b32 in;\n.param .b32 key;\n.param .b32 back;");
        line("st.param.b32 [in], %v{};\nst.param.b32 [key], {};", node.b, node.k);
        line("call.uni (back), f, (in, key);\nld.param.b32 %v{}, [back];\n}}", node.a);
        break;
    }
  }
  void write_branch(const Node& node) {
    const std::string other = label("else"), end = label("end");
    condition(node);
    line("@!%q bra {};", other);
    body(node.bodies[0]);
    if (!node.bodies[1].empty()) line("bra.uni {};", end);
    line("{}:", other);
    body(node.bodies[1]);
    line("{}:", end);
  }
  void write_loop(const Node& node) {
    const std::string top = label("top"), end = label("end"), turn = label("turn");
    const std::string leave = std::exchange(leave_, end), next = std::exchange(next_, turn);
    line("and.b32 %n{}, %v{}, 3;\n{}:", depth_, node.a, top);
    line("setp.eq.u32 %q, %n{}, 0;\n@%q bra {};", depth_, end);
    ++depth_;
    body(node.bodies[0]);
    --depth_;
    line("{}:\nsub.u32 %n{}, %n{}, 1;\nbra.uni {};\n{}:", turn, depth_, depth_, top, end);
    leave_ = leave;
    next_ = next;
  }
  // Out of the way, in the way, or, of a function, as a guarded return.
  void write_finish(const Node& node) {
    condition(node);
    const std::string place = label("finish");
    if (node.b == 0) {
      line("@%q bra {};", place);
      tails_ += place + ":\n" + finish();
    } else {
      line("@!%q bra {};", place);
      text_ += finish();
      line("{}:", place);
    }
  }
  void write_choice(const Node& node) {
    const std::string end = label("end"), table = label("table");
    std::array<std::string, 3> cases;
    for (std::string& one : cases) one = label("case");
    line("shr.u32 %t0, %v{}, 5;\nrem.u32 %t0, %t0, 3;", node.a);
    line("{}: .branchtargets {}, {}, {};\nbrx.idx %t0, {};", table, cases[0], cases[1], cases[2], table);
    for (std::size_t i = 0; i < 3; ++i) {
      line("{}:", cases[i]);
      body(node.bodies[i]);
      line("bra.uni {};", end);
    }
    line("{}:", end);
  }

  bool kernel_;
  std::string text_, tails_, leave_, next_;
  int labels_ = 0, depth_ = 0;
};

std::string module_of(const Script& script) {
  constexpr const char* kRegisters =
      ".reg .b32 %v<4>;\n.reg .b32 %t<4>;\n.reg .b32 %n<8>;\n.reg .pred %q;\n.reg .b64 %to;\n.reg .b64 "
      "%w<4>;\n";
  Writer function(false), kernel(true);
  function.body(script.function);
  kernel.body(script.kernel);
  std::string text = ".version 9.0\n.target sm_90a\n.address_size 64\n";
  text += ".func (.param .b32 out) f(.param .b32 in, .param .b32 key)\n{\n" + std::string(kRegisters) +
          "ld.param.b32 %v0, [in];\nld.param.b32 %t0, [key];\nmul.lo.u32 %v1, %v0, 3;\nadd.u32 %v2, %v0, 5;\n"
          "xor.b32 %v3, %v0, %t0;\n" +
          function.text() + function.finish() + function.tails() + "}\n";
  text += ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n" + std::string(kRegisters) +
          "ld.param.u64 %to, [p0];\nld.param.u64 %w0, [p1];\nmov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %ntid.x;\n"
          "mov.u32 %t2, %tid.x;\nmad.lo.u32 %t0, %t0, %t1, %t2;\nmad.wide.u32 %to, %t0, 16, %to;\n"
          "mad.wide.u32 %w0, %t0, 4, %w0;\n"
          "mul.lo.u32 %v0, %t0, 0x9E3779B1;\nmul.lo.u32 %v1, %t0, 0x85EBCA6B;\nxor.b32 %v2, %v0, 0x1234567;\n"
          "add.u32 %v3, %v1, 99;\n" +
          kernel.text() + "activemask.b32 %t0;\nst.global.u32 [%w0], %t0;\n" + kernel.finish() +
          kernel.tails() + "}\n";
  return text;
}

Variables expected(const Script& script, std::uint32_t thread) {
  Variables v{thread * 0x9E3779B1u, thread * 0x85EBCA6Bu, 0, 0};
  v[2] = v[0] ^ 0x1234567u;
  v[3] = v[1] + 99;
  static_cast<void>(Reader(script).run(script.kernel, v));
  return v;
}

}  // namespace

TEST_CASE("warps run random programs as threads would one at a time, and meet at their end") {
  constexpr std::uint32_t kThreads = 80, kBlocks = 2;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Script script = Author(seed).write();
    const std::string text = module_of(script);
    CAPTURE(seed);
    INFO(text);
    PtxKernel kernel(text, 1u << 20);
    LaunchRequest request;
    request.grid = {kBlocks, 1, 1};
    request.block = {kThreads, 1, 1};
    request.options.seed = seed % 3;
    request.options.instruction_budget = 10'000'000;
    const std::uint64_t out = kernel.memory(std::size_t{kBlocks} * kThreads * 16),
                        masks = kernel.memory(std::size_t{kBlocks} * kThreads * 4);
    kernel.expect_no_findings(kernel.run(request, out, masks));
    const auto values = kernel.download<Variables>(out, std::size_t{kBlocks} * kThreads);
    const auto met = kernel.download<std::uint32_t>(masks, std::size_t{kBlocks} * kThreads);
    for (std::uint32_t t = 0; t < kBlocks * kThreads; ++t) {
      INFO("thread " << t);
      REQUIRE(values[t] == expected(script, t));
      if (!script.finishes_early) REQUIRE(met[t] == (t % kThreads < 64 ? 0xFFFFFFFFu : 0xFFFFu));
    }
  }
}

}  // namespace ak::emulator::test
