// SPDX-License-Identifier: Apache-2.0
// What `problem new --from-python` says of files and interpreters that it cannot use. Nothing of a folder is left.
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/text/file.h"
#include "core/text/json.h"
#include "runtime/reference/python_installation.h"
#include "tests/support/daily_sample.h"
#include "tests/support/needs_pytorch.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// A module with `forward` of x, and what else the file has at its top level.
std::string module_file(const std::string& forward, const std::string& more = "",
                        const std::string& inputs = "[torch.rand(N, M)]") {
  return "import torch\nN = 8\nM = 16\n" + more +
         "\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        " + forward +
         "\ndef get_inputs():\n    return " + inputs + "\ndef get_init_inputs():\n    return []\n";
}

struct BadFile {
  std::string what, text, words;
};

const BadFile kBadFiles[] = {
    {"raises at import", module_file("return x * 2", "raise RuntimeError('no luck today')"),
     "RuntimeError in line 4: no luck today"},
    {"ends the process at import", module_file("return x * 2", "import os; os._exit(7)"),
     "the reference process ended with exit code 7"},
    {"crashes at import", module_file("return x * 2", "import ctypes; ctypes.string_at(0)"),
     "was ended by signal 11"},
    {"raises in forward", module_file("raise ValueError('odd shape')"), "ValueError in line 7: odd shape"},
    {"crashes in forward", module_file("import ctypes; ctypes.string_at(0); return x * 2"),
     "was ended by signal 11"},
    {"calls exit", module_file("return x * 2", "raise SystemExit(3)"), "the file calls exit(3)"},
    {"floods", module_file("[print('x' * 100000) for _ in range(1000)]; return x * 2"),
     "printed more than 16 MiB"},
    {"draws unseeded inputs",
     module_file("return x * 2", "import os",
                 "[torch.tensor([float(b) for b in os.urandom(N * M)]).view(N, M)]"),
     "drawn by a generator that no seed reaches"},
    {"draws inputs by the clock",
     module_file("return x * 2", "import time", "[torch.randn(N, M) * (time.perf_counter_ns() % 1000)]"),
     "differs between two draws of one seed"},
    {"keeps random values", module_file("return x @ W", "W = torch.randn(M, M)"),
     "random values that are no parameter or buffer (W)"},
    {"has results that are no numbers", module_file("return torch.log(-x - 1)"), "has NaN in"},
    {"maps more memory than there is", module_file("import mmap; mmap.mmap(-1, 1 << 46); return x * 2"),
     "more memory than there is"},
    {"draws random numbers", module_file("return x + torch.rand_like(x)"),
     "draws random numbers (rand_like)"},
    {"needs more memory than there is", module_file("return x + torch.zeros(1 << 44).sum()"),
     "more memory than there is"},
    {"writes a file", module_file("open('/tmp/of_a_reference', 'w').write('x'); return x * 2"),
     "a reference may write no files"},
    {"opens a socket", module_file("import socket; socket.socket(); return x * 2"), "open no sockets"},
    {"starts a program", module_file("import subprocess; subprocess.run(['/bin/true']); return x * 2"),
     "start no programs"},
    {"returns a view of its input", module_file("return x.t()"),
     "is a view of input x; return a tensor of its own"},
    {"changes its input", module_file("x.mul_(2); return x + 1"), "it changes its input x in place"},
    {"keeps something from call to call",
     module_file("self.calls = getattr(self, 'calls', 0) + 1; return x * self.calls"),
     "two runs with the same inputs give different results"},
    {"is not Python", module_file("return x *"), "is not Python: line 7"},
    {"has neither module nor function", "import torch\nN = 8\n", "it is none of"},
    {"makes no inputs",
     "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n",
     "get_inputs"},
    {"returns no inputs", module_file("return x * 2", "", "None"), "get_inputs() returns nothing"},
    {"makes inputs of text", module_file("return x * 2", "", "['text']"),
     "input x is str: tensors, numbers and None"},
    {"returns text", module_file("return 'text'"), "it returns str"},
    {"returns nothing", module_file("return None"), "it returns no tensor"},
    {"has a size of 0", module_file("return x * 2", "M = 0"), "x has the shape [8, 0]"},
    {"reads what only lies next to it",
     module_file("return x * len(NAME)",
                 "import os; NAME = open(os.path.dirname(__file__) + '/model.py').read()"),
     "in its problem folder it does not run as it does here"},
};

