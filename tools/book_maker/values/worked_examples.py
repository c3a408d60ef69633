"""Worked examples of warm-ups 01 and 06, for figures.

``tests/dev/tools/test_book.py`` compares them with those that the checks use; nothing here may import a check.
"""

WORDS = ("Your", "journey", "starts", "with", "one", "step")

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

#: The text that merges are learned from on paper.
LOWEST = "low low lower lowest"
