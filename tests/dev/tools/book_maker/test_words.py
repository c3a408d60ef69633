"""How many words a page has."""

from tools.book_maker import words


def test_words_are_counted_in_view_and_folded():
    source = "# Two words\n{{figure a.b: A caption.}}\n| a | table |\n<details><summary>Shown</summary>\nno\n</details>"
    assert words.count("", source, "1 <svg>no</svg> 2 <details>folded</details>") == words.Words(5, 7, 2, 1)
