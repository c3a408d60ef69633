"""Kernels in Mojo: compile a learner's file without MAX's compiler, load it, and shorten the compiler's errors.

The text of a file in Mojo becomes a module whose functions take NumPy arrays, or an error at one of its lines. The
child of a check, ``warm`` and tests may import this package; of the adapter it imports ``max_errors``.
"""
