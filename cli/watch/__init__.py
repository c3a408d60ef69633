"""Check again at every save.

It takes keys and saves, as events of one queue; it prints verdicts on the screen. The command line starts it; it uses
``session`` for each check, and keeps the next child ready.
"""
