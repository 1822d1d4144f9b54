# SPDX-License-Identifier: Apache-2.0
"""`alphakernel library build`: kernel_library_test.py PROGRAM SOURCE_FOLDER, with the PyTorch of the Python that runs it.

The package runs with a made-up CUDA driver, whose kernels do nothing, and on the CPU. Without PyTorch or a C++ compiler it
is skipped (exit code 77)."""

import ctypes
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import unittest
import zipfile

try:
    import torch
except ImportError:
    sys.exit(77)
if shutil.which("c++") is None:
    sys.exit(77)

PROGRAM, SOURCE = sys.argv[1:3]
WORK = tempfile.TemporaryDirectory()
DIST = os.path.join(WORK.name, "dist")

# A set as the program writes one: the plan chooses a member by the shape.
SET = """/* alphakernel
{"problem": "vector_add", "params": {"dtype": "float32"},
 "let": {"MEMBER": "2 if N <= 1000 and N % 8 == 0 else 1"},
 "launches": [
  {"kernel": "member_1::add", "grid": ["ceil_div(N, 256)"], "block": [256], "pdl": true, "args": ["a", "b", "c", {"i64": "N"}], "when": "MEMBER == 1"},
  {"kernel": "member_2::add", "grid": [1], "block": [1024], "shared_bytes": 65536, "args": ["a", "b", "c", {"i64": "N"}], "when": "MEMBER == 2"},
  {"kernel": "member_1::add", "grid": [1], "block": [32], "pdl": true, "args": ["a", "b", "c", {"i64": "N"}], "when": "N == 801"}]}
*/
namespace member_1 {
__global__ void add(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
}
namespace member_2 {
__global__ void add(const float* a, const float* b, float* c, long long n) {
  for (long long i = threadIdx.x; i < n; i += 1024) c[i] = a[i] + b[i];
}
}
"""


def member(n):
    return 2 if n <= 1000 and n % 8 == 0 else 1


def template(problem, name, params, file):
    """A template at its default point that says which problem it is of."""
    with open(os.path.join(SOURCE, "templates", problem, name), encoding="utf-8") as source:
        text = source.read()
    head = json.dumps({"problem": problem, "params": params})[1:-1]
    path = os.path.join(WORK.name, file)
    with open(path, "w", encoding="utf-8") as made:
        made.write(text.replace("{", "{" + head + ",", 1))
    return path


def program(*arguments, ok=True):
    run = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "ALPHAKERNEL_DB": os.path.join(WORK.name, "none.db")})
    if ok and run.returncode:
        raise AssertionError(f"{arguments}: {run.returncode}\n{run.stderr}")
    return run


def build(folder, *kernels, name="made_ops", arch="sm_90a"):
    words = [word for kernel in kernels for word in ("--kernel", kernel)]
    return program("library", "build", *words, "--arch", arch, "--name", name, "--output", folder)


def setUpModule():
    path = os.path.join(WORK.name, "set.cu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SET)
    build(DIST, "add=" + path,
          "linear=" + template("linear", "linear_transposed.cu", {"dtype": "float32"}, "linear.cu"),
          "gemm=" + template("gemm", "gemm_wgmma.cu", {"dtype": "bfloat16"}, "gemm.cu"),
          "transpose=" + template("transpose_inplace", "transpose_tile_pairs.cu", {"dtype": "float32"}, "transpose.cu"))
    subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o",
                    os.path.join(WORK.name, "libcuda.so.1"),
                    os.path.join(os.path.dirname(os.path.abspath(__file__)), "made_up_driver.cpp")], check=True)


def python(code, driver=True, path=DIST, fresh=False, **environment):
    """What an interpreter prints that has the package on its path and has imported PyTorch. It is a copy of this process, as
    an import takes longer than all else here; `fresh` ones import and end as a user's do."""
    log = os.path.join(WORK.name, "driver.log")
    if os.path.exists(log):
        os.remove(log)
    given = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "MADE_UP_DRIVER_LOG": log, **environment}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        if fresh:
            if driver:
                given["LD_LIBRARY_PATH"] = WORK.name
            code_of_exit = subprocess.run([sys.executable, "-c", "import torch\n" + code], stdout=out, stderr=err,
                                          env={**os.environ, **given}, cwd=WORK.name).returncode
        else:
            child = os.fork()
            if child == 0:
                run_in_copy(code, driver, given, out.fileno(), err.fileno())
            code_of_exit = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0), err.seek(0)
        printed, complained = out.read(), err.read()
    if code_of_exit:
        raise AssertionError(f"{code}\n{code_of_exit}: {printed}{complained}")
    lines = open(log, encoding="utf-8").read().splitlines() if os.path.exists(log) else []
    return printed.strip(), complained, lines


