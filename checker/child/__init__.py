"""The child of a check: runs the claims of a step beside the learner's code, and reports what they say.

It takes a job from the parent, runs the check file of a step on the file to check, and sends events, with an outcome of
every claim. Its modules are at work in this order: ``main``, ``preparing``, ``loading``, ``missing``, ``stage_runner``,
and for each stage ``session`` with ``selection``, ``fixtures`` and ``reporting``.

Only tests and maintainers' tools may import it, never the parent.
"""
