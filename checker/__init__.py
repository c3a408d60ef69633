"""One check, from a learner's file to a sentence. It knows nothing about any single step.

Data flows down this list: ``course`` (what a step is on disk, and what a file says without being run)
→ ``check`` (the parent: starts the child, receives its ``events``, decides, shows and saves) → ``claims`` (the
child, beside the learner's code; it compares by ``numeric`` and runs MAX by ``max_adapter``) → ``diagnosis`` (from
outcomes to a sentence).
"""

import os

# MAX looks at this before it first runs something. Every program of the course imports this package, so none of them
# reports to MAX's makers, unless you have set it yourself.
os.environ.setdefault("MODULAR_TELEMETRY_ENABLED", "false")
