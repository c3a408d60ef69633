"""Check again at every save.

It takes keys, saves and what checks have come to, as inputs of one queue; it prints verdicts on the screen. The command
line starts it; it uses ``checking`` for each check.
"""
