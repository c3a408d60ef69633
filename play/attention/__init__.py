"""What a model's heads look at: their weights on a text, in the terminal or on a page.

``show`` is the command, ``weights`` reads a model, and ``pictures`` draws. The book imports the last two.
"""
