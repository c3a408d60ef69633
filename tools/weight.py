"""Count the lines of code of each part of the repository: ``python -m tools.weight`` fails if a part exceeds its limit.

Every tracked file is code, except for prose, data, and what states versions or tasks.
"""

import subprocess
import sys

from checker.files import ROOT

LONGEST_LINE = 120  # characters

#: How the names of files end that are not code.
NO_CODE = (
    ".cff", ".data.js", ".gz", ".json", ".md", ".npz", ".safetensors", ".svg", ".toml", ".txt", ".woff2",
    ".editorconfig", ".gitignore", "LICENSE",
)  # fmt: skip
#: A part -> its limit in lines, and how the paths of its files begin. A file counts to the first part that it fits.
#: The first five and their sum have two percent more than is there, so that a mended fault may bring its test. Lower a
#: limit when its part has become lighter for good; what needs a higher one first takes something away.
PARTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "checker and cli": (17_190, ("checker/", "cli/")),
    "play": (8_370, ("play/",)),
    "tools": (7_200, ("tools/",)),
    "tests/dev": (16_920, ("tests/dev/",)),
    "book": (2_170, ("book/theme/", "book/src/widgets/")),
    "together": (52_020, ()),  # all parts above; the parts below are the course itself
    "claims and attempts": (16_500, ("tests/",)),
    "solutions": (3_200, ("solutions/",)),
    "steps": (2_200, ("steps/",)),
    "run and CI": (450, ("run", ".ci/", ".github/", ".pre-commit-config.yaml")),
}


def main() -> int:
    """Print the table, and on stderr what is wrong; return 1 if anything is."""
    lines, faults = dict.fromkeys(PARTS, 0), []
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in tracked.split("\0"):
        if not (ROOT / name).is_file() or name.endswith(NO_CODE):
            continue
        source = (ROOT / name).read_text().splitlines()
        too_long = (number for number, line in enumerate(source, 1) if len(line) > LONGEST_LINE)
        faults += [f"{name}:{number}: over {LONGEST_LINE} characters" for number in too_long]
        part = next((part for part, (_, beginnings) in PARTS.items() if name.startswith(beginnings)), None)
        part = part or f"of no part: {name.partition('/')[0]}"
        lines[part] = lines.get(part, 0) + len(source)
    above = list(PARTS)[: list(PARTS).index("together")]
    lines["together"] = sum(lines[part] for part in above)
    print("lines of code           now    must")
    for part, now in lines.items():
        limit = PARTS[part][0] if part in PARTS else 0
        print(f"{part:<19} {now:>7,} {limit:>7,}")
        if now > limit:
            faults.append(f"{part}: {now - limit:,} lines over its limit")
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
