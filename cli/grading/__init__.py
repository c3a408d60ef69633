"""Grade all steps of a checkout, and word verdicts for other programs: editors, GitHub's workflows, a teacher's own.

In come a checkout, of which only ``steps/`` is taken, and verdicts as ``session.views`` makes them; out go a table,
one object, or a line for each problem. Only ``cli.main`` imports it.
"""
