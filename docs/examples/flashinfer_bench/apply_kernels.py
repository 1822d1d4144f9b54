# SPDX-License-Identifier: Apache-2.0
"""A norm by the fastest kernel of an exported data set, through FlashInfer-Bench's apply: apply_kernels.py DATASET

    alphakernel exchange export dataset/
    TORCH_CUDA_ARCH_LIST=9.0a python3 apply_kernels.py dataset/

The data set says which solution was the fastest on which shape. Other shapes, and definitions that it lacks, are computed by
the fallback, or with on_miss_policy="use_def_best" by the solution that was the fastest most often.
"""
import sys

import torch
from flashinfer_bench.apply import ApplyConfig, apply, enable_apply

# apply() takes traces whose errors are no larger. What it has by default, 1e-2 and 1e-5, excludes every kernel whose result is
# rounded to 16 bits, and every one that was checked on large numbers, too. That they are right was decided before the export.
CONFIG = ApplyConfig(max_atol=float("inf"), max_rtol=1e-2, on_miss_policy="use_def_best")


@apply("rmsnorm_bf16_any_epsilon")  # the name of the definition: `alphakernel exchange export` has written it
def rmsnorm(x, weight, epsilon):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + epsilon) * weight.float()).to(x.dtype)


def main():
    x, weight = torch.randn(4096, 4096), torch.rand(4096)
    x, weight = (one.to("cuda" if torch.cuda.is_available() else "cpu", torch.bfloat16) for one in (x, weight))
    plain = rmsnorm(x, weight, 1e-5)
    with enable_apply(sys.argv[1], CONFIG):
        applied = rmsnorm(x, weight, 1e-5)
    print("largest difference", (applied.float() - plain.float()).abs().max().item())


if __name__ == "__main__":
    main()
