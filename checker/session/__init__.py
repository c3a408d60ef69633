"""The parent of a check: it starts the child, keeps time, hears events, decides the verdict and shows it.

It takes a step and the learner's file; it tells a view what becomes known, and returns a verdict with an exit status.
The command line, the companions and maintainers' tools may import it; it imports no MAX, no pytest, no child.
"""