ProgramResult make(Sandbox& box, const std::string& text, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"problem", "new", (box.folder / "made").string(), "--from-python",
                                     box.write("model.py", text)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return box.run(arguments);
}

/// The folder itself, and what it is made under.
bool left_something(const Sandbox& box) {
  for (const auto& entry : std::filesystem::directory_iterator(box.folder.path()))
    if (entry.path().filename().string().starts_with("made")) return true;
  return false;
}

/// A folder with a package `torch` that only says its version, and a Python that finds it alone.
std::string python_with_torch(const Sandbox& box, const std::string& version) {
  const std::filesystem::path packages = box.folder / "packages";
  std::filesystem::create_directories(packages / "torch");
  box.write("packages/torch/__init__.py", "");
  box.write("packages/torch/version.py", "__version__ = '" + version + "'\ncuda = None\n");
  return packages.string();
}

/// An interpreter that looks for packages in `packages` alone.
std::string interpreter(const Sandbox& box, const std::string& packages) {
  const std::string program =
      box.write("python", "#!/bin/sh\nPYTHONPATH=" + packages + " exec /usr/bin/python3 -S \"$@\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return program;
}

}  // namespace

TEST_CASE("each kind of bad PyTorch file gets a message of its own, and no folder") {
  if (!pytorch_here()) return;
  for (std::size_t i = 0; i < std::size(kBadFiles); ++i) {
    if (!drawn_today(i, 8)) continue;
    const BadFile& file = kBadFiles[i];
    Sandbox box;
    const ProgramResult result = make(box, file.text);
    INFO(file.what << "\n" << result.out << result.err);
    CHECK(result.exit_code == code(ExitCode::bad_input));
    CHECK_THAT(result.err, Catch::Contains(file.words) && Catch::Contains("model.py"));
    CHECK(!left_something(box));
  }
}

TEST_CASE("a PyTorch file that hangs ends at the time limit") {
  if (!pytorch_here()) return;
  Sandbox box;
  const ProgramResult result =
      make(box, module_file("return x * 2", "while True: pass"), {"--time-limit", "1s"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::bad_input));
  CHECK_THAT(result.err, Catch::Contains("did not answer in time"));
  CHECK(!left_something(box));
}

TEST_CASE("inputs in nested lists become tensors with names of their own") {
  if (!pytorch_here()) return;
  Sandbox box;
  const ProgramResult result =
      make(box, module_file("return x[0] * 2 + x[1][0]", "", "[[torch.rand(N, M), [torch.rand(N, M)]]]"),
           {"--json"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const Json inputs = parse_json(read_file(box.folder / "made" / "problem.json"))["definition"]["inputs"];
  CHECK(inputs.contains("x_0"));
  CHECK(inputs.contains("x_1_0"));
}

TEST_CASE("an interpreter that cannot be used is named with what it lacks, and no folder is left") {
  struct Lacking {
    std::string program, words;
  };
  Sandbox box;
  const std::string text = module_file("return x * 2");
  const Lacking cases[] = {
      {"/nonexistent", "/nonexistent"},
      {"/bin/true", "/bin/true: is no Python interpreter"},
      {interpreter(box, (box.folder / "nothing").string()), "has no PyTorch"},
  };
  for (const Lacking& one : cases) {
    const ProgramResult result = make(box, text, {"--python", one.program});
    INFO(one.program << "\n" << result.out << result.err);
    CHECK(result.exit_code == code(ExitCode::environment));
    CHECK_THAT(result.err,
               Catch::Contains("no Python with PyTorch 1.13 or newer") && Catch::Contains(one.words));
    CHECK(!left_something(box));
  }
}

TEST_CASE("a PyTorch that is too old is named with its version") {
  Sandbox box;
  const std::string program = interpreter(box, python_with_torch(box, "1.8.0"));
  const ProgramResult result = make(box, module_file("return x * 2"), {"--python", program});
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::environment));
  CHECK_THAT(result.err, Catch::Contains("has PyTorch 1.8.0") && Catch::Contains("1.13 or newer"));
  CHECK(!left_something(box));
}

