# SPDX-License-Identifier: Apache-2.0
"""tune_kernel() with the signature of Kernel Tuner."""

from .interface import tune_kernel

__all__ = ["tune_kernel"]
