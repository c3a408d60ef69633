"""Numbers compared: the tolerance, the recorded references, what a pattern of wrong values says.

In come arrays; out go a yes or no and sentences. NumPy only; both sides of a check may import it.
"""
