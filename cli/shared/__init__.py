"""The parts that several commands need.

``command_line`` has types and options of arguments, ``problems`` the lines for editors and GitHub; ``programs`` runs
one of our programs in a process, and ``background`` a check in a thread. None of them imports a command.
"""
