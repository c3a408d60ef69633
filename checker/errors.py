"""The error that ends a command: what was asked for cannot be done, for a reason that a person can mend."""


class UserError(RuntimeError):
    """What cannot be done, or what to do; a command prints it after its name, without a traceback, and exits with 2."""
