"""What a step is on disk: its files, its blanks, its skeleton, what is still to write, how far along it is.

It reads the files of the repository and returns plain values: a ``Step``, blanks, an opened file, a standing.
Everyone may import it; of ours it imports ``files`` and ``machine`` alone.
"""
