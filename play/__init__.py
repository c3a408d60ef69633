"""The end of the course: the finished model writes text, talks, shows its attention, and is served.

It takes a checkpoint and a prompt; it gives text, pictures, and answers over HTTP. A folder is a command, or a part
that several build on; the modules beside the folders are shared by all.
The command line and maintainers' tools import it; it imports ``checker.course``, ``checker.max_adapter``,
``checker.errors`` and ``checker.terminal``.
"""
