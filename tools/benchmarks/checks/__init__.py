"""How long the checks take: the loop of a learner, every step, and watch.

In come rounds and steps; out go tables. ``tools.cli``, the book's values, and tests import it; it imports
``tools.benchmarks.harness``.
"""
