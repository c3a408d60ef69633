"""How good the checks are: every attempt graded, two mistakes at once, and edits that a check does not notice.

In come solutions and the attempts at them; out go what was wrong, tables, and the records that a check reads.
Tests and the maintainers' command line import it; it starts the checks as a learner's command does.
"""
