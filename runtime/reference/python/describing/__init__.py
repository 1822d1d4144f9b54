"""Describes a file of PyTorch as a problem: axes, tensors, values, work, mistakes, a kernel to start from."""
