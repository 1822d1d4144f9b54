# SPDX-License-Identifier: Apache-2.0
"""The functions of the Python package with the real program: package_test.py PROGRAM SOURCE_FOLDER."""

import os
import re
import signal
import sys
import tempfile
import threading
import unittest
from pathlib import Path

PROGRAM, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "python"))
os.environ["ALPHAKERNEL_PROGRAM"] = PROGRAM

import alphakernel as ak  # noqa: E402
from alphakernel import errors, problem_folders, progress  # noqa: E402

KERNEL = """/* alphakernel
{"tunables": {"BLOCK": {"values": [128, 256]}},
 "launches": [{"kernel": "k", "grid": ["ceil_div(N, BLOCK)"], "block": ["BLOCK"],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""
ON_CPU = {"problem": "vector_add", "shape": {"N": 1000}, "device": "emulator", "arch": "sm_80"}


def function_of_two(x, y):
    return x * 2 + y


class PackageTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        os.environ["ALPHAKERNEL_CONFIG"] = os.path.join(self.folder.name, "config.json")
        ak.connect(database=os.path.join(self.folder.name, "ak.db"))

    def tearDown(self) -> None:
        ak.disconnect()
        self.folder.cleanup()

    def test_a_kernel_is_tuned_evaluated_and_found_again(self) -> None:
        tuned = ak.tune(KERNEL, strategy="exhaustive", seed=1, **ON_CPU)
        self.assertEqual(tuned.evaluated, 2)
        self.assertIn("BLOCK", tuned.tunables)
        self.assertIsNone(tuned.time_us)  # a cost is no time
        self.assertGreater(tuned.best.cost_us, 0)
        self.assertIn("__global__", tuned.source)
        self.assertIn(tuned.best.template, tuned._repr_html_())
        evaluated = ak.evaluate(tuned.save(os.path.join(self.folder.name, "k.cu")), device="emulator", arch="sm_80",
                                shape={"N": 1000})
        self.assertTrue(evaluated.ok, evaluated)
        self.assertEqual(ak.best("vector_add").source, tuned.source)
        own = ak.evaluate(KERNEL.replace("if (i < n)", "if (i < n && n > 0)"), problem="vector_add", device="emulator", arch="sm_80")
        self.assertTrue(own.ok, own)  # slower, on the problem's own shapes, which are larger: these go first
        self.assertIn("n > 0", ak.best("vector_add").source)
        self.assertGreaterEqual(len(ak.leaderboard("vector_add", frame=False)), 1)
        rows = ak.query("SELECT 1 AS b, status AS a FROM evaluations", frame=False)
        self.assertEqual(rows.columns, ["b", "a"])
        self.assertGreaterEqual(len(rows), 2)
        self.assertIn("<th>b</th>", rows._repr_html_())

    def test_a_wrong_kernel_is_a_result_and_a_wrong_argument_an_exception(self) -> None:
        wrong = ak.evaluate(KERNEL.replace("a[i] + b[i]", "a[i] - b[i]"), **ON_CPU)
        self.assertFalse(wrong.ok)
        self.assertEqual(wrong.gate, "tolerance")
        self.assertIn("tolerance", str(wrong))
        nothing = ak.tune(KERNEL.replace("a[i] + b[i]", "0"), strategy="exhaustive", **ON_CPU)
        self.assertIsNone(nothing.best)
        with self.assertRaisesRegex(ak.NoKernelError, "none verified"):
            nothing.save("x.cu")
        with self.assertRaises(ak.UsageError):
            ak.generate("softmaxx")
        with self.assertRaisesRegex(ak.UsageError, "expected the text of a kernel file"):
            ak.evaluate("no kernel")
        with self.assertRaises(ak.Error):
            ak.query("DELETE FROM variants")

    def test_interrupts_end_a_search_with_what_it_has(self) -> None:
        seen = []

        def interrupt(event, _data):
            seen.append(event)
            if seen.count("new_best") == 1 and event == "new_best":
                threading.Thread(target=signal.raise_signal, args=(signal.SIGINT,)).start()

        answer = ak.connect(database=os.path.join(self.folder.name, "ak.db")).search(
            problem="vector_add", device="none", arch="sm_90a", on_event=interrupt)
        self.assertTrue(answer["interrupted"])
        self.assertIn("__global__", answer["best"]["source"])
        self.assertGreater(len(ak.problems()), 5)  # the client goes on

    def test_folders_are_made_from_kernels_and_read(self) -> None:
        folder = os.path.join(self.folder.name, "made")
        made = ak.problem("__global__ void f(const float* x, float* y, int n) { y[0] = n * x[0]; }", folder=folder)
        self.assertEqual(made.folder, Path(folder))
        self.assertEqual(sorted(made.tensors), ["x", "y"])
        self.assertTrue(made.to_fill_in)
        self.assertEqual(ak.problem(folder).name, "made")
        self.assertEqual(ak.problem("softmax").name, "softmax")
        with self.assertRaisesRegex(ak.UsageError, "folder"):
            ak.problem("f.cu")

    def test_a_function_becomes_a_file_with_inputs_like_its_examples(self) -> None:
        class Tensor:
            dtype, shape = "torch.float32", (4, 8)

        text = problem_folders.python_file(function_of_two, [Tensor(), 2.5])
        self.assertIn("return x * 2 + y", text)
        self.assertIn("run = function_of_two", text)
        self.assertIn("return [torch.randn([4, 8]).to(torch.float32), 2.5]", text)
        compile(text, "reference.py", "exec")
        with self.assertRaisesRegex(ak.UsageError, "begins with `def`"):
            problem_folders.python_file(lambda x: x, [Tensor()])

    def test_sessions_start_and_end(self) -> None:
        os.chdir(self.folder.name)
        ak.connect(database="ak.db")
        started = ak.session.start({"defaults": {"device": "none", "arch": "sm_90a"},
                                    "runs": [{"algorithm": "vector_add", "max_evaluations": 1, "seed": 1}]})
        self.assertEqual(ak.session.status().number, started.number)
        self.assertTrue(ak.session.stop(started.number).ended)
        os.chdir("/")

    def test_every_exit_code_is_an_exception(self) -> None:
        page = Path(SOURCE, "docs", "exit_codes.md").read_text(encoding="utf-8")
        codes = [int(code) for code in re.findall(r"^\| (\d+) \| `", page, re.M)]
        self.assertGreater(len(codes), 5)
        for code in codes[1:]:  # 0 is none
            self.assertIsNot(type(errors.error_of(code, "")), ak.Error, code)
            self.assertEqual(errors.error_of(code, "").code, code)

    def test_progress_is_a_line(self) -> None:
        data = {"evaluated": 3, "verified": 2, "elapsed_s": 4.2, "score_us": 1.5}
        self.assertEqual(progress.line_of(data), "alphakernel: 3 tried, 2 verified, best 1.5 us, 4 s")

    def test_a_program_that_is_not_there_is_named(self) -> None:
        with self.assertRaisesRegex(ak.EnvironmentFault, "/no/program"):
            ak.Client("/no/program")


unittest.main(argv=sys.argv[:1])