TEST_CASE("a task whose results ignore its inputs is called degenerate wherever it is looked at") {
  if (!pytorch_here()) return;
  Sandbox box;
  const ProgramResult made = make(box, module_file("return torch.softmax(x, 1).sum(1) * 3"), {"--json"});
  INFO(made.out << made.err);
  REQUIRE(made.exit_code == 0);
  CHECK_THAT(parse_json(made.out)["degenerate"].get<std::string>(),
             Catch::Contains("does not depend on the inputs"));
  const std::string folder = (box.folder / "made").string();
  const ProgramResult check = box.run({"problem", "check", folder, "--device", "none", "--arch", "sm_90a"});
  INFO(check.out << check.err);
  CHECK_THAT(check.out,
             Catch::Contains("degenerate: output does not depend") && Catch::Contains("not ranked"));
  std::filesystem::create_directories(box.folder / "board");
  std::filesystem::copy(box.folder / "model.py", box.folder / "board");
  const ProgramResult imported = box.run({"exchange", "import", (box.folder / "board").string(), "--problems",
                                          (box.folder / "problems").string()});
  INFO(imported.out << imported.err);
  CHECK_THAT(imported.out,
             Catch::Contains("1 of them are degenerate") && Catch::Contains("model: degenerate:"));
  const ProgramResult generate =
      box.run({"generate", "--problem", folder, "--device", "none", "--arch", "sm_90a", "--unaudited",
               "--output", (box.folder / "k.cu").string()});
  CHECK_THAT(generate.err, Catch::Contains("is degenerate: its kernels are not ranked and in no mean"));
}

TEST_CASE("a module of simple operators gets a starting kernel that passes every check") {
  if (!pytorch_here()) return;
  struct Simple {
    std::string what, forward, layers;
    std::vector<std::string> flags;
  };
  const Simple modules[] = {
      {"a reduction", "return x.mean(1)", "", {}},
      {"a choice", "return torch.argmax(x, 0)", "", {}},
      {"a norm of channels", "return self.layer(x)", "torch.nn.BatchNorm1d(M)", {}},
      {"a norm by what was learnt", "return self.layer(x)", "torch.nn.BatchNorm1d(M)", {"--eval"}},
  };
  for (std::size_t i = 0; i < std::size(modules); ++i) {
    if (!drawn_today(i, std::size(modules))) continue;
    const Simple& module = modules[i];
    Sandbox box;
    std::string text = module_file(module.forward);
    if (!module.layers.empty())
      text.insert(text.find("    def forward"),
                  "    def __init__(self):\n        super().__init__()\n        self.layer = " +
                      module.layers + "\n");
    const ProgramResult made = make(box, text, module.flags);
    INFO(module.what << "\n" << made.out << made.err);
    REQUIRE(made.exit_code == 0);
    CHECK_THAT(made.out, Catch::Contains("start.cu is a plain kernel to start from"));
    const ProgramResult check =
        box.run({"problem", "check", (box.folder / "made").string(), "--device", "emulator"});
    INFO(check.out << check.err);
    CHECK(check.exit_code == 0);
    CHECK_THAT(check.out, Catch::Contains("every kernel passed"));
  }
}

TEST_CASE("a check of a problem without kernels does not say that kernels passed") {
  if (!pytorch_here()) return;
  Sandbox box;
  REQUIRE(make(box, module_file("return torch.linalg.inv(x[:, :N] + 9 * torch.eye(N))")).exit_code == 0);
  const ProgramResult check =
      box.run({"problem", "check", (box.folder / "made").string(), "--device", "none", "--arch", "sm_90a"});
  INFO(check.out << check.err);
  CHECK(check.exit_code == 0);
  CHECK_THAT(check.out, Catch::Contains("it has no kernel, so none was tried"));
  CHECK_THAT(check.out, !Catch::Contains("every kernel passed"));
}

