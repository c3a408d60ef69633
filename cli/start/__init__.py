"""What ``./run`` runs before a command, with the standard library alone.

``setup`` makes ``.venv``, and ``tasks`` becomes the line of a task in ``pixi.toml``.
"""
