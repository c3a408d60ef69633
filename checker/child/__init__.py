"""The child of a check: runs the claims of a step beside the learner's code, and reports what they say.

It takes a job from the parent, the check file of a step, and the file to grade; it sends events, with an outcome for
every claim. Only tests and maintainers' tools may import it, never the parent.
"""
