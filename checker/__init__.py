"""The learner's tool: runs the check of a step and words its verdict. It knows no single step.

Read in the order in which data flows: ``cli`` (the command) → ``blanks`` (what is still to write)
→ ``grading`` (the parent: starts the child, keeps time, believes only what it receives) →
``worker`` (the child: loads the learner's file and runs the step's claims) → ``claims`` and
``runtime`` (what a claim calls) → ``naming`` (which mistake it is) → ``verdict`` (the words).
"""
