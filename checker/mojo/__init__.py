"""Kernels in Mojo: compile a learner's file without MAX's compiler, load it, and put the compiler's words into ours.

In comes the text of a file of a step in Mojo; out comes a module whose functions take NumPy arrays, or what the
compiler has against it. The child of a check, ``warm`` and tests may import it; it imports ``course`` and ``events``.
"""
