"""The book with its editor: ``./run book`` adds an editor, the check, hints and more to the page of each step.

The server answers a browser on this machine with the built book, the learner's files, and records of verdicts. Only
``cli.course_commands`` imports it; it uses ``cli.shared``, ``checker.parent`` and other commands' modules, but no MAX.
"""
