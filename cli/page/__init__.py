"""Interactive book server: ``./run book`` adds an editor, the check, hints and the rest to the page of each step.

In come requests of a browser on this machine; out go the built book, the learner's files, and records of verdicts.
Only ``cli.course_commands`` imports it; it uses ``cli.shared``, ``checker.parent`` and what other commands do, no MAX.
"""
