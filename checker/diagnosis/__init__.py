"""From outcomes to sentences: which function is to blame, which known mistake it is, what an exception means.

It takes the outcomes of claims, and a way to try more claims; it returns findings. The child of a check imports it; it
imports ``course``, ``numeric``, and from the adapter only the texts of MAX's messages.

An error becomes words as soon as its claim has ended (``exceptions``), with a place and the line to write instead
(``locating``, ``rewriting``). ``diagnosing`` begins once all claims have ended, with their ``outcomes``: it asks
``causes`` for a cause that lies in no blank (``outside_blanks``), and ``blaming`` for the functions to blame.
``blaming`` asks ``isolation`` which functions are wrong beside the solution's code (``grafting``), and
``mistake_finder`` which of the known ``mistakes`` each of them makes. What they find becomes ``findings``.
"""
