"""The learner's commands beside the check: watch, hint, status, reset, compare, doctor.

They take a step and what was typed; they print lines and return an exit status.
Only the command line and maintainers' tools import it; it imports ``session`` and ``course``.
"""
