"""What the parent of a check and its child say to each other: the job, the events, and how both travel as messages.

It lies below both sides, and knows neither.
"""
