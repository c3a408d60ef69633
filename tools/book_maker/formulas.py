"""Turn LaTeX between dollar signs into MathML, which browsers draw by themselves."""

import re
from collections.abc import Callable
from functools import cache
from xml.etree import ElementTree

from latex2mathml.converter import convert

#: What prose can contain, in the order of trying: what must be left alone, then the two kinds of formula.
TOKEN = re.compile(
    r"""
      (?P<alone> \\. | (?<!`)(?P<ticks>`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)(?P=ticks)(?!`) | <!--.*?--> )
    | \$\$ (?P<display>(?:(?!\n\s*\n)[^$])+?) \$\$
    | \$ (?!\s) (?P<inline>(?:(?!\n\s*\n)(?:\\.|[^$\\]))+?) (?<!\s) \$ (?!\d)
    | (?P<stray>\$)
    """,
    re.VERBOSE | re.DOTALL,
)
CHILDREN = {"mfrac": 2, "msub": 2, "msup": 2, "msubsup": 3, "mroot": 2, "munder": 2, "mover": 2, "munderover": 3}
#: Infinity is not an operator: with an operator's space around it, a minus sign before it would look detached.
INFINITY = re.compile("<mo>(&#x0221E;)</mo>")
#: A function's name, perhaps with its base, and the beginning of what it is applied to, unless that is a parenthesis.
APPLIED = re.compile(r"(<mi>(ln|log|exp|sin|cos|tanh)</mi>|<msub><mi>log</mi>.*?</msub>)(?=<m(?!o|/))")
SPECIAL = str.maketrans({letter: f"&#x{ord(letter):X};" for letter in "*_[]~`\\"})


@cache
def to_mathml(latex: str, *, display: bool = False) -> str:
    """Return one formula as MathML on one line, without anything that Markdown would interpret.

    Raises:
        ValueError: it is LaTeX that the converter does not know, or only guesses.
    """
    plain = re.sub(r"\\.", "", latex)
    if plain.count("{") != plain.count("}"):
        raise ValueError("its braces do not match")
    try:
        made = convert(" ".join(latex.split()), display="block" if display else "inline")
    except Exception as error:  # the converter's exceptions have no common base, and IndexError is among them
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Error")).lower()
        raise ValueError(f"the converter says: {words} {error}".rstrip()) from error
    made = INFINITY.sub(r'<mi mathvariant="normal">\1</mi>', made)
    made = APPLIED.sub(r'\1<mspace width="0.167em" />', made)
    for element in ElementTree.fromstring(made).iter():
        name = element.tag.rpartition("}")[2]
        if "\\" in (element.text or ""):
            raise ValueError(f"{element.text} is unknown to the converter; write it another way")
        if len(element) != CHILDREN.get(name, len(element)):
            raise ValueError(f"an argument is missing ({name} has {len(element)} of {CHILDREN[name]} parts)")
    return re.sub(r">([^<]*)<", lambda match: f">{match[1].translate(SPECIAL)}<", made)


def replace(text: str, wrong: Callable[[int, str], object]) -> str:
    """Return prose with its formulas as MathML; code spans and ``\\$`` are left alone.

    ``wrong`` is called with the position and the reason for every formula that cannot be converted.
    """

    def converted(match: re.Match[str]) -> str:
        if match["alone"] is not None:
            return match[0]
        if match["stray"]:
            wrong(match.start(), "this $ neither begins nor ends a formula; write \\$ for a dollar sign")
            return match[0]
        display = match["display"] is not None
        latex = match["display"] if display else match["inline"]
        try:
            made = to_mathml(latex, display=display)
        except ValueError as error:
            wrong(match.start(), f"the formula ${latex}$ cannot be turned into MathML: {error}")
            return match[0]
        return f'<span class="formula">{made}</span>' if display else made

    return TOKEN.sub(converted, text)
