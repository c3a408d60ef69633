"""The parent of a check: a fold over events, which decides, and an edge around it, which starts, shows and saves.

It takes a step and the learner's file; it tells a view what becomes known, and returns a verdict with an exit status.
The command line and maintainers' tools may import it; it imports no MAX, no pytest, no child.
"""
