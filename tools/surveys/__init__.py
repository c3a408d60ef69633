"""Survey how good the checks are: every attempt, mistakes in pairs, edits that no check notices, what MAX refuses.

They take solutions and the attempts at them; they report what was wrong, and write tables and the records that a check
reads. Tests and the maintainers' command line import them; they start checks as a learner's command does.
"""
