"""Check again at every save: keys and saves come in, verdicts come out on the screen.

The command line starts it; it uses ``session`` for each check and keeps the next child ready.
"""
