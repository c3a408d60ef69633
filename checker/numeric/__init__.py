"""Numbers: the tolerance, recorded and drawn ones, comparisons, and what the pattern of wrong numbers says.

The modules take arrays and return sentences. They use NumPy only; both sides of a check may import them.
"""
