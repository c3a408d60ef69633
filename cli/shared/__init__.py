"""What several commands need.

``command_line`` has what they are made of, ``problems`` the lines for editors and GitHub, ``programs`` runs one of ours
in a process, and ``background`` a check in a thread. It imports no command.
"""
