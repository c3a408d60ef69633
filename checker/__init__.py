"""One check, from a learner's file to a sentence. It knows nothing about any single step.

Data flows down this list: ``course`` (a step on disk, and what its file says without being run) → ``parent`` (starts
the child, receives the events of their ``protocol``, decides, shows and saves) → ``child`` (runs the learner's code and
the claims on it, which are written in the words of ``claims``, compare by ``numeric`` and run MAX by ``max_adapter``) →
``diagnosis`` (from outcomes to a sentence).
"""

import os

# MAX looks at this before it first runs something. Every program of the course imports this package, so none of them
# reports to MAX's makers, unless you have set it yourself.
os.environ.setdefault("MODULAR_TELEMETRY_ENABLED", "false")
