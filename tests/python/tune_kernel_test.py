# SPDX-License-Identifier: Apache-2.0
"""tune_kernel() with the real program: tune_kernel_test.py PROGRAM SOURCE_FOLDER."""

import array
import os
import sys
import tempfile
import unittest

PROGRAM, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "python"))
os.environ["ALPHAKERNEL_PROGRAM"] = PROGRAM

import alphakernel as ak  # noqa: E402
from alphakernel.kernel_tuner.space import Space  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

ADD = """
__global__ void vector_add(float *c, float *a, float *b, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
"""
MATMUL = """
#define WIDTH 32
__global__ void matmul(float *C, float *A, float *B) {
  __shared__ float left[block_size_y * tile_size_y][block_size_x];
  __shared__ float right[block_size_x][block_size_x * tile_size_x];
  const int x = blockIdx.x * block_size_x * tile_size_x + threadIdx.x;
  const int y = blockIdx.y * block_size_y * tile_size_y + threadIdx.y;
  float sum[tile_size_y][tile_size_x] = {};
  for (int k = 0; k < WIDTH; k += block_size_x) {
    __syncthreads();
    for (int i = 0; i < tile_size_y; i++) {
      const int row = threadIdx.y + i * block_size_y;
      left[row][threadIdx.x] = A[(y + i * block_size_y) * WIDTH + k + threadIdx.x];
      for (int j = 0; j < tile_size_x; j++)
        right[row][threadIdx.x + j * block_size_x] = B[(k + row) * WIDTH + x + j * block_size_x];
    }
    __syncthreads();
    for (int inner = 0; inner < block_size_x; inner++)
      for (int i = 0; i < tile_size_y; i++)
        for (int j = 0; j < tile_size_x; j++)
          sum[i][j] += left[threadIdx.y + i * block_size_y][inner] * right[inner][threadIdx.x + j * block_size_x];
  }
  for (int i = 0; i < tile_size_y; i++)
    for (int j = 0; j < tile_size_x; j++) C[(y + i * block_size_y) * WIDTH + x + j * block_size_x] = sum[i][j];
}
"""
ON_CPU = {"device": "emulator", "arch": "sm_80", "quiet": True}
N = 500


class TuneKernelTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        os.environ["ALPHAKERNEL_CONFIG"] = os.path.join(self.folder.name, "config.json")
        ak.connect(database=os.path.join(self.folder.name, "ak.db"))
        self.a = array.array("f", [i * 0.5 for i in range(N)])
        self.b = [float(N - i) for i in range(N)]
        self.sums = [x + y for x, y in zip(self.a, self.b)]
        self.arguments = [array.array("f", bytes(4 * N)), self.a, self.b, N]

    def tearDown(self) -> None:
        ak.disconnect()
        self.folder.cleanup()

    def add(self, source=ADD, **more):
        return ak.tune_kernel("vector_add", source, N, self.arguments, {"block_size_x": [64, 96, 128]},
                              **{**ON_CPU, **more})

    def test_vectors_are_added_with_arrays_and_lists(self) -> None:
        results, env = self.add(answer=[self.sums, None, None, None], restrictions=lambda p: p["block_size_x"] != 96,
                                metrics={"GB/s": lambda p: 12e-6 * N / p["time"]})
        self.assertEqual([each["block_size_x"] for each in results], [64, 128])
        self.assertTrue(all(each["time"] > 0 and each["GB/s"] > 0 for each in results))
        self.assertTrue(env["estimated"])
        self.assertIn(env["best_config"], results)
        self.assertIn("__global__", env["result"].source)

    def test_an_answer_that_the_kernel_does_not_give_is_refused(self) -> None:
        self.sums[7] += 1
        with self.assertRaisesRegex(ak.BadInputError, r"c\[7\]: expected .*, got"):
            self.add(answer=[self.sums, None, None, None])

    def test_a_point_that_is_wrong_is_not_among_the_results(self) -> None:
        wrong = ADD.replace("a[i] + b[i]", "a[i] + (block_size_x == 96 ? 2 : 1) * b[i]")
        results, env = self.add(wrong, strategy="random_sample", strategy_options={"max_fevals": 9})
        self.assertNotIn(96, [each["block_size_x"] for each in results])
        self.assertEqual([each["status"] for each in env["failed"]], ["incorrect"])

    def test_an_array_that_is_read_and_written_keeps_what_it_held(self) -> None:
        source = "__global__ void grow(float* x, float by) { int i = blockIdx.x * block_size_x + threadIdx.x;\n" \
                 "  if (i < 500) x[i] += by; }"
        results, _ = ak.tune_kernel("grow", source, N, [self.a, 0.5], {"block_size_x": [64, 128]}, unaudited=True,
                                    answer=[[x + 0.5 for x in self.a], None], **ON_CPU)
        self.assertEqual(len(results), 2)

    def test_matrices_are_multiplied(self) -> None:
        side = 32
        if numpy is None:
            left = [[float((i * j) % 7) for j in range(side)] for i in range(side)]
            right = [[float((i + j) % 5) for j in range(side)] for i in range(side)]
            zero = [[0.0] * side for _ in range(side)]
            product = [[sum(left[i][k] * right[k][j] for k in range(side)) for j in range(side)] for i in range(side)]
        else:
            left = numpy.random.randn(side, side).astype(numpy.float32)
            right = numpy.random.randn(side, side).astype(numpy.float32)
            zero = numpy.zeros_like(left)
            product = numpy.dot(left.astype(numpy.float64), right)
        results, _ = ak.tune_kernel(
            "matmul", MATMUL, (side, side), [zero, left, right],
            {"block_size_x": [8, 16], "block_size_y": [4, 8], "tile_size_x": [1, 2], "tile_size_y": [1, 2]},
            grid_div_x=["block_size_x", "tile_size_x"], grid_div_y=lambda p: p["block_size_y"] * p["tile_size_y"],
            restrictions=["block_size_x==block_size_y*tile_size_y"], answer=[product, None, None], atol=1e-4, **ON_CPU)
        self.assertEqual(len(results), 6)

    def test_what_is_not_supported_is_refused_by_name(self) -> None:
        for name, value in {"cache": "x.json", "observers": [1], "cmem_args": {"x": 1}, "lang": "OpenCL",
                            "strategy": "firefly_algorithm", "strategy_options": {"popsize": 3}, "objective": "energy",
                            "compiler_options": ["--coverage"], "smem_args": {"bytes": 3}}.items():
            with self.subTest(name), self.assertRaisesRegex(ak.UsageError, name):
                self.add(**{name: value})
        with self.assertRaisesRegex(ak.UsageError, "takes 4, got 1"):
            ak.tune_kernel("vector_add", ADD, N, [self.a], {"block_size_x": [64]}, **ON_CPU)

    def test_rules_become_expressions_of_plans(self) -> None:
        space = Space({"block_size_x": [16, 32], "tile": [1, 2, 4], "X": [0], "x": [1]})
        self.assertEqual(space.names["x"], "X_")
        self.assertEqual(space.condition("block_size_x == 16*tile and tile < 4", ""),
                         "BLOCK_SIZE_X == 16 * TILE and TILE < 4")
        self.assertEqual(space.value("block_size_x / 8", ""), "4 if (BLOCK_SIZE_X) in [32] else (2)")
        self.assertEqual(space.condition(lambda p: True, ""), "True")
        with self.assertRaisesRegex(ak.UsageError, "'blok' is no parameter"):
            space.condition("blok / 2 == 1", "restrictions")


unittest.main(argv=sys.argv[:1])
