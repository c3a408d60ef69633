"""What one ends with: the finished model writes text, talks, shows its attention, and is served.

In come a checkpoint and a prompt; out go text, pictures, answers over HTTP.
The command line and maintainers' tools import it; it imports ``checker.course``, ``checker.max_adapter`` and
``checker.session.waiting``.
"""
