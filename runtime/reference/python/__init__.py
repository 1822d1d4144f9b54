"""Reads a user's PyTorch file and runs it as the reference of a problem.

The modules import one another relatively, so that the package may have any name,
and a user's file that imports `task` or `utils` never meets ours.
"""
