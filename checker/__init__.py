"""The learner's program: it runs the check of a step and words its verdict. It knows nothing about any single step.

Data flows down this list: ``cli`` (a command per task) → ``course`` (what a step is on disk, the static verdict)
→ ``session`` (the parent: starts the child, hears its ``events``, decides the verdict, prints it) → ``claims`` (the
child, beside the learner's code; it compares by ``numeric`` and runs MAX by ``max_adapter``) → ``diagnosis`` (from
an observation to a sentence). ``companions`` are the learner's other commands; ``warm`` compiles what all of them need.
"""