TEST_CASE("the script that audits an import writes a row for each task, and keeps those that it has") {
  if (!pytorch_here()) return;
  Sandbox box;
  std::filesystem::create_directories(box.folder / "board");
  box.write("board/fine.py", module_file("return torch.tanh(x)"));
  box.write("board/nothing.py", module_file("return torch.softmax(x, 1).sum(1)"));
  box.write("board/broken.py", module_file("raise ValueError('no')"));
  const std::string problems = (box.folder / "problems").string(),
                    table = (box.folder / "audits.csv").string();
  const ProgramResult imported =
      box.run({"exchange", "import", (box.folder / "board").string(), "--problems", problems, "--json"});
  CHECK(imported.exit_code == code(ExitCode::bad_input));
  const std::string list = box.write("imported.json", imported.out);
  const auto audit = [&] {
    return run_program({runtime::find_python("").program, AK_SOURCE_DIR "/scripts/check/audit_problems.py",
                        problems, "--imported", list, "--output", table, "--program", AK_PROGRAM},
                       box.environment);
  };
  const ProgramResult first = audit();
  INFO(imported.out << imported.err << first.out << first.err);
  CHECK(first.exit_code == 1);  // one task has no folder
  CHECK(first.out.starts_with("3 tasks: 2 made, "));
  const std::string rows = read_file(table);
  CHECK_THAT(rows, Catch::Contains("\nfine,1,0,passed,") && Catch::Contains("\nnothing,1,1,") &&
                       Catch::Contains("\nbroken,0,0,,,") && Catch::Contains("ValueError in line 7: no"));
  CHECK(audit().out == first.out);
  CHECK(read_file(table) == rows);  // seconds included: nothing was audited again
}

TEST_CASE(
    "a kernel for a KernelBench task becomes a ModelNew that calls it with inputs and weights in its order") {
  if (!pytorch_here()) return;
  const std::string files = AK_SOURCE_DIR "/tests/tools/kernelbench_task/";
  Sandbox box;
  const ProgramResult made = make(box, read_file(files + "task.py"));
  INFO(made.out << made.err);
  REQUIRE(made.exit_code == 0);
  const std::string problem = (box.folder / "made").string(), folder = (box.folder / "out").string();
  const auto exported = [&](const std::string& output, const std::vector<std::string>& format) {
    std::vector<std::string> arguments{"export", files + "linear.cu", "--problem", problem, "--arch",
                                       "sm_90a", "--output",          output};
    arguments.insert(arguments.end(), format.begin(), format.end());
    return box.run(arguments);
  };
  const ProgramResult written = exported(folder, {"--format", "kernelbench"});
  INFO(written.out << written.err);
  REQUIRE(written.exit_code == 0);
  CHECK_THAT(written.out, Catch::Contains("1 file; model_new.py has class ModelNew"));
  const ProgramResult ran =
      run_program({"/usr/bin/env", "TORCH_EXTENSIONS_DIR=" + (box.folder / "built").string(),
                   runtime::find_python("").program, files + "try_model_new.py", folder + "/model_new.py"});
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
}

TEST_CASE("a kernel for a Python problem is exported as a folder that is checked against the file itself") {
  if (!pytorch_here()) return;
  const std::string files = AK_SOURCE_DIR "/tests/tools/kernelbench_task/";
  Sandbox box;
  REQUIRE(make(box, read_file(files + "task.py")).exit_code == 0);
  const std::string folder = (box.folder / "out").string();
  const ProgramResult written =
      box.run({"export", files + "linear.cu", "--problem", (box.folder / "made").string(), "--arch", "sm_90a",
               "--output", folder});
  INFO(written.out << written.err);
  REQUIRE(written.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder + "/model_benchmark.cu"));
  CHECK_THAT(read_file(folder + "/README.md"), Catch::Contains("The reference is a Python file"));
  CHECK_THAT(read_file(folder + "/CMakeLists.txt"), !Catch::Contains("benchmark"));
  const ProgramResult ran =
      run_program({"/usr/bin/env", "PYTHONDONTWRITEBYTECODE=1", runtime::find_python("").program,
                   files + "try_reference.py", folder + "/torch/reference.py"});
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
}

namespace {

/// The folder that a problem is made under, once it is there; empty after a patience.
std::filesystem::path unfinished_folder(const Sandbox& box) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    for (const auto& entry : std::filesystem::directory_iterator(box.folder.path()))
      if (entry.path().extension() == ".tmp") return entry.path();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

}  // namespace

