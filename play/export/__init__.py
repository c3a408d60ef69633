"""One file of what you built: in come the sources of steps 01 to 14, out goes a program without this repository.

``program`` is what the file ends with, ``merging`` makes one source of many, and ``export`` finds and writes them.
"""
