"""From observations to sentences: which function is to blame, which known mistake it is, what an exception means.

In come what the claims observed and raised, and a way to try more; out go explanations for the learner.
The child of a check imports it; it imports ``course``, ``numeric``, and of the adapter the texts of MAX's messages.
"""
