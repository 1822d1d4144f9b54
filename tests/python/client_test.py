# SPDX-License-Identifier: Apache-2.0
"""The Python client with the real program: client_test.py PROGRAM SOURCE_FOLDER."""

import os
import sys
import tempfile
import threading
import unittest

PROGRAM, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "python"))
sys.dont_write_bytecode = True

import alphakernel  # noqa: E402

KERNEL = """/* alphakernel
{"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  %s
}
"""
ON_CPU = {"problem": "vector_add", "shape": {"N": 1000}, "device": "emulator", "arch": "sm_80"}


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        for name, file in [("CONFIG", "config.json"), ("CACHE", "cache")]:
            os.environ["ALPHAKERNEL_" + name] = os.path.join(self.folder.name, file)
        self.client = alphakernel.Client(PROGRAM, os.path.join(self.folder.name, "ak.db"))

    def tearDown(self) -> None:
        self.client.close()
        self.folder.cleanup()

    def test_kernels_are_evaluated_and_the_database_answers(self) -> None:
        right = self.client.evaluate(source=KERNEL % "if (i < n) c[i] = a[i] + b[i];", **ON_CPU)
        self.assertEqual(right["status"], "ok")
        self.assertFalse(right.failed)
        wrong = self.client.evaluate(source=KERNEL % "if (i < n) c[i] = a[i] - b[i];", **ON_CPU)
        self.assertEqual(wrong["gate"], "tolerance")
        self.assertTrue(wrong.failed)
        rows = self.client.query(sql="SELECT status FROM evaluations ORDER BY id")
        self.assertEqual(rows["rows"], [["ok"], ["incorrect"]])

    def test_a_search_reports_and_can_be_stopped(self) -> None:
        events = []

        def on_event(name: str, data: dict) -> None:
            events.append(name)
            self.client.stop()

        found = self.client.search(problem="vector_add", device="none", arch="sm_90a", on_event=on_event)
        self.assertTrue(found["interrupted"])
        self.assertIn("__global__", found["best"]["source"])
        self.assertIn("progress", events)
        self.assertIn("new_best", events)

    def test_errors_are_exceptions_with_a_code_and_the_client_goes_on(self) -> None:
        with self.assertRaises(alphakernel.Error) as raised:
            self.client.show_problem(problem="softmaxx")
        self.assertEqual(raised.exception.code, 2)
        self.assertIn("softmax", str(raised.exception))
        with self.assertRaises(alphakernel.Error):
            self.client.call("no_operation", {})
        with self.assertRaises(alphakernel.Error):
            self.client.query(sql=5)
        self.assertGreater(len(self.client.list_problems()["problems"]), 5)

    def test_threads_share_a_client(self) -> None:
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.client.list_problems())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 4)
        self.assertEqual(answers[0], answers[3])

    def test_a_program_that_has_ended_is_an_error(self) -> None:
        self.client.close()
        with self.assertRaises(alphakernel.Error):
            self.client.list_problems()


unittest.main(argv=sys.argv[:1])