TEST_CASE("a signal leaves no half-made folder, and says that the making was interrupted") {
  if (!pytorch_here()) return;
  struct Started {
    std::string what;
    std::vector<std::string> arguments;
    int signal;
  };
  Sandbox box;
  std::filesystem::create_directories(box.folder / "board");
  const std::string endless = module_file("while True: pass");
  box.write("board/endless.py", endless);
  const std::string file = box.write("model.py", endless), made = (box.folder / "made").string();
  const Started cases[] = {
      {"Ctrl-C", {"problem", "new", made, "--from-python", file}, SIGINT},
      {"a request to end", {"problem", "new", made, "--from-python", file}, SIGTERM},
      {"Ctrl-C in an import",
       {"exchange", "import", (box.folder / "board").string(), "--problems", box.folder.path()},
       SIGINT},
  };
  for (const Started& one : cases) {
    INFO(one.what);
    std::vector<std::string> arguments = one.arguments;
    arguments.insert(arguments.begin(), AK_PROGRAM);
    const pid_t program = start_program(arguments, box.environment, box.folder.path());
    CHECK_FALSE(unfinished_folder(box).empty());
    ::kill(program, one.signal);
    int status = 0;
    ::waitpid(program, &status, 0);
    INFO(read_file(box.folder / "err"));
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == code(ExitCode::interrupted)));
    CHECK_THAT(read_file(box.folder / "err"), Catch::Contains("interrupted"));
    for (const auto& entry : std::filesystem::directory_iterator(box.folder.path()))
      CHECK(entry.path().extension() != ".tmp");
    CHECK_FALSE(std::filesystem::exists(made));
  }
}

TEST_CASE("what a file imports from its folder, and tensors that it names, come with the problem") {
  if (!pytorch_here()) return;
  Sandbox box;
  std::filesystem::create_directories(box.folder / "parts" / "inner");
  box.write("helper.py",
            "import torch\nfrom parts.inner.last import factor\ndef act(x): return torch.tanh(x) * factor\n");
  box.write("parts/__init__.py", "");
  box.write("parts/inner/__init__.py", "");
  box.write("parts/inner/last.py", "from . import number\nfactor = number.value\n");
  box.write("parts/inner/number.py", "value = 2\n");
  box.write("unused.py", "raise RuntimeError('nobody imports it')\n");
  const ProgramResult saved = run_program({pytorch_here()->program, "-c",
                                           "import torch, sys; torch.save(torch.ones(16), sys.argv[1])",
                                           (box.folder / "weights.pt").string()});
  REQUIRE(saved.exit_code == 0);
  const ProgramResult result =
      make(box, module_file("return act(x) + W",
                            "import os\nfrom helper import act\n"
                            "W = torch.load(os.path.join(os.path.dirname(__file__), 'weights.pt'))"));
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const std::filesystem::path made = box.folder / "made";
  for (const char* file :
       {"helper.py", "parts/__init__.py", "parts/inner/last.py", "parts/inner/number.py", "weights.pt"})
    CHECK(std::filesystem::exists(made / file));
  CHECK_FALSE(std::filesystem::exists(made / "unused.py"));
  for (const char* gone : {"helper.py", "weights.pt"}) std::filesystem::remove(box.folder / gone);
  std::filesystem::remove_all(box.folder / "parts");
  const ProgramResult audit =
      box.run({"algorithms", "audit", "--problem", made.string(), "--device", "emulator"});
  INFO(audit.out << audit.err);
  CHECK(audit.exit_code == 0);
}

TEST_CASE("too much to import is refused by name") {
  if (!pytorch_here()) return;
  Sandbox box;
  box.write("helper.py", "text = '" + std::string(std::size_t{2} << 20, 'x') + "'\n");
  const ProgramResult result = make(box, module_file("return x * len(helper.text)", "import helper"));
  INFO(result.err);
  CHECK(result.exit_code == code(ExitCode::bad_input));
  CHECK_THAT(result.err, Catch::Contains("helper.py") && Catch::Contains("expected at most"));
  CHECK(!left_something(box));
}

TEST_CASE("a file that looks at values gets no starting kernel, which would know one way through it") {
  if (!pytorch_here()) return;
  const char* const looks[] = {"x.sum() > 0", "x.tolist()[0][0] > 0", "x.detach().numpy().sum() > 0",
                               "x.mean().item() > 0"};
  for (std::size_t i = 0; i < std::size(looks); ++i) {
    if (!drawn_today(i, std::size(looks))) continue;
    const char* look = looks[i];
    Sandbox box;
    const ProgramResult result =
        make(box, module_file("return x * 2 if " + std::string(look) + " else x * 3"));
    INFO(look << "\n" << result.out << result.err);
    CHECK(result.exit_code == 0);
    CHECK_FALSE(std::filesystem::exists(box.folder / "made" / "start.cu"));
  }
}

