"""Check again at every save.

In come keys and saves, as events of one queue; out go verdicts on the screen. The command line starts it; it uses
``session`` for each check, and keeps the next child ready.
"""
