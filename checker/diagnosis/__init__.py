"""From outcomes to sentences: which function is to blame, which known mistake it is, what an exception means.

It takes what the claims observed and raised, and a way to try more; it returns explanations for the learner.
The child of a check imports it; it imports ``course``, ``numeric``, and from the adapter only the texts of MAX's
messages.
"""