TEST_CASE(
    "modules of many kinds become problems whose checks are audited and whose kernels pass, on the CPU "
    "device") {
  if (!pytorch_here()) return;
  std::vector<std::filesystem::path> modules;
  for (const auto& entry : std::filesystem::directory_iterator(AK_SOURCE_DIR "/tests/tools/python_modules"))
    modules.push_back(entry.path());
  std::ranges::sort(modules);
  CHECK(modules.size() >= 12);
  Sandbox box;
  int kernels = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (i != 0 && !drawn_today(i, 10)) continue;  // the first one has a starting kernel
    const std::string name = modules[i].stem().string(), made = (box.folder / name).string();
    const ProgramResult folder = box.run({"problem", "new", made, "--from-python", modules[i].string()});
    INFO(name << "\n" << folder.out << folder.err);
    CHECK(folder.exit_code == 0);
    const ProgramResult audit = box.run({"algorithms", "audit", "--problem", made, "--device", "emulator"});
    INFO(audit.out << audit.err);
    CHECK(audit.exit_code == 0);
    const ProgramResult check = box.run({"problem", "check", made, "--device", "emulator"});
    INFO(check.out << check.err);
    CHECK(check.exit_code == 0);
    kernels += check.out.find("every kernel passed") != std::string::npos;
  }
  CHECK(kernels > 0);
}

TEST_CASE("an import takes every form of a board, and names the files that are no tasks") {
  if (!pytorch_here()) return;
  Sandbox box;
  std::string spaced = module_file("return x * 2");
  spaced.replace(spaced.find("class Model("), 12, "class  Model  (");
  for (const char* folder : {"board/sums", "board/set/definitions", "board/set/workloads/any"})
    std::filesystem::create_directories(box.folder / folder);
  box.write("board/spaced.py", spaced);
  box.write("board/helper.py", "import torch\n");
  box.write("board/no_inputs.py", "import torch\nclass Model(torch.nn.Module):\n    pass\n");
  box.write("board/sums/reference.py",
            "import torch\ndef ref_kernel(data):\n    x, out = data\n    out[...] = x + 1\n    return out\n"
            "def generate_input(size: int, seed: int):\n"
            "    return torch.rand(size), torch.empty(size)\n");
  box.write("board/sums/task.yml",
            "benchmarks:\n  - {\"size\": 64, \"seed\": 1}\n  - {\"size\": 96, \"seed\": 1}\n");
  box.write("board/sums/solution.py", "import torch\n");
  box.write("board/set/definitions/doubled.json",
            R"({"name": "doubled", "axes": {"n": {"type": "var"}},
                "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
                "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
                "reference": "def run(x):\n    return x * 2\n"})");
  box.write("board/set/workloads/any/doubled.jsonl",
            R"({"workload": {"uuid": "a", "axes": {"n": 77}, "inputs": {"x": {"type": "random"}}}})");
  const std::string problems = (box.folder / "problems").string();
  const ProgramResult imported =
      box.run({"exchange", "import", (box.folder / "board").string(), "--problems", problems});
  INFO(imported.out << imported.err);
  CHECK(imported.exit_code == 0);
  CHECK_THAT(imported.out, Catch::Contains("made 3 of 3 problem folders"));
  CHECK_THAT(imported.err, Catch::Contains("5 files, 3 tasks") &&
                               Catch::Contains("helper.py: it has no class Model(...)") &&
                               Catch::Contains("no_inputs.py: it has no get_inputs()") &&
                               !Catch::Contains("solution.py"));
  CHECK(parse_json(read_file(problems + "/sums/problem.json"))["python"]["buffers"] ==
        Json::array({"data_1"}));
  CHECK_THAT(read_file(problems + "/doubled/workloads.jsonl"), Catch::Contains(R"("axes":{"n":77})"));
  for (const char* task : {"spaced", "sums", "doubled"})
    CHECK(box.run({"problem", "check", problems + "/" + task, "--device", "emulator"}).exit_code == 0);
}
