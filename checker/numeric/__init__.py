"""Numbers compared: the tolerance, the recorded references, what a pattern of wrong values says.

It takes arrays; it returns verdicts and sentences. NumPy only; both sides of a check may import it.
"""
