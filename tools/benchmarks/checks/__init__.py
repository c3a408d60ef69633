"""Time the checks: the learner's loop, every step, watch, and the page.

It takes rounds and steps; it prints tables. ``tools.main``, the book's values, and tests import it; it imports
``tools.benchmarks.harness``.
"""
