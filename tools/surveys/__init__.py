"""How good the checks are: every attempt graded, mistakes in pairs, edits that no check notices, what MAX refuses.

In come solutions and the attempts at them; out go what was wrong, tables, and the records that a check reads.
Tests and the maintainers' command line import it; it starts the checks as a learner's command does.
"""
