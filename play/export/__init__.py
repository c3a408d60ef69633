"""One file of the model that you built: the sources of steps 01 to 14 become a program that needs no repository.

``program`` is the end of the file, ``merging`` makes one source of many, and ``export`` reads and writes them.
"""
