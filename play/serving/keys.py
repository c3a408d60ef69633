"""Who may ask: a request needs one of the keys in a file, which is read anew for each.

The file has one key per line; empty lines and lines that begin with ``#`` are no keys. No message repeats a key, not
even one that was given as the name of the file by mistake.
"""

from __future__ import annotations

import codecs
from pathlib import Path

from checker.course.reading import is_utf16
from checker.errors import UserError
from play.serving.options import ServerOptions

LOOPBACK = ("127.0.0.1", "localhost", "::1")  # where only this machine can ask


class Keys:
    """The keys of a file, as it is at any moment. Without a file, no key fits."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[bytes]:
        """Return the keys that are in the file now.

        Raises:
            UserError: the file cannot be read, is in UTF-16, or has no key.
        """
        try:
            content = self.path.read_bytes().removeprefix(codecs.BOM_UTF8)
        except OSError as error:
            reason = f"the file of --api-key cannot be read ({error.strerror}); it has one key per line"
            raise UserError(reason) from None
        if is_utf16(content):
            raise UserError("the file of --api-key is in UTF-16, as PowerShell writes it; save it as UTF-8")
        lines = [line.strip() for line in content.splitlines()]
        keys = [line for line in lines if line and not line.startswith(b"#")]
        if not keys:
            raise UserError("the file of --api-key has no key; write one per line")
        return keys


def keys_of(options: ServerOptions) -> Keys | None:
    """Return the keys that requests need. Without keys, only this machine may ask, unless the options let anybody ask.

    Raises:
        UserError: there are no keys where there must be some.
    """
    if options.api_key and options.no_key:
        raise UserError("--api-key and --no-key exclude each other; leave one out")
    if not (options.api_key or options.no_key or options.host in LOOPBACK):
        raise UserError(
            f"--host {options.host} lets other machines connect; give --api-key FILE, a file with one key per line, "
            "or say --no-key if something in front of this server decides who may connect"
        )
    return Keys(options.api_key) if options.api_key else None
