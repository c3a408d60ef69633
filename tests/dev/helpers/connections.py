"""What a process connects to, as strace writes it down."""

import re
from pathlib import Path

SENT_ELSEWHERE = re.compile(r'htons\(53\)|/resolve/|AF_INET6?[^"]*"(?!127\.|::1")')  # or to what looks names up


def traced(calls: Path) -> list[str]:
    """Return what goes before a command line so that its connections are written into a file."""
    return ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", str(calls)]


def is_silent(calls: Path) -> bool:
    """Return whether all of these connections stay on this machine."""
    return not any(map(SENT_ELSEWHERE.search, calls.read_text().splitlines()))
