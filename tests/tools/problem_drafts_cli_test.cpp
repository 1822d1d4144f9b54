// SPDX-License-Identifier: Apache-2.0
// Problems that a language model drafts: what a person sees, what hostile answers come to, and what is never searched.
#include <catch2/catch.hpp>
#include <csignal>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

/// A file of the sample, a problem that passes: y = min(x^2, 1).
std::string sample_file(const std::string& name) {
  return read_file(AK_SOURCE_DIR "/tests/tools/drafts/clipped_square/" + name);
}

std::string block(const std::string& name, const std::string& text) {
  return "```text " + name + "\n" + text + (text.ends_with('\n') ? "" : "\n") + "```\n\n";
}

/// An answer with all files of the sample, but for one that says something else.
std::string answer_with(const std::string& name = "", const std::string& text = "") {
  std::string answer = "Here it is.\n\n";
  for (const char* file : {"problem.json", "workloads.jsonl", "reference.cu", "examples.json"})
    answer += block(file, file == name ? text : sample_file(file));
  return answer;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// y = min(x, 1).
std::string wrong_reference() { return replaced(sample_file("reference.cu"), "value * value", "value"); }

const std::string kClippedSquare = R"kernel(/* alphakernel
{"launches": [{"kernel": "k", "grid": ["ceil_div(N, 128)"], "block": [128], "args": ["x", "y", {"i64": "N"}]}]}
*/
__global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i < n) y[i] = fminf(x[i] * x[i], 1.0f);
}
)kernel";

/// A model with recorded answers, and the folder that it drafts.
struct Drafting {
  [[nodiscard]] std::string folder() const { return (box.folder / "made").string(); }
  std::string recorded(const std::vector<std::string>& answers) const {
    std::string lines;
    for (const std::string& answer : answers) lines += Json{{"reply", {{"text", answer}}}}.dump() + "\n";
    return "replay:" + box.write("answers.jsonl", lines);
  }
  ProgramResult draft(const std::vector<std::string>& answers, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"problem",
                                       "new",
                                       folder(),
                                       "--describe",
                                       "squares, at most one",
                                       "--model",
                                       recorded(answers),
                                       "--answers",
                                       std::to_string(answers.size())};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return box.run(arguments);
  }
  ProgramResult evaluate() {
    return box.run(
        {"evaluate", box.write("k.cu", kClippedSquare), "--problem", folder(), "--device", "emulator"});
  }
  /// Files of the test's own folder that begin with the name of the drafted one.
  [[nodiscard]] std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(box.folder.path()))
      if (entry.path().filename().string().starts_with("made"))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  [[nodiscard]] std::string findings() const {
    return read_file(box.folder / "made.rejected" / "findings.md");
  }

  Sandbox box;
};

}  // namespace