def run_in_copy(code, driver, environment, out, err):
    """Runs `code` and ends this process."""
    ended = 1
    try:
        os.dup2(out, 1), os.dup2(err, 2)
        sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
        os.environ.update(environment)
        os.chdir(WORK.name)
        sys.path[0:0] = environment["PYTHONPATH"].split(os.pathsep)
        sys.dont_write_bytecode = True
        if driver:
            ctypes.CDLL(os.path.join(WORK.name, "libcuda.so.1"))  # found by its name from now on
        exec(code, {"__name__": "__main__", "torch": torch})
        ended = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(ended)


ON_DEVICE = "import made_ops; made_ops._launcher.assume_device(0)\n"


class KernelLibraryTest(unittest.TestCase):
    def test_pip_installs_it_without_a_network(self) -> None:
        if subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("this Python has no pip")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", folder,
                            DIST], check=True, stdout=subprocess.DEVNULL)
            shown = python("import made_ops, importlib.metadata as m; print(m.version('made_ops'), made_ops.__file__)",
                           path=folder, fresh=True)[0]
            self.assertEqual(shown, "1.0 " + os.path.join(folder, "made_ops", "__init__.py"))

    def test_the_wheel_has_a_right_record(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            name = subprocess.run([sys.executable, "-B", os.path.join(DIST, "alphakernel_build.py"), folder], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout.strip()
            with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
                self.assertIn("made_ops/_launcher.abi3.so", wheel.namelist())
                record = wheel.read("made_ops-1.0.dist-info/RECORD").decode().splitlines()
                self.assertEqual([row.split(",")[0] for row in record], wheel.namelist())

    def test_without_a_driver_it_imports_and_pytorch_computes(self) -> None:
        code = "import made_ops as m; a = torch.randn(7); b = torch.randn(7)\n" \
               "assert not m.available()\nassert torch.equal(m.add(a, b), a + b)\n" \
               "assert torch.equal(torch.ops.made_ops.add(a, b), a + b)\nm._launcher.assume_device(0)\n" \
               "try: m.add(a, b)\nexcept RuntimeError as failure: print(failure)"
        shown = python(code, driver=False, fresh=True)[0]
        if "made up" not in shown:
            self.assertEqual(shown, "made_ops: there is no CUDA driver (libcuda.so.1)")

    def test_the_launcher_chooses_as_the_plan_says(self) -> None:
        sizes = random.Random(1).sample(range(1, 5000), 300) + [8, 1000, 1001, 1008]
        shown = python(ON_DEVICE + f"print([made_ops.choice('add', N=n)[0] for n in {sizes}])")[0]
        self.assertEqual(json.loads(shown), [member(n) for n in sizes])

    def test_a_choice_is_known_before_any_call(self) -> None:
        code = "import made_ops\nprint(made_ops.choice('add', N=8), made_ops.choice('add', N=9), made_ops.choice('add', N=0))"
        self.assertEqual(python(code)[0], "(2, '') (1, '') (0, 'N has to be at least 1')")

    def test_launches_are_those_of_the_plan(self) -> None:
        code = ON_DEVICE + "a = torch.randn(3000)\nmade_ops.add(a, a)\nmade_ops.add(a[:800], a[:800])\nmade_ops.add(a[:800], a[:800])"
        launches = [line for line in python(code, fresh=True)[2] if line.startswith(("launch", "attribute", "load"))]
        self.assertEqual(launches[0], "load cubin")
        self.assertRegex(launches[1], r"launch \w*member_1\w* grid 12,1,1 block 256,1,1 shared 0$")
        self.assertRegex(launches[2], r"attribute 8 65536 \w*member_2")
        self.assertRegex(launches[3], r"launch \w*member_2\w* grid 1,1,1 block 1024,1,1 shared 65536$")
        self.assertEqual(launches[4:], [launches[3]])

    def test_the_first_launch_of_a_call_waits_for_what_is_ahead_of_it(self) -> None:
        code = ON_DEVICE + "a = torch.randn(801)\nmade_ops.add(a, a)"
        launches = [line for line in python(code, fresh=True)[2] if line.startswith("launch")]
        self.assertRegex(launches[0], r"launch \w*member_1\w* grid 4,1,1 block 256,1,1 shared 0$")
        self.assertRegex(launches[1], r"launch \w*member_1\w* grid 1,1,1 block 32,1,1 shared 0 early$")

    def test_one_line_says_which_kernel_serves_a_shape(self) -> None:
        code = ON_DEVICE + "a = torch.randn(800)\nfor _ in range(3): made_ops.add(a, a)\nmade_ops.add(a.double(), a.double())"
        shown = python(code, MADE_OPS_LOG="1")[1].splitlines()
        self.assertEqual(shown, ["made_ops: add N=800: member 2 (set.cu)",
                                 "made_ops: add: PyTorch, as a is not of type float32"])

    def test_what_no_kernel_takes_is_an_error_where_that_is_asked_for(self) -> None:
        code = ON_DEVICE + "a = torch.randn(8).double()\ntry: made_ops.add(a, a)\nexcept TypeError as failure: print(failure)"
        self.assertIn("add: a is not of type float32; expected a: float32 [N], b: float32 [N]",
                      python(code, MADE_OPS_FALLBACK="error")[0])

    def test_wrong_words_are_refused_with_what_was_expected(self) -> None:
        code = """import made_ops as ops
def why(call):
    try:
        call()
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
for call in (lambda: ops.choice("zz"), lambda: ops.choice("linear", M=8), lambda: ops.choice("linear", Q=1),
             lambda: ops.choice("linear", M="8"), lambda: ops.prepare("zz", None), lambda: ops.patch(5), lambda: ops.unpatch(5),
             lambda: ops.patch(torch.nn.Linear(2, 2), kinds="norms"), lambda: ops.patch(torch.nn.Linear(2, 2), kinds=None)):
    print(why(call))
"""
        lines = python(code)[0].splitlines()
        for line, words in zip(lines, ["ValueError: there is no operator 'zz' in made_ops; expected add, gemm",
                                       "is missing; expected ", "TypeError: linear has no axis 'Q'",
                                       "TypeError: M is '8'; expected a whole number", "ValueError: there is no operator 'zz'",
                                       "TypeError: the model is a int; expected a torch.nn.Module", "TypeError: the model is a int",
                                       "ValueError: no kind 'norms'; expected ", "TypeError: kinds is a NoneType; expected "],
                               strict=True):
            self.assertIn(words, line)
        with self.assertRaisesRegex(AssertionError, "MADE_OPS_FALLBACK is 'zz'; expected error or pytorch"):
            python("import made_ops", MADE_OPS_FALLBACK="zz")

    def test_a_version_is_one_and_the_folder_is_no_package_of_an_index(self) -> None:
        for version in ("1.0; rm", '1.0"\nx = "1', "v1", ""):
            refused = program("library", "build", "--kernel", "1", "--package-version", version, "--output",
                              os.path.join(WORK.name, "none"), ok=False)
            self.assertEqual(refused.returncode, 2, version)
            self.assertIn("expected a version such as 1.0", refused.stderr)

    def test_a_compiler_that_fails_leaves_no_half_of_a_package(self) -> None:
        folder = os.path.join(WORK.name, "half")
        refused = program("library", "build", "--kernel", "add=" + os.path.join(WORK.name, "set.cu"), "--arch", "sm_90a",
                          "--compiler", "/bin/false", "--output", folder, ok=False)
        self.assertEqual(refused.returncode, 5)
        self.assertIn("'/bin/false' does not run", refused.stderr)
        self.assertFalse(os.path.exists(folder))

    def test_a_device_that_it_was_not_built_for_is_named(self) -> None:
        code = ON_DEVICE + "a = torch.randn(8)\nassert torch.equal(made_ops.add(a, a), a + a)"
        shown = python(code, MADE_OPS_LOG="1", MADE_UP_DRIVER_ARCH="80")[1]
        self.assertIn("made_ops: add: PyTorch, as this device is not among sm_90a, for which it was built", shown)

    def test_strided_empty_and_wrong_inputs(self) -> None:
        code = ON_DEVICE + "a = torch.randn(16)\nassert made_ops.add(a[::2], a[::2]).shape == (8,)\n" \
            "assert made_ops.add(a[:0], a[:0]).shape == (0,)\n" \
            "try: made_ops.add(a, a[:8])\nexcept RuntimeError as failure: print(failure)\n" \
            "a.requires_grad_()\nassert made_ops.add(a, a).requires_grad\n" \
            "with torch.no_grad(): assert not made_ops.add(a, a).requires_grad"
        shown, _, lines = python(code)
        self.assertEqual(shown, "made_ops.add: b has size 8 where N is 16")
        self.assertEqual(len([line for line in lines if line.startswith("launch")]), 2)

    def test_an_input_that_the_kernel_overwrites_is_copied(self) -> None:
        code = ON_DEVICE + "x = torch.randn(64, 64)\nkept = x.clone()\ny = made_ops.transpose(x)\n" \
            "assert y.data_ptr() != x.data_ptr() and torch.equal(x, kept) and y.shape == x.shape"
        self.assertTrue(any(line.startswith("launch") for line in python(code)[2]))

    def test_an_operator_with_a_line_behind_its_name_writes_into_its_inputs(self) -> None:
        for start, launched in (("import made_ops\n", 0), (ON_DEVICE + "made_ops._library.assume_device(0)\n", 1)):
            code = start + "x = torch.arange(16.0).view(4, 4)\nold, place, version = x.clone(), x.data_ptr(), x._version\n" \
                "assert made_ops.transpose_(x) is None\nassert x.data_ptr() == place and x._version > version\n" \
                "strided = torch.arange(32.0).view(4, 8)[:, ::2]\nold_strided = strided.clone()\nmade_ops.transpose_(strided)\n" \
                "print(torch.equal(x, old.t()), torch.equal(strided, old_strided.t()))\n" \
                "torch.ops.made_ops.transpose_(torch.empty(4, 4, device='meta'))"
            shown, _, lines = python(code)
            # A kernel of the made-up driver writes nothing; what lies apart is PyTorch's.
            self.assertEqual(shown, f"{not launched} True")
            self.assertEqual(len([line for line in lines if line.startswith("launch")]), launched)

    def test_what_pytorch_computes_is_refused_where_the_launcher_refuses_it(self) -> None:
        code = """import made_ops
def why(call):
    try:
        return call()
    except (TypeError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
x, w, b = torch.randn(8, 64), torch.randn(32, 64), torch.randn(32)
print(why(lambda: made_ops.add(None, b)))
print(why(lambda: made_ops.add(x[0], b)))
print(why(lambda: made_ops.linear(x, w[:, :8], b)))
print(why(lambda: made_ops.add(b, torch.ones(32, dtype=torch.complex64))))
print(why(lambda: made_ops.add(b.int(), b.int())))
assert why(lambda: made_ops.add(b.double(), b.half())).dtype == torch.float64
"""
        self.assertEqual(python(code)[0].splitlines(),
                         ["TypeError: made_ops.add: a is a NoneType; expected a: float32 [N], b: float32 [N]",
                          "RuntimeError: made_ops.add: b has size 32 where N is 64",
                          "RuntimeError: made_ops.linear: weight has size 8 where K is 64",
                          "TypeError: made_ops.add: b is of torch.complex64; expected a: float32 [N], b: float32 [N]",
                          "TypeError: made_ops.add: a is of torch.int32; expected a: float32 [N], b: float32 [N]"])

    def test_a_result_of_pytorch_is_no_view_of_an_input(self) -> None:
        code = "import made_ops\nmade_ops._library._named('add')._reference = lambda a, b: a[1:].view(-1, 1).squeeze(1)\n" \
            "a = torch.randn(8)\nkept = a.clone()\nmade_ops.add(a, a).zero_()\nprint(torch.equal(a, kept))"
        self.assertEqual(python(code)[0], "True")

    def test_torch_jit_trace_sees_operators(self) -> None:
        code = ON_DEVICE + "x = torch.randn(8)\ntraced = torch.jit.trace(lambda a: made_ops.add(a, a), (x,))\n" \
            "print([node.kind() for node in traced.graph.nodes()])\nassert torch.equal(traced(2 * x), 4 * x)"
        self.assertEqual(python(code, MADE_OPS_FALLBACK="pytorch")[0], "['made_ops::add']")

    def test_weights_are_prepared_once_and_again_when_they_change(self) -> None:
        description = json.load(open(os.path.join(DIST, "made_ops", "library.json"), encoding="utf-8"))
        linear = next(one for one in description["operators"] if one["name"] == "linear")
        self.assertTrue(linear["prepares"])
        names = ", ".join(one["name"] for one in linear["inputs"])
        code = ON_DEVICE + "x, weight, bias = torch.randn(8, 64), torch.randn(32, 64), torch.randn(32)\n" + \
            "import os\ndef prepared():\n    call()\n    lines = open(os.environ['MADE_UP_DRIVER_LOG']).read().splitlines()\n" \
            "    return sum('transpose' in one for one in lines if one.startswith('launch'))\n" + \
            f"def call(): made_ops.linear({names})\n" + \
            "counts = [prepared(), prepared()]\nweight.add_(1)\ncounts += [prepared(), prepared()]\n" \
            "weight = weight.clone()\ncounts += [prepared(), prepared()]\nweight.data = weight.data.clone()\n" \
            "counts.append(prepared())\nwith torch.inference_mode(): weight = weight.clone()\n" \
            "counts += [prepared(), prepared()]\nprint(counts)"
        self.assertEqual(json.loads(python(code)[0]), [1, 1, 2, 2, 3, 3, 4, 5, 6])

    def test_views_of_one_tensor_are_prepared_each_for_itself(self) -> None:
        code = ON_DEVICE + "x, both, bias = torch.randn(8, 64), torch.randn(64, 64), torch.randn(32)\n" \
            "for _ in range(3): made_ops.linear(x, both[:32], bias), made_ops.linear(x, both[32:], bias)\n" \
            "both.mul_(2)\nmade_ops.linear(x, both[32:], bias)"
        lines = python(code)[2]
        self.assertEqual(sum("transpose" in one for one in lines if one.startswith("launch")), 3)

    def test_a_stream_waits_once_for_what_another_one_prepared(self) -> None:
        code = ON_DEVICE + "import made_ops._operators as inside\nnow, waits = [1], []\n" \
            "inside._stream = lambda: lambda device: now[0]\n" \
            "inside._prepared_elsewhere = lambda device, stream, memory: waits.append((now[0], stream))\n" \
            "made_ops._library._set_up()\nx, weight, bias = torch.randn(8, 64), torch.randn(32, 64), torch.randn(32)\n" \
            "def on(*streams):\n    for now[0] in streams: made_ops.linear(x, weight, bias)\n    return waits\n" \
            "print(on(1, 2, 1, 2, 1))\nweight.mul_(2)\nprint(on(1)[1:])\nprint(on(3, 2, 3)[2:])"
        shown, _, lines = python(code)
        # What is prepared anew lands in memory that stream 2 may still read.
        self.assertEqual(shown, "[(2, 1)]\n[(1, 2)]\n[(3, 1), (2, 1)]")
        self.assertEqual(sum("transpose" in one for one in lines if one.startswith("launch")), 2)

    def test_threads_may_call_at_once(self) -> None:
        code = ON_DEVICE + "import sys, threading\nsys.setswitchinterval(1e-6)\nx, bias, wrong = torch.randn(8, 64), torch.randn(32), []\n" \
            "shared = torch.randn(32, 64)\ndef work(seed):\n    for i in range(150):\n" \
            "        if i % 10 == seed: shared.mul_(1)\n        own = torch.randn(32, 64)\n" \
            "        n = 1 + (seed * 150 + i) % 400\n" \
            "        shapes = [tuple(made_ops.linear(x[:1 + i % 8], w, bias).shape) for w in (shared, own)]\n" \
            "        if shapes != [(1 + i % 8, 32)] * 2 or made_ops.add(x.view(-1)[:n], x.view(-1)[:n]).shape != (n,): wrong.append(i)\n" \
            "        if i % 50 == 0: made_ops.forget_prepared()\n" \
            "threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]\n" \
            "[one.start() for one in threads], [one.join() for one in threads]\nprint(wrong)"
        self.assertEqual(python(code)[0], "[]")

    def test_many_shapes_are_asked_about_once_each(self) -> None:
        code = ON_DEVICE + "x = torch.randn(4000)\ninside, count = made_ops._library, [0]\nserves = inside._serves\n" \
            "def counted(*given): count[0] += 1; serves(*given)\ninside._serves = counted\ninside._set_up()\n" \
            "for _ in range(20):\n    for n in range(17, 1217, 40): made_ops.add(x[:n], x[:n])\nprint(count[0])"
        self.assertEqual(python(code)[0], "30")

    def test_tensors_that_are_more_than_their_memory(self) -> None:
        code = ON_DEVICE + "x = torch.randn(800)\nplain = torch.nn.Parameter\n" \
            "class Weight(torch.nn.Parameter): pass\nclass Own(torch.Tensor):\n    pass\n" \
            "class Loud(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, function, types, given=(), named=None):\n" \
            "        print('asked'); return super().__torch_function__(function, types, given, named or {})\n" \
            "made_ops.add(Weight(x, requires_grad=False), x)\nmade_ops.add(x.as_subclass(Loud), x)\n" \
            "y = made_ops.add(torch._neg_view(x), torch._neg_view(x))\n" \
            "gone = torch.randn(800)\ngone.storage().resize_(0)\n" \
            "try: made_ops.add(gone, x)\nexcept RuntimeError as failure: print(failure)\n" \
            "try: made_ops.add(x.to_sparse(), x)\nexcept (RuntimeError, NotImplementedError) as failure: print(type(failure).__name__)"
        shown, _, lines = python(code)
        shown = shown.splitlines()
        self.assertEqual(shown[0], "asked")
        self.assertIn("made_ops.add: a has no memory", shown)
        # The subclass of Parameter alone: others and negated views go through the dispatcher, which here is that of the CPU.
        self.assertEqual(len([line for line in lines if line.startswith("launch")]), 1)

    def test_in_a_graph_weights_are_prepared_by_the_graph(self) -> None:
        code = ON_DEVICE + "x, weight, bias = torch.randn(8, 64), torch.randn(32, 64), torch.randn(32)\n" \
            "for _ in range(3): made_ops.linear(x, weight, bias)"
        lines = python(code, MADE_UP_DRIVER_CAPTURING="1")[2]
        self.assertEqual(sum("transpose" in one for one in lines if one.startswith("launch")), 3)

    def test_two_libraries_live_in_one_process_unless_they_have_one_name(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            build(folder, "add=" + os.path.join(WORK.name, "set.cu"), name="other_ops")
            same = os.path.join(folder, "copy")
            shutil.copytree(os.path.join(folder, "other_ops"), os.path.join(same, "renamed_ops"))
            code = "import made_ops, other_ops; a = torch.randn(5)\nassert torch.equal(made_ops.add(a, a), other_ops.add(a, a))\n" \
                "try: import renamed_ops\nexcept ImportError as failure: print(failure)"
            shown = python(code, path=os.pathsep.join([DIST, folder, same]))[0]
            self.assertTrue(shown.startswith("another library has registered operators in the namespace 'other_ops'"), shown)

    def test_fake_kernels_give_shapes(self) -> None:
        code = "import made_ops\nx = torch.empty(8, 64, device='meta'); w = torch.empty(32, 64, device='meta')\n" \
            "y = torch.ops.made_ops.linear(x, w, torch.empty(32, device='meta'))\nprint(tuple(y.shape), y.dtype, y.device.type)\n" \
            "try: torch.ops.made_ops.linear(x, w[:, :8], w[:, 0])\nexcept ValueError as failure: print(failure)\n" \
            "from torch._subclasses import FakeTensorMode\nwith FakeTensorMode() as mode:\n" \
            "    a = torch.empty(9)\n    print(tuple(torch.ops.made_ops.add(a, a).shape))"
        self.assertEqual(python(code)[0], "(8, 32) torch.float32 meta\nweight has size 8 where K is 64\n(9,)")

    def test_tensor_maps_and_clusters_are_launched(self) -> None:
        code = ON_DEVICE + "a = torch.randn(256, 512).bfloat16()\nb = torch.randn(512, 256).bfloat16()\n" \
            "print(made_ops._library.operators[2].expected())\nmade_ops.gemm(a, b)"
        shown, _, lines = python(code, MADE_OPS_FALLBACK="error")
        self.assertTrue(any(line.startswith("launch") for line in lines), shown)

    def test_a_program_of_cpp_links_the_library(self) -> None:
        description = json.load(open(os.path.join(DIST, "made_ops", "library.json"), encoding="utf-8"))
        self.assertEqual([one["name"] for one in description["operators"]], ["add", "linear", "gemm", "transpose"])
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "cuda_runtime_api.h"), "w", encoding="utf-8") as file:  # where there is no toolkit
                file.write("#pragma once\ntypedef struct CUstream_st* cudaStream_t;\ntypedef enum cudaError : int {} cudaError_t;\n")
            main = os.path.join(folder, "main.cpp")
            with open(main, "w", encoding="utf-8") as file:
                file.write('#include <cstdio>\n#include "made_ops_add.h"\nint main() {\n'
                           '  const char* why = made_ops_add_refusal({800});\n  std::puts(why ? why : "taken");\n'
                           '  return made_ops_add_workspace_bytes({800}) == 0 ? 0 : 1;\n}\n')
            package = os.path.join(DIST, "made_ops")
            subprocess.run(["c++", "-std=c++20", main, "-I", folder, "-I", os.path.join(package, "include"),
                            os.path.join(package, "libmade_ops.so"), "-Wl,-rpath," + package, "-o",
                            os.path.join(folder, "main")], check=True)
            self.assertEqual(subprocess.run([os.path.join(folder, "main")], check=True, stdout=subprocess.PIPE,
                                            text=True).stdout, "taken\n")

    def test_gradients_that_no_forward_stands_beside_are_named(self) -> None:
        kernels = ["back=" + template("attention_backward", "attention_backward_mma.cu", {"head_dim": 64}, "back.cu")]
        for layout, said in (("tokens", True), ("heads", False)):
            forward = template("flash_attention", "attention_mma.cu", {"head_dim": 64, "layout": layout}, layout + ".cu")
            run = build(os.path.join(WORK.name, layout), *kernels, "forward=" + forward, name=layout + "_ops")
            self.assertEqual("note: back: models that learn call it only beside a flash_attention" in run.stdout, said, run.stdout)

    def test_what_a_plan_misses_is_named_with_the_session_that_tunes_it(self) -> None:
        plan = os.path.join(WORK.name, "plan.json")
        rows = [{"operator": "mlp_down", "algorithm": "gemm", "params": {"dtype": "bfloat16"}, "axes": {"M": 64, "N": 4096, "K": 4096}},
                {"operator": "rest", "algorithm": "other", "params": {}, "axes": {}}]
        with open(plan, "w", encoding="utf-8") as file:
            json.dump({"format": "alphakernel.library_plan", "version": 1, "operators": rows}, file)
        output = os.path.join(WORK.name, "planned")
        run = program("library", "build", "--plan", plan, "--output", output, ok=False)
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertIn("  mlp_down: gemm dtype=bfloat16\n", run.stderr)
        self.assertIn(f"alphakernel session start {output}.tune.json --foreground", run.stderr)
        manifest = json.load(open(output + ".tune.json", encoding="utf-8"))
        self.assertNotIn("budgets", manifest)
        self.assertEqual(manifest["runs"], [{"name": "mlp_down", "algorithm": "gemm", "params": {"dtype": "bfloat16"}, "max_minutes": 60.0,
                                             "shape": {"M": 64, "N": 4096, "K": 4096}}])

    def test_what_takes_most_of_a_model_is_tuned_first_and_longest(self) -> None:
        plan = os.path.join(WORK.name, "shares.json")
        rows = [{"operator": name, "algorithm": algorithm, "params": {}, "axes": {}, "share": share}
                for name, algorithm, share in (("norm", "rmsnorm", 0.04), ("act", "swiglu", 0.16), ("mlp", "gemm", 0.5),
                                               ("qkv", "gemm", 0.3))]
        with open(plan, "w", encoding="utf-8") as file:
            json.dump({"format": "alphakernel.library_plan", "version": 1, "operators": rows}, file)
        output = os.path.join(WORK.name, "shares")
        program("library", "build", "--plan", plan, "--output", output, ok=False)
        runs = json.load(open(output + ".tune.json", encoding="utf-8"))["runs"]
        self.assertEqual([(run["name"], run["max_minutes"]) for run in runs], [("mlp", 34.0), ("act", 14.8), ("norm", 11.2)])

    def test_operators_of_one_kernel_are_tuned_together_on_all_their_shapes(self) -> None:
        plan = os.path.join(WORK.name, "shapes.json")
        shapes = [{"M": m, "N": n, "K": 4096} for m in (1, 16) for n in (4096, 6144)]
        rows = [{"operator": name, "algorithm": "gemm", "params": {"dtype": "bfloat16"}, "axes": axes}
                for name, axes in zip(("o", "qkv", "o", "qkv"), shapes)]
        with open(plan, "w", encoding="utf-8") as file:
            json.dump({"format": "alphakernel.library_plan", "version": 1, "operators": rows}, file)
        output = os.path.join(WORK.name, "with_shapes")
        program("library", "build", "--plan", plan, "--output", output, ok=False)
        (run,) = json.load(open(output + ".tune.json", encoding="utf-8"))["runs"]
        self.assertEqual((run["name"], run["per_shape"]), ("o", True))
        self.assertEqual(sorted(run["shape"], key=str), sorted(shapes, key=str))

    def test_an_operator_that_is_another_kernel_in_every_phase_has_two_names(self) -> None:
        plan = os.path.join(WORK.name, "phases.json")
        rows = [{"operator": "attention", "algorithm": name, "params": {}, "axes": {}, "phase": phase}
                for name, phase in (("flash_attention", "prefill"), ("attention_decode", "decode"))]
        with open(plan, "w", encoding="utf-8") as file:
            json.dump({"format": "alphakernel.library_plan", "version": 1, "operators": rows}, file)
        run = program("library", "build", "--plan", plan, "--output", os.path.join(WORK.name, "phases"), ok=False)
        self.assertIn("  attention_prefill: flash_attention\n  attention_decode: attention_decode\n", run.stderr)

    def test_a_file_that_is_no_plan_is_refused(self) -> None:
        for text in ("", "[]", "{}", '{"format": "alphakernel.library_plan"}'):
            path = os.path.join(WORK.name, "no_plan.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            run = program("library", "build", "--plan", path, "--output", os.path.join(WORK.name, "none"), ok=False)
            self.assertIn("expected what `alphakernel library plan --json` writes", run.stderr)

    def test_its_numbers_of_cuda_are_those_of_cudas_headers(self) -> None:
        include = next((one for one in ("/usr/local/cuda/include", "/usr/include") if os.path.exists(one + "/cuda_runtime_api.h")), None)
        if include is None:
            self.skipTest("there are no headers of CUDA here")
        text = open(os.path.join(SOURCE, "codegen", "library", "texts", "driver.h.in"), encoding="utf-8").read()
        numbers = re.findall(r"\b((?:CU_|CUDA_|cuda)\w+) = (\d+)", text)
        self.assertGreater(len(numbers), 30)
        source = "#include <cuda.h>\n#include <cuda_runtime_api.h>\n" + "".join(
            f"static_assert(static_cast<int>({name}) == {number});\n" for name, number in numbers)
        source += "static_assert(sizeof(CUtensorMap) == 128 && sizeof(cudaLaunchAttribute) == 72 && sizeof(CUlaunchConfig) == 56);\n"
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
            file.write(source)
            file.flush()
            subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-I", include, file.name], check=True)


unittest.main(argv=sys.argv[:1] + sys.argv[3:])
