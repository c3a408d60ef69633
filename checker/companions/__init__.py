"""The learner's commands beside the check: watch, hint, status, reset, compare, doctor.

In come a step and what was typed; out go printed lines and an exit status.
Only the command line and maintainers' tools import it; it imports ``session`` and ``course``.
"""
