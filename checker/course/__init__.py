"""A step on disk: its files, its blanks, its skeleton, what is still to write, how far along it is.

The modules read files of the repository and return plain values: a ``Step``, blanks, an opened file, a standing.
Everyone may import them; of ours they import ``files`` and ``machine`` alone.
"""
