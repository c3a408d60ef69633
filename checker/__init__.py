"""The learner's tool: runs the check of a step and words its verdict. It knows no single step.

Read in the order in which data flows: ``cli`` (the command) → ``static`` and ``blanks`` (what is still
to write) → ``grading`` (the parent: starts the child, keeps time, believes only what it receives) →
``worker`` (the child: loads the learner's file) → ``observing`` (runs the claims, which call ``claims``
and ``runtime``; ``errors`` words what they raise) → ``naming`` (which mistake it is) → ``report`` and
``verdict`` (the words). Beside it stand the learner's companions, a task each: ``watch`` (with ``inputs``),
``hint``, ``status``, ``reset`` and ``compare``; what they keep is in ``progress``.
"""
