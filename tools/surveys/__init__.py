"""Survey how good the checks are: what they say of every attempt, and where the lines that they tell to write lead.

They take solutions and the attempts at them; they report what was wrong, and write the records that a check reads.
Tests and the maintainers' command line import them; they start checks as a learner's command does.
"""
