"""One check, from a learner's file to a sentence. It knows nothing about any single step.

Data flows down this list: ``course`` (what a step is on disk, the static verdict)
→ ``session`` (the parent: starts the child, hears its ``events``, decides the verdict, prints it) → ``claims`` (the
child, beside the learner's code; it compares by ``numeric`` and runs MAX by ``max_adapter``) → ``diagnosis`` (from
an observation to a sentence).
"""

import os

# MAX looks at this before it first runs something. Every program of the course imports this package, so none of them
# reports to MAX's makers, unless you have set it yourself.
os.environ.setdefault("MODULAR_TELEMETRY_ENABLED", "false")