TEST_CASE(
    "a draft with a wrong formula is repaired in the second answer, and used once a person confirmed it") {
  Drafting drafting;
  const ProgramResult made = drafting.draft(
      {answer_with("reference.cu", wrong_reference()), block("reference.cu", sample_file("reference.cu"))});
  INFO(made.out << made.err);
  REQUIRE(made.exit_code == 0);
  CHECK_THAT(made.err, Contains("element 0 of 'y' is 0.5 by reference.cu, and 0.25 by the example"));
  CHECK_THAT(made.out, Contains("alphakernel problem confirm"));
  CHECK(drafting.left() == std::vector<std::string>{"made"});
  const std::string problem = read_file(drafting.folder() + "/problem.json");
  CHECK(parse_json(problem)["reference"].get<std::string>().find("NotImplementedError") != std::string::npos);

  for (const std::vector<std::string>& search :
       {std::vector<std::string>{"generate", "--problem", drafting.folder(), "--device", "emulator",
                                 "--unaudited"},
        {"session", "start", "--foreground", "--problem", drafting.folder(), "--device", "emulator"}}) {
    const ProgramResult refused = drafting.box.run(search);
    INFO(search.front() << "\n" << refused.out << refused.err);
    CHECK(refused.exit_code == code(ExitCode::audit));
    CHECK_THAT(refused.out + refused.err,
               Contains("no person has confirmed it") && Contains("problem confirm"));
  }
  CHECK(drafting.evaluate().exit_code == code(ExitCode::audit));

  // Where the tests are run a terminal may be there to answer.
  const ProgramResult asked = run_program(
      {"/bin/sh", "-c", "exec \"$0\" problem confirm \"$1\" < /dev/null", AK_PROGRAM, drafting.folder()},
      drafting.box.environment);
  INFO(asked.out << asked.err);
  CHECK(asked.exit_code == code(ExitCode::usage));
  CHECK_THAT(asked.out, Contains("y[n] = min(x[n]^2, 1)") && Contains("[0.25,0.25,1.0,0.0]") &&
                            Contains("does not square") && Contains("squares, at most one") &&
                            !Contains("No example shows"));
  CHECK(drafting.evaluate().exit_code == code(ExitCode::audit));

  CHECK(drafting.box.run({"problem", "confirm", drafting.folder(), "--yes"}).exit_code == 0);
  const ProgramResult used = drafting.evaluate();
  INFO(used.out << used.err);
  CHECK(used.exit_code == 0);
  CHECK_THAT(used.err, !Contains("auditing"));  // as it was drafted it has passed

  const ProgramResult found =  // there is no kernel in it: from the reference's twin
      drafting.box.run({"generate", "--problem", drafting.folder(), "--device", "emulator", "--output",
                        (drafting.box.folder / "found.cu").string()});
  INFO(found.out << found.err);
  CHECK(found.exit_code == 0);
  CHECK_THAT(read_file(drafting.box.folder / "found.cu"), Contains("using accum_t = float"));

  std::ofstream(drafting.folder() + "/reference.cu", std::ios::app) << "// something else\n";
  const ProgramResult changed = drafting.evaluate();
  CHECK(changed.exit_code == code(ExitCode::audit));
  CHECK_THAT(changed.err, Contains("was changed since a person has confirmed it"));
}

TEST_CASE("a mistake that no example shows is named to the person who confirms") {
  Drafting drafting;
  const std::string small =
      replaced(replaced(sample_file("examples.json"), "0.5, -0.5, 3, 0", "0.5, -0.5, 0, 0"),
               "0.25, 0.25, 1, 0", "0.25, 0.25, 0, 0");
  const Json example = parse_json(small)[0];
  const ProgramResult made =
      drafting.draft({answer_with("examples.json", Json::array({example, example}).dump())});
  INFO(made.out << made.err);
  REQUIRE(made.exit_code == 0);
  const ProgramResult judged = drafting.box.run({"problem", "judge", drafting.folder()});
  CHECK_THAT(judged.out, Contains("no example shows the mutation 'no_clip'") && !Contains("'no_square'"));
  const Json json = parse_json(drafting.box.run({"problem", "judge", drafting.folder(), "--json"}).out);
  CHECK(json["unshown_mutations"] == Json::array({"no_clip"}));
  CHECK(json["examples"][0]["shows"] == Json::array({"no_square"}));
  CHECK(json["examples"][1]["shows"].empty());  // a mistake that was shown is not tried again
  CHECK_THAT(drafting.box.run({"problem", "confirm", drafting.folder(), "--yes"}).out,
             Contains("No example shows these mistakes: no_clip."));
}

