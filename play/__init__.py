"""What the course ends with: the finished model writes text, talks, shows its attention, and is served.

It takes a checkpoint and a prompt; it gives text, pictures, and answers over HTTP.
The command line and maintainers' tools import it; it imports ``checker.course``, ``checker.max_adapter``,
``checker.errors`` and ``checker.terminal``.
"""
