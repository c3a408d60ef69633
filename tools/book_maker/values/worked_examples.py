"""The worked example of warm-up 01, which figures draw.

``tests/dev/tools/test_book.py`` compares it with the one that the check uses; nothing here may import a check.
"""

#: "Your journey starts with one step", three numbers per word; after Raschka, chapter 3.
SIX_WORDS = (
    (0.43, 0.15, 0.89),
    (0.55, 0.87, 0.66),
    (0.57, 0.85, 0.64),
    (0.22, 0.58, 0.33),
    (0.77, 0.25, 0.10),
    (0.05, 0.80, 0.55),
)
JOURNEY = 1  # the row of "journey"