TEST_CASE("no answer of a model writes another file than the four, or one that is too large") {
  struct Hostile {
    std::string answer, words;
  };
  const std::string problem = sample_file("problem.json");
  const Hostile answers[] = {
      {answer_with() + block("../../evil.cu", "x"), "called '../../evil.cu'"},
      {answer_with() + block("/tmp/evil.cu", "x"), "called '/tmp/evil.cu'"},
      {answer_with() + block("draft.json", "{}"), "called 'draft.json'"},
      {answer_with() + block("audit.json", "{}"), "called 'audit.json'"},
      {answer_with() + block("kernel.cu", kClippedSquare), "called 'kernel.cu'"},
      {answer_with() + block("reference.cu", "x"), "two blocks of reference.cu"},
      {answer_with("reference.cu", std::string(70'000, 'x')), "70001 bytes, and at most 65536"},
      {answer_with("reference.cu", "\x1b[2J"), "control character"},
      {answer_with("problem.json", std::string(60'000, '[')), "problem.json: "},
      {answer_with("problem.json",
                   replaced(problem, "{", "{\"reference\": \"import os\\ndef run(x): pass\",")),
       "no key 'reference'"},
      {answer_with("problem.json", replaced(problem, "{", "{\"python\": {},")), "no key 'python'"},
      {answer_with("problem.json", replaced(problem, "{", "{\"degenerate\": \"yes\",")),
       "no key 'degenerate'"},
      {answer_with("problem.json", replaced(problem, "{", "{\"flops\": \"1\",")), "key 'flops' twice"},
      {answer_with("problem.json", replaced(problem, "\"clipped_square\"", "\"../../x\"")), "name"},
      {answer_with("problem.json", replaced(problem, "\"clipped_square\"", "\"softmax\"")),
       "name of a problem that ships"},
      {answer_with("workloads.jsonl",
                   replaced(sample_file("workloads.jsonl"), "\"N\": 37", "\"N\": 40000000")),
       "workload n37: its tensors have more than 4194304 bytes"},
      {answer_with("workloads.jsonl",
                   sample_file("workloads.jsonl") +
                       R"({"name": "any", "axes": {"N": [1, 9000000]}, "role": "held_out", )"
                       R"("tier": "emulator"})"),
       "workload any: its tensors have more than 4194304 bytes"},
      {answer_with("reference.cu", replaced(sample_file("reference.cu"), "__global__",
                                            "#include \"/etc/passwd\"\n__global__")),
       "/etc/passwd"},
      {answer_with("reference.cu", replaced(sample_file("reference.cu"), "y[i] = static_cast<out_t>(square <",
                                            "y[i + 1000000] = static_cast<out_t>(square <")),
       "out-of-bounds"},
      {answer_with("examples.json", "[]"), "examples.json: expected 1 to 4 examples"},
      {answer_with("examples.json", replaced(sample_file("examples.json"), "\"n4\"", "\"n5\"")),
       "no workload 'n5'"},
      {answer_with("examples.json", replaced(sample_file("examples.json"), "0.5, -0.5", "0.5")),
       "expected 4 numbers"},
      {"", "no file"},
      {answer_with().substr(0, 900), "not closed"}};
  Drafting drafting;
  std::vector<std::string> all;
  for (const Hostile& one : answers) all.push_back(one.answer);
  for (std::size_t i = 0; i < std::size(answers); i += 10) {
    const std::vector<std::string> part(
        all.begin() + static_cast<std::ptrdiff_t>(i),
        all.begin() + static_cast<std::ptrdiff_t>(std::min(i + 10, all.size())));
    const ProgramResult refused = drafting.draft(part, {"--json"});
    INFO(refused.out << refused.err);
    REQUIRE(refused.exit_code == code(ExitCode::audit));
    const Json rounds = parse_json(refused.out)["rounds"];
    REQUIRE(rounds.size() == part.size());
    for (std::size_t k = 0; k < part.size(); ++k) {
      INFO(answers[i + k].words);
      CHECK_THAT(rounds[k]["faults"].dump(), Contains(answers[i + k].words));
      CHECK_THAT(rounds[k]["faults"].dump(), !Contains(drafting.box.folder.path().string()));
    }
  }
  CHECK(drafting.left() == std::vector<std::string>{"made.rejected", "made.rejected-2", "made.rejected-3"});
  CHECK_FALSE(drafting.box.exists("evil.cu"));
  const std::vector<std::string> known{"answer.md",    "draft.json",   "examples.json",  "findings.md",
                                       "problem.json", "reference.cu", "workloads.jsonl"};
  for (const auto& entry : fs::directory_iterator(drafting.box.folder / "made.rejected"))
    CHECK(std::ranges::find(known, entry.path().filename().string()) != known.end());
}

TEST_CASE("a draft that the audit rejects to the end is kept aside with what was found") {
  Drafting drafting;
  const std::string blind = replaced(replaced(sample_file("problem.json"), "\"kind\": \"normal\"}",
                                              "\"kind\": \"normal\", \"scale\": 0.01}"),
                                     ", \"fails_on\": [\"normal\"]", "");
  const ProgramResult refused =
      drafting.draft({answer_with("problem.json", blind), block("problem.json", blind)});
  INFO(refused.out << refused.err);
  REQUIRE(refused.exit_code == code(ExitCode::audit));
  CHECK_THAT(refused.out, Contains("made.rejected"));
  CHECK(drafting.left() == std::vector<std::string>{"made.rejected"});
  CHECK_THAT(drafting.findings(), Contains("accept the mutation") && Contains("Answer 2: rejected"));
  const std::string aside = (drafting.box.folder / "made.rejected").string();
  const ProgramResult judged = drafting.box.run({"problem", "judge", aside});
  CHECK(judged.exit_code == code(ExitCode::audit));
  CHECK_THAT(judged.out, Contains("accept the mutation"));
}

TEST_CASE("a formula that is off goes back to the model") {
  Drafting drafting;
  const std::string off = replaced(sample_file("problem.json"), "\"N * sizeof_x\"", "\"2 * N * sizeof_x\"");
  const ProgramResult made =
      drafting.draft({answer_with("problem.json", off), block("problem.json", sample_file("problem.json"))});
  INFO(made.out << made.err);
  CHECK(made.exit_code == 0);
  CHECK_THAT(made.err, Contains("the formula \"bytes_read\" is off"));
}

TEST_CASE("a reference without an end ends at the time limit") {
  Drafting drafting;
  const std::string endless =
      replaced(sample_file("reference.cu"), "if (i >= n) return;",
               "volatile long long more = n;\n  while (more > 0) {\n  }\n  if (i >= n) return;");
  const ProgramResult refused =
      drafting.draft({answer_with("reference.cu", endless)}, {"--time-limit", "3s"});
  INFO(refused.out << refused.err);
  CHECK(refused.exit_code == code(ExitCode::audit));
  CHECK_THAT(refused.err, Contains("did not end within 3 s"));
  CHECK_THAT(drafting.findings(), Contains("timeout"));
}

TEST_CASE("nothing that is there is replaced, and no model is asked before that is known") {
  Drafting drafting;
  fs::create_directories(drafting.folder());
  std::ofstream(drafting.folder() + "/mine.txt") << "mine";
  const std::string record = (drafting.box.folder / "record.jsonl").string();
  const ProgramResult refused = drafting.draft({answer_with()}, {"--record", record});
  CHECK(refused.exit_code == code(ExitCode::output));
  CHECK_THAT(refused.err, Contains("exists and is not empty"));
  CHECK_FALSE(fs::exists(record));
  CHECK(read_file(drafting.folder() + "/mine.txt") == "mine");
}

TEST_CASE("a mailbox in the folder that is to be made is refused before anything is asked") {
  Drafting drafting;
  const ProgramResult refused =
      drafting.box.run({"problem", "new", drafting.folder(), "--describe", "squares", "--model",
                        "mailbox:" + drafting.folder() + "/box"});
  CHECK(refused.exit_code == code(ExitCode::usage));
  CHECK_THAT(refused.err, Contains("cannot lie in the folder"));
}

TEST_CASE("what cannot be drafted from is refused before a model is asked") {
  Drafting drafting;
  const std::string model = drafting.recorded({answer_with()});
  const std::string binary = drafting.box.write("binary.txt", std::string("a\0b", 3));
  const std::string blank = drafting.box.write("blank.tex", " \n\n");
  const std::string pdf = drafting.box.write("paper.pdf", "%PDF-1.7 ...");
  drafting.box.environment["PATH"] = drafting.box.folder.path().string();
  const auto refused = [&](std::vector<std::string> more, ExitCode wanted, const std::string& words) {
    more.insert(more.begin(), {"problem", "new", drafting.folder()});
    const ProgramResult result = drafting.box.run(more);
    INFO(words << "\n" << result.out << result.err);
    CHECK(result.exit_code == code(wanted));
    CHECK_THAT(result.err, Contains(words));
    CHECK(drafting.left().empty());
  };
  const std::string text = "squares";
  refused({"--describe", " \n", "--model", model}, ExitCode::usage, "say what to compute");
  refused({"--describe", std::string(9000, 'x'), "--model", model}, ExitCode::usage, "at most 8000");
  refused({"--describe", "\xff", "--model", model}, ExitCode::usage, "not UTF-8");
  refused({"--describe", text}, ExitCode::usage, "needs a language model");
  refused({"--describe", text, "--model", "agent:codex"}, ExitCode::usage, "ask it as a command");
  refused({"--describe", text, "--model", "nobody:x"}, ExitCode::usage, "nobody");
  refused({"--describe", text, "--model", model, "--paper", "none.md"}, ExitCode::bad_input, "no such file");
  refused({"--describe", text, "--model", model, "--paper", binary}, ExitCode::bad_input,
          "not a text in UTF-8");
  refused({"--describe", text, "--model", model, "--paper", blank}, ExitCode::bad_input, "it has no text");
  refused({"--describe", text, "--model", model, "--paper", pdf}, ExitCode::environment, "poppler-utils");
  refused({"--describe", text, "--model", model, "--from", "k.cu"}, ExitCode::usage, "excludes");
  refused({"--paper", pdf, "--model", model}, ExitCode::usage, "--describe");
}

TEST_CASE("a paper is quoted in the question, and what does not fit is named") {
  Drafting drafting;
  std::string paper = "We clip squares.\n";
  for (int i = 0; i < 20'000; ++i) paper += "line " + std::to_string(i) + "\n";
  const std::string file = drafting.box.write("paper.tex", paper);
  const std::string record = (drafting.box.folder / "record.jsonl").string();
  const ProgramResult made = drafting.draft({answer_with()}, {"--paper", file, "--record", record});
  INFO(made.out << made.err);
  CHECK(made.exit_code == 0);
  CHECK_THAT(made.err, Contains("paper.tex has") && Contains("the model sees the first"));
  const std::string question = read_file(record);
  CHECK_THAT(question,
             Contains("We clip squares.") && Contains("squares, at most one") && !Contains("line 19999"));
  CHECK(parse_json(read_file(drafting.folder() + "/draft.json"))["paper"] == "paper.tex");
}

TEST_CASE("a PDF is read by the pdftotext of the system") {
  Drafting drafting;
  const std::string program = drafting.box.write("pdftotext", "#!/bin/sh\necho \"Text of $5.\"\n");
  fs::permissions(program, fs::perms::owner_all);
  drafting.box.environment["PATH"] = drafting.box.folder.path().string() + ":/usr/bin:/bin";
  const std::string record = (drafting.box.folder / "record.jsonl").string();
  const ProgramResult made = drafting.draft(
      {answer_with()}, {"--paper", drafting.box.write("p.pdf", "%PDF-1.7"), "--record", record});
  INFO(made.out << made.err);
  CHECK(made.exit_code == 0);
  CHECK_THAT(read_file(record), Contains("Text of /") && Contains("p.pdf."));
}

TEST_CASE("a question for a draft waits in a mailbox, and the same command takes its answer") {
  Drafting drafting;
  const fs::path box = drafting.box.folder / "box";
  const std::vector<std::string> command{"problem",
                                         "new",
                                         drafting.folder(),
                                         "--describe",
                                         "squares, at most one",
                                         "--model",
                                         "mailbox:" + box.string()};
  const ProgramResult stopped =
      drafting.box.run(command, {.number = SIGINT, .after_file = box / "0001.question.md"});
  INFO(stopped.out << stopped.err);
  CHECK(stopped.exit_code == code(ExitCode::interrupted));
  CHECK(drafting.left().empty());
  CHECK_THAT(drafting.box.run({"mailbox", "list", box.string()}).out, Contains("open") && Contains("draft"));

  const std::string half = drafting.box.write("half.md", block("problem.json", sample_file("problem.json")));
  const auto mailbox = [&](const std::string& verb, const std::string& file) {
    return drafting.box.run({"mailbox", verb, file, "--question", (box / "0001").string()});
  };
  CHECK_THAT(mailbox("answer", half).err, Contains("workloads.jsonl is missing"));
  const std::string wrong = drafting.box.write("wrong.md", answer_with("reference.cu", wrong_reference()));
  const ProgramResult checked = mailbox("check", wrong);
  CHECK(checked.exit_code == code(ExitCode::no_kernel));
  CHECK_THAT(checked.out, Contains("0.5 by reference.cu"));
  const std::string right = drafting.box.write("right.md", answer_with());
  CHECK(mailbox("check", right).exit_code == 0);
  CHECK(mailbox("answer", right).exit_code == 0);

  const ProgramResult made = drafting.box.run(command);
  INFO(made.out << made.err);
  CHECK(made.exit_code == 0);
  CHECK(parse_json(read_file(box / "0001.json"))["state"] == "answered");
}

TEST_CASE("the draft that the instructions show passes the checks") {
  Drafting drafting;
  const std::string system = read_file(AK_SOURCE_DIR "/templates/prompts/draft_system.md");
  const ProgramResult made = drafting.draft({system});
  INFO(made.out << made.err);
  CHECK(made.exit_code == 0);
}
