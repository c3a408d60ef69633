"""The pages of the built book, each with the scripts of the panel and with a policy that lets no other script run.

mdBook writes a few scripts and styles into its pages. The policy names each by its hash, and nothing else runs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from functools import lru_cache
from html import unescape
from pathlib import Path

from starlette.responses import HTMLResponse, Response

INLINE_SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
STYLE_ATTRIBUTE = re.compile(r"""\sstyle=(?:"([^"]*)"|'([^']*)')""")
SET_BY_SCRIPT = "position: absolute; opacity: 0;"  # mdBook's search gives a style to what takes the focus for a moment
HEAD_END = "</head>"
ADDED = """\
<link rel="stylesheet" href="/page/panel.css">
<script type="importmap">{modules}</script>
<script type="module" src="/page/main.js" nonce="{nonce}"></script>
"""


def page(file: Path, modules: dict[str, str]) -> Response:
    """Return a page of the book.

    Args:
        file: the page as mdBook made it.
        modules: where the browser finds the modules of the editor, by their names.
    """
    html = file.read_text(encoding="utf-8")
    nonce = secrets.token_urlsafe(16)
    imports = json.dumps({"imports": modules}, separators=(",", ":"))
    added = ADDED.format(modules=imports, nonce=nonce)
    policy = _policy(html, imports, nonce)
    return HTMLResponse(
        html.replace(HEAD_END, added + HEAD_END, 1),
        headers={"Content-Security-Policy": policy, "Cache-Control": "no-store"},
    )


def _policy(html: str, imports: str, nonce: str) -> str:
    scripts, styles = _inline(html)
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {' '.join(sorted({*scripts, hashed(imports)}))}",
            f"style-src 'self' 'nonce-{nonce}'",  # the editor makes a style sheet of its own
            f"style-src-attr 'unsafe-hashes' {' '.join(styles)}",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "frame-src 'self'",
            "frame-ancestors 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


@lru_cache(maxsize=64)
def _inline(html: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hashes of the scripts and of the styles that stand in a page."""
    styles = {SET_BY_SCRIPT, *(unescape(one or other) for one, other in STYLE_ATTRIBUTE.findall(html))}
    return (
        tuple(sorted({hashed(text) for text in INLINE_SCRIPT.findall(html)})),
        tuple(sorted(map(hashed, styles))),
    )


def hashed(text: str) -> str:
    """Return how a policy names a text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
