"""From an observation to a sentence: which known mistake it is, and what an exception means.

In come what the claims observed and raised; out go sentences for the learner.
The child of a check imports it; it imports ``numeric``, and of the adapter the texts of MAX's messages.
"""
