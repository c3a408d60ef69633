"""What a step is on disk: its files, its blanks, its skeleton, what is still to write, how far it is.

In come the files of the repository; out go plain values: a ``Step``, blanks, a static verdict, a standing.
Everyone may import it; it imports nothing else of ours.
"""
