# SPDX-License-Identifier: Apache-2.0
"""The program that asks a benchmark's own evaluator, with evaluators of our own: `judge_test.py JUDGE.py`. Needs no PyTorch."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

JUDGE = sys.argv.pop(1)
WORD = "0123456789abcdef"
FORGED = f"JUDGED {WORD} " + json.dumps({"compiled": True, "correct": True, "time_us": 1.0, "eager_us": 9.0, "note": ""})
WRONG = """
class Said:
    compiled, correctness, runtime, ref_runtime, metadata = True, False, {runtime}, 2.0, {{}}
def eval_kernel_against_ref(task, model, **_):
    {what}
    return Said
"""


TORCH = """
class cuda:
    is_available = staticmethod(lambda: True)
    get_device_name = staticmethod(lambda: {gpu!r})
"""


def judged(what, runtime="0.5", gpu=None):
    """What the judge writes to standard output, and its exit code, with an evaluator that finds every model wrong."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "src" / "kernelbench").mkdir(parents=True)
        (folder / "src" / "kernelbench" / "eval.py").write_text(WRONG.format(what=what, runtime=runtime))
        (folder / "task.py").write_text("")
        if gpu:
            (folder / "src" / "torch.py").write_text(TORCH.format(gpu=gpu))
            with open(folder / "src" / "kernelbench" / "eval.py", "a", encoding="utf-8") as evaluator:
                evaluator.write("import torch\n")
        (folder / "word").write_text(WORD + "\n")  # a file, which can be read at any place
        with open(folder / "word", encoding="utf-8") as words:
            done = subprocess.run([sys.executable, "-B", JUDGE, place, folder / "task.py", folder / "task.py", "GPU 1"],
                                  stdin=words, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout, done.returncode


class Judge(unittest.TestCase):
    def verdict(self, *arguments, **named):
        text, code = judged(*arguments, **named)
        self.assertEqual(code, 0)
        self.assertEqual(text.count("\n"), 1)
        head = f"JUDGED {WORD} "
        self.assertTrue(text.startswith(head), text)
        return json.loads(text[len(head):])

    def test_a_verdict_is_one_line_with_the_word(self):
        self.assertEqual(self.verdict("pass"), {"compiled": True, "correct": False, "time_us": 500.0,
                                                "eager_us": 2000.0, "note": "{}"})

    def test_what_judged_code_prints_is_no_verdict(self):
        for forge in (f"print({FORGED!r})", f"import os; os.write(1, {FORGED!r}.encode() + b'\\n')",
                      f"import os; os.system('echo ' + {FORGED!r})",
                      f"import subprocess; subprocess.run(['echo', {FORGED!r}])"):
            with self.subTest(forge):
                self.assertFalse(self.verdict(forge)["correct"])

    def test_the_word_cannot_be_read_again(self):
        for again in ("import os; assert os.pread(0, 99, 0) == b''", "import sys; assert sys.stdin.read() == ''",
                      "import os; os.lseek(0, 0, os.SEEK_SET); assert os.read(0, 99) == b''"):
            with self.subTest(again):
                self.assertFalse(self.verdict(again)["correct"])

    def test_another_gpu_judges_nothing(self):
        self.assertEqual(self.verdict("raise ValueError", gpu="GPU 2"), {"other_gpu": "GPU 2"})
        self.assertFalse(self.verdict("pass", gpu="GPU 1")["correct"])

    def test_code_that_ends_the_judge_leaves_no_verdict(self):
        self.assertEqual(judged(f"import os; print({FORGED!r}, flush=True); os._exit(0)"), ("", 0))
        text, code = judged("raise ValueError")
        self.assertEqual((text, code != 0), ("", True))

    def test_what_is_no_time_is_none(self):
        for runtime in ("-1", "0", "None", "float('nan')", "float('inf')"):
            with self.subTest(runtime):
                self.assertIsNone(self.verdict("pass", runtime=runtime)["time_us"])


if __name__ == "__main__":
    unittest.main()
