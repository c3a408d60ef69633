"""Train and judge the small GPT-2 in the box, with torch.

In comes the text of *Moby Dick*; out go a checkpoint under ``models/`` and its evaluation. Nothing imports it but
``tools.cli`` and tests.
"""
