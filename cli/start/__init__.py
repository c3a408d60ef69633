"""The part of ``./run`` that comes before a command, with the standard library alone.

``setup`` makes ``.venv``, and ``tasks`` runs the line of a task in ``pixi.toml``.
"""
