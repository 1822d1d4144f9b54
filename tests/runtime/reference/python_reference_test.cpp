// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/text/file.h"
#include "core/text/hash.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/evaluator/local_evaluator.h"
#include "runtime/evaluator/problem_audit.h"
#include "runtime/reference/python_installation.h"
#include "runtime/reference/reference_process.h"
#include "runtime/reference/reference_starter.h"
#include "runtime/reference/reference_worker.h"
#include "tests/support/build_cache.h"
#include "tests/support/daily_sample.h"
#include "tests/support/device_bench.h"
#include "tests/support/needs_pytorch.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"
#include "tests/support/started_reference.h"
#include "tests/support/tiny_problem.h"

namespace ak::runtime {
namespace {

using testing::pytorch_here;
using testing::StartedReference;
using testing::starter_or_none;
using testing::TemporaryFolder;

const Arch kHopper{.major = 9, .minor = 0, .feature = 'a'};

using Catch::Matchers::Contains;

TEST_CASE("a reference process says what is wrong with a file, and goes on") {
  const auto python = pytorch_here();
  if (!python) return;
  ReferenceStarter& starter = testing::shared_starter();
  StartedReference started(*python, {}, false, nullptr, starter_or_none(starter, *python));
  const struct {
    const char *body, *message;
  } rows[] = {
      {"return torch.rand(4)", "two runs on the same inputs differ in output y"},
      {"seen.append(1); return x + len(seen)", "two runs on the same inputs differ in output y"},
      {"return x.view(4)", "is a view of input x"},
      {"return x.add_(1)", "changes its input x in place"},
      {"return (x + 1)[:3]", "output y has the shape [3]; the problem says [4]"},
      {"return (x + 1).double()", "output y is float64; the problem says float32"},
      {"return x.argsort()", "output y is int64; the problem says float32"},
      {"return x + 1, x + 2", "it returns 2 tensors; the problem has 1 outputs: y"},
      {"raise ValueError('no such case')", "ValueError in line 4: no such case"},
      {"import socket; socket.socket(); return x + 1", "a reference may write no files, open no sockets"},
      {"open('/tmp/alphakernel_left', 'w'); return x + 1", "a reference may write no files, open no sockets"},
      {"import os; os.fork(); return x + 1", "start no programs"},
      {"import os; os.execv('/usr/bin/python3', ['python3']); return x + 1", "start no programs"},
      {"open('/etc/passwd').read(); return x + 1", "Permission denied"},
  };
  for (const auto& row : rows) {
    INFO(row.body);
    CHECK_THAT(started.refusal_of(row.body), Contains(row.message));
    CHECK_FALSE(started.process.lost());
  }
  CHECK(access("/tmp/alphakernel_left", F_OK) != 0);
  CHECK(started.refusal_of("return x + 1").empty());
  // PyTorch 2 asks for it when it counts operations.
  CHECK(started.refusal_of("import getpass; getpass.getuser(); return x + 1").empty());
  const auto broken = started.open("def run(x:\n");
  REQUIRE_FALSE(broken);
  CHECK_THAT(broken.error().message, Contains("is not Python: line 1"));
  const auto half = started.open("import torch\ndef run(x):\n  return x + 1\n", "float8_e5m2");
  if (half) CHECK_THAT(started.compute().error().message, Contains("float8_e5m2"));
}

TEST_CASE("a reference with values that no kernel can know is refused, and what it tries in vain is named") {
  const auto python = pytorch_here();
  if (!python) return;
  StartedReference started(*python);
  for (const char* drawn : {"torch.rand(4)", "__import__('random').random()"}) {
    INFO(drawn);
    REQUIRE(started.open(std::string("import torch\nW = ") + drawn + "\ndef run(x):\n  return x + W\n"));
    const auto answer = started.compute();
    REQUIRE_FALSE(answer);
    CHECK_THAT(answer.error().message, Contains("output y depends on random values that are no parameter"));
  }
  REQUIRE(
      started.open("import torch, socket\nW = torch.ones(4)\ndef run(x):\n  try:\n    socket.socket()\n"
                   "  except OSError:\n    pass\n  return x + W\n"));
  const auto answer = started.compute();
  REQUIRE(answer);
  CHECK_THAT(answer->at("notes").dump(), Contains("line 5 tries to open a socket"));
}

TEST_CASE("a reference for a GPU runs on the CPU where PyTorch finds no GPU, and says so") {
  const auto python = pytorch_here();
  if (!python) return;
  StartedReference started(*python, {}, true);
  const bool on_gpu = started.refusal_of("assert x.is_cuda; return x + 1").empty();
  REQUIRE(started.open("import torch\ndef run(x):\n  return x + 1\n"));
  const auto answer = started.compute();
  REQUIRE(answer);
  const std::string notes = answer->at("notes").dump();
  CHECK((notes.find("PyTorch cannot use the GPU") == std::string::npos) == on_gpu);
}

TEST_CASE("a reference process that crashes, hangs, floods or lies is given up with a reason") {
  const auto python = pytorch_here();
  if (!python) return;
  ReferenceStarter& starter = testing::shared_starter();
  const std::string offered = starter_or_none(starter, *python);
  const struct {
    const char *body, *message;
    std::chrono::milliseconds limit = testing::kPatience;
  } rows[] = {
      {"import os; os.abort()", "was ended by signal 6"},
      {"import os, sys; print('last', 'words', file=sys.stderr, flush=True); os._exit(3)",
       "ended with exit code 3; its last words: last words"},
      {"while True: pass", "did not answer in time", std::chrono::milliseconds(1'000)},
      {"while True: print('x' * 100000)", "printed more than 16 MiB"},
      {"import os; os.write(3, b'{}\\n'); return x + 1", "answered what it was not asked"},
      {"import os; os.close(3); return x + 1", "the reference process"},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    // An interpreter of its own takes a second to start.
    if (offered.empty() && !testing::drawn_today(i, std::size(rows))) continue;
    const auto& row = rows[i];
    INFO(row.body);
    StartedReference started(*python, {}, false, nullptr, offered);
    // The file is read within any limit that a run has.
    REQUIRE(started.open(std::string("import torch\ndef run(x):\n    ") + row.body + "\n"));
    const auto answer = started.compute(row.limit);
    REQUIRE_FALSE(answer);
    CHECK_THAT(answer.error().message, Contains(row.message));
    CHECK(answer.error().lost);
    CHECK(started.process.lost());
  }
}

TEST_CASE("memory beyond the limit is refused and not taken") {
  const auto python = pytorch_here();
  if (!python) return;
  ReferenceStarter& starter = testing::shared_starter();
  StartedReference started(*python, {.memory_bytes = std::size_t{2} << 30}, false, nullptr,
                           starter_or_none(starter, *python));
  for (const char* body : {"return x + torch.ones(1 << 30).sum()",
                           // Shared memory, which is filled only when it is touched.
                           "import mmap; mmap.mmap(-1, 12 << 30); return x + 1"}) {
    INFO(body);
    CHECK_THAT(started.refusal_of(body), Contains("needs more memory than there is"));
  }
  CHECK_FALSE(started.process.lost());
}

struct ProcessState {
  std::string state;  ///< empty: there is none of the number
  pid_t parent = 0;
};
ProcessState state_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name;
  ProcessState found;
  status >> number >> name >> found.state >> found.parent;
  return found;
}
bool is_gone(pid_t pid) {
  const std::string state = state_of(pid).state;
  return state.empty() || state == "Z";
}
pid_t parent_of(pid_t pid) { return state_of(pid).parent; }
/// Whether it ends before the patience does.
bool goes(pid_t pid) {
  const auto deadline = testing::out_of_patience();
  while (!is_gone(pid) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return is_gone(pid);
}

TEST_CASE("a reference process ends when what asked it was killed") {
  const auto python = pytorch_here();
  if (!python) return;
  ReferenceStarter& starter = testing::shared_starter();
  const std::string offered = starter_or_none(starter, *python);
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    StartedReference started(*python, {}, false, nullptr, offered);
    const pid_t pid = started.process.pid();
    static_cast<void>(::write(ends[1], &pid, sizeof pid));
    static_cast<void>(started.refusal_of("while True: pass"));
    ::_exit(0);
  }
  ::close(ends[1]);  // so that reading ends when the owner does
  pid_t reference = 0;
  REQUIRE(::read(ends[0], &reference, sizeof reference) == sizeof reference);
  CHECK_FALSE(is_gone(reference));
  REQUIRE(::kill(owner, SIGKILL) == 0);
  CHECK(goes(reference));
  ::waitpid(owner, nullptr, 0);
  ::close(ends[0]);
}

TEST_CASE("copies end with their starter, and the next one has another") {
  const auto python = pytorch_here();
  if (!python) return;
  auto starter = std::make_unique<ReferenceStarter>();
  const std::string first = starter->offer(*python);
  CHECK(starter->offer(*python) == first);
  StartedReference one(*python, {}, false, nullptr, first), other(*python, {}, false, nullptr, first);
  CHECK(one.refusal_of("return x + 1").empty());
  CHECK(other.refusal_of("return x + 1").empty());
  REQUIRE(parent_of(one.process.pid()) == parent_of(other.process.pid()));
  REQUIRE(parent_of(one.process.pid()) != ::getpid());
  const pid_t killed = parent_of(one.process.pid());
  REQUIRE(::kill(killed, SIGKILL) == 0);
  REQUIRE(goes(killed));
  REQUIRE(goes(one.process.pid()));
  CHECK_THAT(one.refusal_of("return x + 1"), Contains("the reference process closed its socket"));
  CHECK(one.process.lost());

  const std::string second = starter->offer(*python);
  CHECK(second != first);
  StartedReference later(*python, {}, false, nullptr, second);
  CHECK(later.refusal_of("return x + 1").empty());
  const pid_t copy = later.process.pid(), parent = parent_of(copy);
  REQUIRE(parent != ::getpid());
  starter.reset();
  CHECK(goes(copy));
  CHECK(goes(parent));
  // A name of the past, or of another machine.
  StartedReference own(*python, {}, false, nullptr, second);
  CHECK(own.refusal_of("return x + 1").empty());
  CHECK(parent_of(own.process.pid()) == ::getpid());
}

/// Whether it has an answer for y = x + 1.
bool adds_one(StartedReference& started) { return started.refusal_of("return x + 1").empty(); }

TEST_CASE(
    "a reference process serves the next who computes the same, and nothing of the first is left in it") {
  const auto python = pytorch_here();
  if (!python) return;
  ReferenceStarter& starter = testing::shared_starter();
  const std::string offered = starter.offer(*python);
  const auto folder = std::make_shared<TemporaryFolder>();
  const auto started = [&](const char* what = "add") {
    return std::make_unique<StartedReference>(*python, offered, what, folder);
  };
  auto first = started();
  const pid_t pid = first->process.pid();
  CHECK(adds_one(*first));
  auto beside = started();
  CHECK(beside->process.pid() != pid);  // one that serves is given to no other
  CHECK(adds_one(*beside));
  first.reset();
  auto next = started();
  REQUIRE(next->process.pid() == pid);
  CHECK_THAT(next->compute_twin().error().message, Contains("Error"));  // no workload, no inputs
  CHECK(adds_one(*next));
  CHECK_THAT(next->refusal_of("return x + 2"), Contains("this process serves"));
  next.reset();
  beside.reset();
  // For something else there is another one, and those that rest on its device end.
  const auto other = started("subtract");
  CHECK(other->process.pid() != pid);
  CHECK(goes(pid));
}

TEST_CASE("a reference process has the device memory of whom it serves, and gives it back") {
  const auto python = pytorch_here();
  if (!python) return;
  const std::string offered = testing::shared_starter().offer(*python);
  const auto folder = std::make_shared<TemporaryFolder>();
  pid_t pid = 0;
  for (const char* name : {"of the first", "of the second"}) {
    INFO(name);
    const FileDescriptor memory(::memfd_create(name, MFD_CLOEXEC));
    const StartedReference started(*python, offered, "memory", folder, memory.get());
    if (pid == 0) pid = started.process.pid();
    REQUIRE(started.process.pid() == pid);
    const auto place = fmt::format("/proc/{}/fd/{}", pid, runtime::kReferenceDeviceMemory);
    CHECK_THAT(std::filesystem::read_symlink(place).string(), Contains(name));
  }
  for (const auto until = testing::out_of_patience();
       std::filesystem::exists(fmt::format("/proc/{}/fd/{}", pid, runtime::kReferenceDeviceMemory)) &&
       std::chrono::steady_clock::now() < until;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (const auto& held : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid)))
    CHECK_THAT(std::filesystem::read_symlink(held).string(), !Contains("of the "));
}

TEST_CASE("a reference process that hung or lied serves no one else") {
  const auto python = pytorch_here();
  if (!python) return;
  ReferenceStarter& starter = testing::shared_starter();
  const std::string offered = starter.offer(*python);
  const struct {
    const char* body;
    std::chrono::milliseconds limit = testing::kPatience;
  } rows[] = {{"while True: pass", std::chrono::milliseconds(1'000)},
              {"import os; os.write(3, b'{}\\n'); return x + 1"}};
  for (const auto& row : rows) {
    INFO(row.body);
    const auto folder = std::make_shared<TemporaryFolder>();
    pid_t pid = 0;
    {
      StartedReference started(*python, offered, row.body, folder);
      pid = started.process.pid();
      CHECK_FALSE(started.refusal_of(row.body, row.limit).empty());
    }
    StartedReference later(*python, offered, row.body, folder);
    CHECK(later.process.pid() != pid);
    CHECK(adds_one(later));
    CHECK(goes(pid));
  }
}

TEST_CASE("a reference process goes on to the next one when who had it was killed, unless it computes") {
  const auto python = pytorch_here();
  if (!python) return;
  ReferenceStarter& starter = testing::shared_starter();
  const std::string offered = starter.offer(*python);
  for (const bool computes : {false, true}) {
    INFO(computes);
    const auto folder = std::make_shared<TemporaryFolder>();
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t owner = ::fork();
    if (owner == 0) {
      StartedReference started(*python, offered, "shared", folder);
      const char* const body = computes ? "while True: pass" : "return x + 1";
      if (!computes) static_cast<void>(started.refusal_of(body));
      const pid_t pid = started.process.pid();
      static_cast<void>(::write(ends[1], &pid, sizeof pid));
      if (computes) static_cast<void>(started.refusal_of(body));
      ::pause();
    }
    ::close(ends[1]);
    pid_t reference = 0;
    REQUIRE(::read(ends[0], &reference, sizeof reference) == sizeof reference);
    ::close(ends[0]);
    if (computes) std::this_thread::sleep_for(std::chrono::milliseconds(500));  // so that it has begun
    REQUIRE(::kill(owner, SIGKILL) == 0);
    ::waitpid(owner, nullptr, 0);
    if (computes) {
      CHECK(goes(reference));
      continue;
    }
    // It rests a moment after the other's end is known.
    pid_t next = 0;
    for (const auto until = testing::out_of_patience();
         next != reference && std::chrono::steady_clock::now() < until;)
      next = StartedReference(*python, offered, "shared", folder).process.pid();
    CHECK(next == reference);
  }
}

TEST_CASE("a starter ends with the process that has it, whatever thread made it") {
  const auto python = pytorch_here();
  if (!python) return;
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    ReferenceStarter starter;
    std::string name;
    std::thread([&] { name = starter.offer(*python); }).join();
    StartedReference started(*python, {}, false, nullptr, name);
    const std::array<pid_t, 2> pids{started.process.pid(), parent_of(started.process.pid())};
    static_cast<void>(::write(ends[1], pids.data(), sizeof pids));
    ::pause();
  }
  ::close(ends[1]);
  std::array<pid_t, 2> pids{};
  REQUIRE(::read(ends[0], pids.data(), sizeof pids) == sizeof pids);
  CHECK(pids[1] != owner);
  CHECK_FALSE(is_gone(pids[0]));
  REQUIRE(::kill(owner, SIGKILL) == 0);
  CHECK(goes(pids[0]));
  CHECK(goes(pids[1]));
  ::waitpid(owner, nullptr, 0);
  ::close(ends[0]);
}

TEST_CASE("an interpreter without a PyTorch that will do is named with what it lacks") {
  CHECK_THROWS_WITH(find_python("/nowhere/python3"), Contains("/nowhere/python3: cannot be started") &&
                                                         Contains("needs: ") && Contains("--python"));
  CHECK_THROWS_WITH(find_python("/bin/true"), Contains("/bin/true: is no Python interpreter"));
  const PythonInstallation old{
      .program = {}, .version = {}, .torch = "1.12.1+cu113", .cuda = {}, .path = {}, .readable = {}};
  CHECK_FALSE(old.suits(kTorchForReferences));
  CHECK(PythonInstallation{
      .program = {}, .version = {}, .torch = "2.11.0", .cuda = {}, .path = {}, .readable = {}}
            .suits({2, 4}));
}

// ---- problems

/// c = f(a, b), by a Python file.
struct PythonProblem {
  std::string source;
  std::string kind = "function";
  Json options = Json::object();
  DType output = DType::float32;
  std::vector<InputDistribution> distributions = {{"normal", InputKind::normal, 1, 0}};
  std::vector<Mutation> mutations = {};
};

struct PythonBench {
  TemporaryFolder folder;
  std::shared_ptr<const ProblemInstance> problem;
  EvaluatorOptions options;
  std::unique_ptr<Evaluator> evaluator;

  explicit PythonBench(const PythonProblem& python) {
    auto made = std::make_shared<ProblemInstance>(
        *test::make_problem({.check_sizes = {5, 300}, .distributions = python.distributions}));
    const std::string file = (folder / "reference.py").string();
    write_file_atomically(file, python.source);
    made->reference_cu.clear();
    made->python = PythonReference{
        .file = file, .source = python.source, .kind = python.kind, .options = python.options};
    made->definition.outputs.front().dtype = python.output;
    made->mutations = python.mutations;
    problem = made;
    options.device = DeviceKind::emulator;
    options.target = kHopper;
    options.max_emulators = 1;
    options.compile_workers = 2;
    options.worker_command = test::self_as_worker();
    options.compile_deadline = testing::kPatience;
    options.cache_dir = testing::shared_build_cache();
  }

  EvaluationResult run(const std::string& body,
                       const std::string& types = "const float* a, const float* b, float* c") {
    if (!evaluator) evaluator = make_local_evaluator(options, test::plain_assembler());
    EvaluationRequest request;
    request.problem = problem;
    request.candidate = test::make_candidate(
        "candidate", test::elementwise_plan("k"),
        "extern \"C\" __global__ void k(" + types +
            ", long long n) {\n  const long long i = blockIdx.x * 256ll + threadIdx.x;\n  if (i < n) " +
            body + ";\n}\n");
    request.arch = kHopper;
    request.depth = Depth::check;
    static_cast<void>(evaluator->submit(std::move(request)));
    auto completed = evaluator->wait_any(testing::out_of_patience());
    REQUIRE(completed);
    return std::move(completed->result);
  }

  ProblemAudit audit() const {
    return audit_problem(options, test::plain_assembler(), emulated_device_facts(kHopper),
                         {.problem = problem, .workloads = {"n5", "n300"}, .seed = 1});
  }
};

TEST_CASE("candidates are checked against a reference in Python") {
  if (!pytorch_here()) return;
  PythonBench bench(
      {.source = "import torch\ndef run(a, b):\n    return torch.nn.functional.gelu(a * b + 1)\n"});
  const auto right =
      bench.run("{ const float x = a[i] * b[i] + 1; c[i] = 0.5f * x * (1 + erff(x * 0.70710678f)); }");
  INFO(test::describe(right));
  CHECK(right.outcome.status == Status::ok);
  CHECK(right.checks.size() == 2);
  const auto wrong = bench.run("{ const float x = a[i] * b[i] + 1; c[i] = x > 0 ? x : 0; }");
  INFO(test::describe(wrong));
  CHECK(wrong.outcome.status == Status::incorrect);
}

TEST_CASE("integers of a reference in Python are compared as integers") {
  if (!pytorch_here()) return;
  PythonBench bench({.source = "import torch\ndef run(a, b):\n    return torch.stack([a, b]).argmax(0)\n",
                     .output = DType::int64});
  const std::string types = "const float* a, const float* b, long long* c";
  CHECK(bench.run("c[i] = b[i] > a[i]", types).outcome.status == Status::ok);
  CHECK(bench.run("c[i] = a[i] > b[i]", types).outcome.status == Status::incorrect);
}

TEST_CASE("outputs that a problem omits are not compared, and the others keep their places") {
  if (!pytorch_here()) return;
  const std::string source = "def run(a, b):\n    return a * 0, a * b, 3\n";
  PythonBench bench({.source = source, .options = {{"omit", {0, 2}}}});
  CHECK(bench.run("c[i] = a[i] * b[i]").outcome.status == Status::ok);
  CHECK(bench.run("c[i] = 0").outcome.status == Status::incorrect);
  PythonBench whole({.source = source});
  CHECK(whole.run("c[i] = a[i] * b[i]").outcome.status == Status::invalid_reference);
}

constexpr const char* kModule = R"(
import torch
N = 7
class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.b = torch.nn.Parameter(torch.rand(n))
        self.drop = torch.nn.Dropout(0.5)
    def forward(self, a):
        return self.drop(torch.relu(a) * self.b)
def get_inputs():
    return [torch.rand(N) - 0.5]
def get_init_inputs():
    return [N]
)";

TEST_CASE("a module's parameters are inputs, and its own inputs a distribution") {
  if (!pytorch_here()) return;
  PythonProblem python{.source = kModule, .kind = "kernelbench", .options = {{"eval", true}}};
  python.distributions.push_back({"given", InputKind::given, 1, 0});
  PythonBench bench(python);
  const auto right = bench.run("c[i] = fmaxf(a[i], 0) * b[i]");
  INFO(test::describe(right));
  CHECK(right.outcome.status == Status::ok);
  CHECK(right.checks.size() == 4);
  CHECK(bench.run("c[i] = a[i] * b[i]").outcome.status == Status::incorrect);
}

TEST_CASE("a module that is random in training mode is refused by name") {
  if (!pytorch_here()) return;
  PythonBench bench({.source = kModule, .kind = "kernelbench"});
  const auto refused = bench.run("c[i] = fmaxf(a[i], 0) * b[i]");
  CHECK(refused.outcome.status == Status::invalid_reference);
  CHECK_THAT(refused.outcome.message, Contains("drop (Dropout)") && Contains("\"eval\": true"));
}

TEST_CASE("a reference that dies ends one evaluation, and the next one has a new process") {
  if (!pytorch_here()) return;
  PythonBench bench({.source = "import os, torch\ndef run(a, b):\n"
                               "    os._exit(4) if a.numel() > 100 else None\n    return a + b\n"});
  for (int i = 0; i < 2; ++i) {
    const auto result = bench.run("c[i] = a[i] + b[i]");
    INFO(test::describe(result));
    CHECK(result.outcome.status == Status::invalid_reference);
    CHECK_THAT(result.outcome.message, Contains("ended with exit code 4"));
    CHECK(result.checks.size() == 1);
  }
}

TEST_CASE("a file that cannot be a reference is the user's mistake") {
  if (!pytorch_here()) return;
  PythonBench bench({.source = "import nothing_of_that_name\n"});
  try {
    static_cast<void>(bench.run("c[i] = 0"));
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK_THAT(error.what(), Contains("reference.py") && Contains("nothing_of_that_name"));
  }
}

TEST_CASE(
    "the audit of a reference in Python tries its twin, corrupted results, blind inputs and its mutations") {
  if (!pytorch_here()) return;
  PythonProblem python{.source = "import torch\ndef run(a, b):\n    return torch.relu(a) + torch.tanh(b)\n"};
  python.mutations = {{.name = "without_relu_1", .what = "leaves out relu", .macro = ""}};
  const ProblemAudit audit = PythonBench(python).audit();
  for (const AuditFinding& finding : audit.findings) {
    INFO(finding.name << " " << finding.tensor << ": " << finding.message);
    CHECK(finding.as_expected());
  }
  REQUIRE_FALSE(audit.findings.empty());
  CHECK(audit.findings.front().verdict == AuditVerdict::accepted);
  const auto found = std::ranges::find(audit.findings, "without_relu_1", &AuditFinding::name);
  REQUIRE(found != audit.findings.end());
  CHECK(found->verdict == AuditVerdict::rejected);
}

}  // namespace
}  // namespace ak::runtime
