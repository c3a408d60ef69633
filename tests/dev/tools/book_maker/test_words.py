"""How many words a page has."""

from tools.book_maker import words


def test_words_are_counted_in_view_and_folded():
    source = "# Two words\n{{figure a.b: A caption.}}\n| a | table |\n<details><summary>Shown</summary>\nno\n</details>"
    assert words.count("", source, "1 <svg>no</svg> 2 <details>folded</details>") == words.WordCount(5, 7, 2, 1)


def test_a_page_is_too_long_if_it_has_too_many_words_of_one_kind():
    limit = words.WordCount(5, 7, 2, 1)
    assert not limit.exceed(limit)
    for longer in ((6, 7, 2, 1), (5, 8, 2, 1), (5, 7, 3, 1), (5, 7, 2, 2)):
        assert words.WordCount(*longer).exceed(limit)
