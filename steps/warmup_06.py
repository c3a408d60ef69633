"""Warm-up 06: byte pairs, by which GPT-2 turns text into token ids and back. Plain Python."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import pairwise

Pair = tuple[int, int]  # the ids of two neighbors

#: The 256 bytes in GPT-2's order: a byte's place is its id. First come the 188 that are visible characters of Latin-1.
BYTES = bytes([*range(33, 127), *range(161, 173), *range(174, 256), *range(33), *range(127, 161), 173])
ID_OF_BYTE = {byte: number for number, byte in enumerate(BYTES)}

#: GPT-2's words in ASCII: an ending such as 's, letters, digits or other signs after one space or none, spaces.
WORD = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII)


def ascii_like(character: str) -> str:
    """Return an ASCII character of the same kind, x for a letter: Python's re has no word for "any letter"."""
    if character.isascii():
        return character
    if character.isspace():
        return "\n"
    return {"L": "x", "N": "0"}.get(unicodedata.category(character)[0], "!")


def words(text: str) -> list[str]:
    """Cut a text into GPT-2's words: ``Don't stop.`` into ``Don``, ``'t``, `` stop`` and ``.``."""
    in_ascii = "".join(ascii_like(character) for character in text)
    return [text[word.start() : word.end()] for word in WORD.finditer(in_ascii)]


def byte_ids(word: str) -> list[int]:
    """Return the ids of a word's bytes in UTF-8: one for an ASCII character, two to four for any other."""
    return [ID_OF_BYTE[byte] for byte in word.encode("utf-8")]


def count_pairs(ids: list[int]) -> dict[Pair, int]:
    """Return how often each pair of neighbors occurs. Pairs overlap: three equal ids have their pair twice."""
    # TODO: Count each id together with the next. (1 line)
    raise NotImplementedError


def merge(ids: list[int], pair: Pair, new_id: int) -> list[int]:
    """Return a new list with ``new_id`` in place of each ``pair``. Where pairs overlap, the left one is merged."""
    # TODO: From left to right: where the pair begins, append new_id and skip two; else append the id. (7 lines)
    raise NotImplementedError


def most_frequent(id_lists: list[list[int]]) -> Pair | None:
    """Return the most frequent pair in all words together, or None where there is no pair.

    Of several, it is the one with the smallest first id, and of these the one with the smallest second id.
    """
    # TODO: Add up the counts of all words. Take the largest count, and of equal ones the smallest pair. (4 lines)
    raise NotImplementedError


def train(text: str, n_merges: int) -> dict[Pair, int]:
    """Learn merges from a text: return the new id of each pair, from 256 on, in the order of learning.

    No merge joins two words. Learning ends early when no word has a pair left.
    """
    merges: dict[Pair, int] = {}
    # TODO: Begin with the bytes of every word; for each new id, merge the most frequent pair in all words. (8 lines)
    raise NotImplementedError


def encode_word(word: str, merges: dict[Pair, int]) -> list[int]:
    """Return the token ids of one word: its bytes, merged until no known pair is left.

    The pair that was learned first is merged first, wherever in the word it stands.
    """
    # TODO: Begin with byte_ids. While there is a pair that is in merges, merge the one with the smallest id. (5 lines)
    raise NotImplementedError


def encode(text: str, merges: dict[Pair, int]) -> list[int]:
    """Return the token ids of a text: those of its words, one after the other."""
    return [token for word in words(text) for token in encode_word(word, merges)]


def vocabulary(merges: dict[Pair, int]) -> list[bytes]:
    """Return the bytes of every token, by its id: first the 256 single bytes, then those of each merge."""
    pieces = [bytes([byte]) for byte in BYTES]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return pieces


def decode(ids: list[int], merges: dict[Pair, int]) -> str:
    """Return the text of some token ids. Bytes that are not UTF-8 become U+FFFD, the replacement character.

    Raise ValueError, naming the id and the largest that there is, if one is not in the vocabulary.
    """
    pieces = vocabulary(merges)
    for token in ids:
        if not 0 <= token < len(pieces):
            raise ValueError(f"id {token} is not in the vocabulary; its ids are 0 to {len(pieces) - 1}")
    # TODO: Join the pieces of all ids, and only then decode them, with errors="replace". (1 line)
    raise NotImplementedError
