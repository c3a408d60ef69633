"""Warm-up 06, byte pairs: what is claimed. No MAX is needed.

The ids of whole texts are those of Hugging Face's GPT-2 tokenizer, with GPT-2's own merges, which are recorded too.
"""

from collections import Counter

import numpy as np
import pytest

from checker import claims
from checker.claims import Refusal, about, first_of, is_value, require
from checker.claims.vocabulary import KEPT

BYTES = (*range(33, 127), *range(161, 173), *range(174, 256), *range(33), *range(127, 161), 173)  # ids 0 to 255
SMALL = "low low lower lowest"
LEARNED = (("l", "o"), ("lo", "w"), (" ", "low"), (" low", "e"), ("s", "t"), (" lowe", "r"), (" lowe", "st"))
MOST_ASKED = 5_000  # times for one pair, of one text
LONG = 3000  # ids of a word, as of a line of dashes
AWKWARD = "aab  é\n日1'sx🙂.\t"


def equal(actual, expected, what):
    claims.equal(np.array(actual, np.int64), expected, ("id",), what=what)


class Merges(dict):
    """Merges that notice a loop without an end: where merging leaves a pair, it is asked for again and again."""

    def __init__(self, *pairs):
        super().__init__(*pairs)
        self.asked = Counter()

    def anew(self):
        self.asked.clear()
        return self

    def ask(self, what):
        self.asked[what] += 1
        sentence = (
            f"The loop never ends: merges was asked {MOST_ASKED:,} times for the same. Each merge must leave fewer ids."
        )
        require(self.asked[what] < MOST_ASKED, sentence)

    def __contains__(self, pair):
        found = super().__contains__(pair)
        self.ask(pair)
        return found

    def get(self, pair, default=None):
        found = super().get(pair, default)
        self.ask(pair)
        return found

    def keys(self):
        self.ask("keys")
        return super().keys()

    def items(self):
        self.ask("items")
        return super().items()


Merges.__name__ = "dict"  # what an error message calls it


@pytest.fixture(scope="module")
def published(reference):
    """GPT-2's merges."""
    return {pair: new_id for new_id, pair in enumerate(map(tuple, reference["merges"].tolist()), start=256)}


@pytest.fixture
def gpt2(published):
    """GPT-2's merges, a copy for each claim."""
    return Merges(published)


def texts(reference, kind):
    """Yield the number and the words of the recorded texts of one kind."""
    for name, array in reference.items():
        if name.startswith(f"text/{kind}/"):
            yield name.rpartition("/")[2], array.tobytes().decode()


def letters(text):
    """Return the ids of ASCII characters, without the space."""
    return [ord(letter) - 33 for letter in text]


def pieces_of(merges):
    """Return the bytes of every id."""
    pieces = [bytes([byte]) for byte in BYTES]
    for left, right in merges:
        pieces.append(pieces[left] + pieces[right])
    return pieces


def cut(ids, merges):
    """Return ids as the pieces of text that they stand for, such as ``'Hello' ',' ' world'``."""
    pieces = pieces_of(merges)
    known = (pieces[token] if 0 <= token < len(pieces) else b"?" for token in ids)
    return " ".join(repr(piece.decode(errors="backslashreplace")) for piece in known) or "nothing"


def as_ids(call, ids):
    """Return a list of ids as plain numbers; refuse anything else."""
    require(ids is not None, f"{call} is None: is there a `return`?")
    require(isinstance(ids, list), f"{call} is a {type(ids).__name__}, and must be a list.")
    whole = all(isinstance(token, int | np.integer) and not isinstance(token, bool) for token in ids)
    require(whole, f"{call} is {ids!r}, and must be a list of whole numbers.")
    return [int(token) for token in ids]


def all_right(calls, merges=None):
    """Refuse with the first call that gives other ids than the right ones; what all gave tells mistakes apart.

    ``calls`` is made of the call in words, what makes it, and the right ids; with ``merges``, it shows their pieces.
    """
    answers, refused = [], []
    for call, make, right in calls:
        ids = as_ids(call, make())
        answers.append(ids)
        if ids != list(right) and not refused:  # cutting takes longer than encoding
            shown = [f" ({cut(some, merges)})" if merges else "" for some in (ids, right)]
            refused.append(Refusal(f"{call} is {ids}{shown[0]}, and must be {list(right)}{shown[1]}."))
    first_of(refused, observed=answers)
    return answers


def calls_are_apart(call, one, other, right):
    """Refuse if ``call`` has an earlier call's result, or one that it has added to.

    It is called with the arguments ``one``, then ``other``, whose result is another, and ``one`` again. If already the
    first result is not ``right``, this says nothing.
    """
    first, second, third = (repr(call(*arguments)) for arguments in (one, other, one))
    if first == repr(right):
        require(second != first and third == first, KEPT)


def counts_of(subject, ids):
    """Return what ``count_pairs`` counts, as a plain dict."""
    call = f"count_pairs({ids})"
    counts = subject.count_pairs(list(ids))
    require(counts is not None, f"{call} is None: is there a `return`?")
    require(isinstance(counts, dict), f"{call} is a {type(counts).__name__}, and must be a dict.")
    return dict(counts)


def counted(subject, cases):
    """Refuse unless ``count_pairs`` counts right."""
    answers = {str(ids): counts_of(subject, ids) for ids in cases}
    refused = [
        Refusal(f"count_pairs({ids}) is {answers[str(ids)]}, and must be {right}.")
        for ids, right in zip(cases, map(right_counts, cases), strict=True)
        if answers[str(ids)] != right
    ]
    first_of(refused, observed={ids: sorted(counts.items(), key=repr) for ids, counts in answers.items()})


def right_counts(ids):
    counts = {}
    for at in range(1, len(ids)):
        pair = (ids[at - 1], ids[at])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


@about("count_pairs")
def test_pairs_are_counted(subject):
    """Each id forms a pair with the next, in this order."""
    calls_are_apart(lambda ids: counts_of(subject, ids), ([1, 2],), ([3, 4],), {(1, 2): 1})
    counted(subject, [[1, 2, 3, 1, 2], [5, 4, 5, 4, 5], [7, 8], [3, 300, 3, 50000, 3, 300]])


@about("count_pairs")
def test_pairs_overlap(subject):
    """Three equal ids in a row count their pair twice; a list of one id, or of none, has no pairs."""
    counted(subject, [[6, 6, 6], [1, 6, 6, 6, 6, 2, 6, 6], [9], []])
    right = counts_of(subject, [6] * LONG) == {(6, 6): LONG - 1}
    require(right, f"count_pairs([6] * {LONG}) must be {{(6, 6): {LONG - 1}}}.")


@about("merge")
def test_every_pair_is_merged(subject):
    """The new id replaces every pair, and all other ids stay."""
    calls_are_apart(subject.merge, ([1, 2, 3], (1, 2), 256), ([4, 5], (4, 5), 257), [256, 3])
    cases = (
        ([1, 2, 3, 1, 2], (1, 2), 256, [256, 3, 256]),
        ([3, 1, 3, 2, 1, 1, 2, 2, 3], (1, 2), 300, [3, 1, 3, 2, 1, 300, 2, 3]),
        ([2, 1, 2, 1], (1, 2), 256, [2, 256, 1]),
        ([4, 5], (4, 5), 999, [999]),
        ([1, 3, 2], (1, 2), 256, [1, 3, 2]),
        ([7], (7, 7), 256, [7]),
        ([], (7, 7), 256, []),
    )
    all_right(merges_of(subject, cases))


def merges_of(subject, cases):
    for ids, pair, new_id, right in cases:
        call = f"merge({ids}, {pair}, {new_id})"
        yield call, lambda ids=ids, pair=pair, new_id=new_id: subject.merge(list(ids), pair, new_id), right


@about("merge")
def test_overlapping_pairs(subject):
    """Of three equal ids, the first two are merged; of four, both pairs are."""
    cases = (
        ([6, 6, 6], (6, 6), 256, [256, 6]),
        ([6, 6, 6, 6], (6, 6), 256, [256, 256]),
        ([1, 6, 6, 6, 6, 6, 2, 6, 6], (6, 6), 256, [1, 256, 256, 6, 2, 256]),
    )
    all_right(merges_of(subject, cases))
    right = subject.merge([6] * LONG, (6, 6), 256) == [256] * (LONG // 2)
    require(right, f"merge([6] * {LONG}, (6, 6), 256) must be [256] * {LONG // 2}.")


@about("merge")
def test_the_list_stays(subject):
    """The list passed in is left unchanged."""
    ids = [1, 2, 3, 1, 2]
    subject.merge(ids, (1, 2), 256)
    require(ids == [1, 2, 3, 1, 2], f"After merge, the list that came in is {ids}, and was [1, 2, 3, 1, 2].")


def most_frequent_of(subject, cases):
    """Refuse unless ``most_frequent`` finds the right pairs."""
    answers, refused = [], []
    for parts, right in cases:
        pair = subject.most_frequent([list(ids) for ids in parts])
        answers.append(pair)
        if pair != right or not isinstance(pair, tuple | None):
            refused.append(Refusal(f"most_frequent({parts}) is {pair!r}, and must be {right}."))
    first_of(refused, observed=repr(answers))


@about("most_frequent")
def test_the_most_frequent_pair(subject):
    """It finds the pair that occurs most often in all words together; without any pair, it returns None."""
    calls_are_apart(subject.most_frequent, ([[5, 6]],), ([[7, 8], [7, 8]],), (5, 6))
    most_frequent_of(
        subject,
        (
            ([[5, 6], [1, 2, 3], [5, 6, 7]], (5, 6)),
            ([[8, 9, 8, 9, 8, 9], [1, 2], [1, 2]], (8, 9)),
            ([[1, 2], [1, 2], [3, 4, 3, 4, 3], [4, 3]], (4, 3)),
            ([[2, 2, 2], [1, 3]], (2, 2)),
            ([[7, 8], [1, 2, 1, 2], [3, 4, 3, 4, 3, 4]], (3, 4)),
            ([[1], [], [2]], None),
            ([], None),
        ),
    )


@about("most_frequent")
def test_ties(subject):
    """Among equally frequent pairs, the smallest first id wins, then the smallest second id."""
    most_frequent_of(
        subject,
        (
            ([[9, 1], [4, 8], [7, 2]], (4, 8)),
            ([[4, 8], [4, 3], [5, 1]], (4, 3)),
            ([[300, 2, 300, 2], [30, 4], [30, 4]], (30, 4)),
            ([[1, 2], [3, 4], [3, 4], [3, 3], [3, 3]], (3, 3)),
        ),
    )


def as_text(merges):
    """Return merges as the texts of their pairs, such as ``'l'+'o'``; as they are, if they are none."""
    try:
        pieces = pieces_of(merges)
        pairs = [[pieces[token].decode(errors="backslashreplace") for token in pair] for pair in merges]
        return ", ".join(f"{left!r}+{right!r}" for left, right in pairs) or "nothing"
    except (IndexError, TypeError, ValueError):
        return repr(merges)


def ids_of_merges(pairs):
    """Return pairs of texts as merges."""
    ids, merges = {chr(byte): number for number, byte in enumerate(BYTES) if byte < 128}, Merges()
    for new_id, (left, right) in enumerate(pairs, start=256):
        merges[ids[left], ids[right]] = ids[left + right] = new_id
    return merges


def learned(subject, cases):
    """Refuse unless ``train`` learns the right merges, in the right order; return what it has learned."""
    answers, refused = [], []
    for text, n_merges, right in cases:
        merges = subject.train(text, n_merges)
        call = f"train({text!r}, {n_merges})" if len(text) < 60 else f"train(text, {n_merges})"
        require(merges is not None, f"{call} is None: is there a `return`?")
        require(isinstance(merges, dict), f"{call} is a {type(merges).__name__}, and must be a dict.")
        answers.append(list(merges.items()))
        if list(merges) != list(right):
            at = next((at for at, pair in enumerate(right) if list(merges)[at : at + 1] != [pair]), len(right))
            mine, wanted = (as_text(list(pairs)[: at + 1]) for pairs in (merges, right))
            refused.append(Refusal(f"The first merges of {call} are {mine}; they must be {wanted}."))
        elif dict(merges) != dict(right):
            refused.append(
                Refusal(f"{call} gives the ids {list(merges.values())}, and must give {list(right.values())}.")
            )
    first_of(refused, observed=repr(answers))
    return answers


@about("train")
def test_a_small_text(subject):
    """From "low low lower lowest", it learns the seven merges of the chapter, as ids 256 to 262."""
    calls_are_apart(subject.train, ("ab ab", 1), ("cd cd", 1), ids_of_merges([("a", "b")]))
    right = ids_of_merges(LEARNED)
    learned(subject, [(SMALL, n, dict(list(right.items())[:n])) for n in (1, 2, 3, 5, 6, 7)])


@about("train")
def test_learning_ends(subject):
    """Asked for no merges, it learns none, and it stops early when no word has a pair left."""
    learned(
        subject,
        (
            (SMALL, 0, {}),
            ("", 5, {}),
            ("a b", 5, ids_of_merges([(" ", "b")])),
            (SMALL, 100, ids_of_merges(LEARNED)),
        ),
    )


@about("train")
def test_no_merge_joins_words(subject):
    """No merge joins two words, however often they follow each other."""
    learned(
        subject,
        (
            ("b.b.b.b. xy", 2, ids_of_merges([("x", "y"), (" ", "xy")])),
            ("of of of of ab", 3, ids_of_merges([("o", "f"), (" ", "of"), ("a", "b")])),
        ),
    )


@about("train")
def test_learned_by_hugging_face(subject, reference):
    """From a chapter of Moby Dick, it learns the same pairs as Hugging Face's trainer, in the same order."""
    text, pairs = reference["learned_text"].tobytes().decode(), [tuple(pair) for pair in reference["learned"].tolist()]
    right = {pair: new_id for new_id, pair in enumerate(pairs, start=256)}
    ((*merges,),) = learned(subject, [(text, len(pairs), right)])
    equal([pair for pair, _ in merges], reference["learned"], "the pairs that train has learned")


def word_merges(*pairs):
    """Return merges of ASCII letters as :func:`ids_of_merges` does, and the bytes of their ids."""
    merges = ids_of_merges(pairs)
    return merges, pieces_of(merges)


def words_right(subject, cases):
    """Refuse unless ``encode_word`` gives the right pieces; a case is a word, merges, and its pieces."""
    for word, pairs, right in cases:
        merges, pieces = word_merges(*pairs)
        call = f"encode_word({word!r}, merges) with the merges {as_text(merges)}"
        ids = [pieces.index(piece.encode()) for piece in right]
        yield call, lambda word=word, merges=merges: subject.encode_word(word, merges.anew()), ids, merges


def all_words_right(subject, cases):
    answers, refused = [], []
    for call, make, right, merges in words_right(subject, cases):
        try:
            answers += all_right([(call, make, right)], merges)
        except Refusal as refusal:
            answers.append(refusal.observed)
            refused.append(refusal)
    first_of(refused, observed=repr(answers))


@about("encode_word")
def test_the_rank_decides(subject):
    """The pair that was learned first is merged first, wherever in the word it stands."""
    all_words_right(
        subject,
        (
            ("abc", (("b", "c"), ("a", "b")), ("a", "bc")),
            ("abcd", (("b", "c"), ("a", "b"), ("c", "d"), ("ab", "cd")), ("a", "bc", "d")),
            ("ababcb", (("c", "b"), ("a", "b"), ("ab", "ab"), ("b", "cb")), ("abab", "cb")),
            ("abcabc", (("a", "b"), ("b", "c"), ("ab", "c")), ("abc", "abc")),
        ),
    )


@about("encode_word")
def test_until_no_pair_is_known(subject):
    """It merges until no known pair is left; without merges, the ids are those of the bytes."""
    all_words_right(
        subject,
        (
            ("abcd", (), ("a", "b", "c", "d")),
            ("lowest", LEARNED, ("low", "e", "st")),
            (" lowest", LEARNED, (" lowest",)),
            ("aaaaa", (("a", "a"), ("aa", "aa")), ("aaaa", "a")),
            ("xyz", (("a", "b"),), ("x", "y", "z")),
            ("a", (("a", "b"),), ("a",)),
            ("", (("a", "b"),), ()),
        ),
    )


@about("encode_word")
def test_the_bytes_are_utf8(subject):
    """A character outside ASCII is several bytes, and each byte gets GPT-2's id, not its own value."""
    cases = {
        word: [BYTES.index(byte) for byte in word.encode()] for word in ("\n", " \t", "é", "日本", "\u00ad", "🙂", "~¡")
    }
    all_right(
        (f"encode_word({word!r}, {{}})", lambda word=word: subject.encode_word(word, {}), right)
        for word, right in cases.items()
    )


def encoded(subject, reference, kind, merges):
    """Refuse unless ``encode`` gives Hugging Face's ids for the recorded texts of a kind; return what it gives."""
    return all_right(
        [
            (
                f"encode({text!r}, GPT2)",
                lambda text=text: subject.encode(text, merges.anew()),
                reference[f"ids/{kind}/{name}"].tolist(),
            )
            for name, text in texts(reference, kind)
        ],
        merges,
    )


@about("encode_word")
def test_english(subject, reference, gpt2):
    """With GPT-2's merges, English gets Hugging Face's ids; "Hello" and " Hello" are different tokens."""
    for number, ids in enumerate(encoded(subject, reference, "english", gpt2)):
        equal(ids, reference[f"ids/english/{number}"], f"the ids of text {number}")


@about("encode_word")
def test_words_stay_apart(subject, reference, gpt2):
    """Contractions, numbers, punctuation, spaces and line breaks are split as Hugging Face splits them."""
    for number, ids in enumerate(encoded(subject, reference, "words", gpt2)):
        equal(ids, reference[f"ids/words/{number}"], f"the ids of text {number}")


@about("encode_word")
def test_beyond_ascii(subject, reference, gpt2):
    """Accents, other alphabets, Chinese characters and emoji get Hugging Face's ids, too."""
    for number, ids in enumerate(encoded(subject, reference, "beyond", gpt2)):
        equal(ids, reference[f"ids/beyond/{number}"], f"the ids of text {number}")


@about("encode_word")
def test_the_merges_stay(subject):
    """The merges passed in are left unchanged."""
    merges = ids_of_merges(LEARNED)
    subject.encode("a low lowest é", merges)
    same = list(merges.items()) == list(ids_of_merges(LEARNED).items())
    require(same, f"After encode, the merges that came in are {merges}: leave them as they are.")


def texts_right(calls):
    """Refuse with the first call that gives another text than the right one."""
    answers, refused = [], []
    for call, make, right in calls:
        text = make()
        answers.append(text)
        if type(text) is not str or text != right:
            refused.append(Refusal(f"{call} is {text!r}, and must be {right!r}."))
    first_of(refused, observed=repr(answers))


@about("decode")
def test_decoding(subject, reference, gpt2):
    """It turns Hugging Face's ids back into their text."""
    one, other = ids_of_merges([("x", "y")]), ids_of_merges([("y", "z")])
    calls_are_apart(subject.decode, ([256], one), ([256], other), "xy")
    ids = {text: reference[f"ids/beyond/{name}"].tolist() for name, text in texts(reference, "beyond")}
    texts_right(
        (f"decode({ids[text]}, GPT2)", lambda text=text: subject.decode(list(ids[text]), gpt2), text) for text in ids
    )


@about("decode")
def test_half_a_character(subject):
    """Bytes that form no character become the replacement character, and the rest of the text is kept."""
    euro = [BYTES.index(byte) for byte in "€".encode()]
    merges = {(euro[0], euro[1]): 256}
    cases = ((euro[:2], "\ufffd"), ([0, *euro[1:], 0], "!\ufffd\ufffd!"), ([256, euro[2], 256, 0], "€\ufffd!"))
    texts_right(
        (f"decode({ids}, merges)", lambda ids=ids: subject.decode(list(ids), merges), right) for ids, right in cases
    )


@about("decode")
def test_round_trip(subject):
    """Encoding and decoding gives the same text back, with another text's merges or with none."""
    for merges in (ids_of_merges(LEARNED), Merges()):
        for text in (AWKWARD, "", " ", "low\r\n\x00\x7f\x1c", "\u200b\u017f\ufffd\U0010ffff", "слово lowest"):
            call = f"decode(encode({text!r}, merges), merges)"
            is_value(call, subject.decode(subject.encode(text, merges.anew()), merges), text)


def drawn_text(draw, letters):
    """Return a text of some length made of ``letters``."""
    return "".join(letters[place] for place in draw.ids(len(letters), draw.whole("characters", 10, 200)))


@pytest.mark.drawn
@about("train")
def test_other_learning(subject, solution, draw):
    """From a random text, it learns what the solution learns."""
    text, n_merges = drawn_text(draw, AWKWARD), draw.whole("merges", 1, 40)
    learned(subject, [(text, n_merges, solution.train(text, n_merges))])


@pytest.mark.drawn
@about("encode_word")
def test_other_texts(subject, solution, draw):
    """A random text gets the solution's ids, with merges learned from another."""
    merges = Merges(solution.train(drawn_text(draw, AWKWARD), draw.whole("merges", 1, 60)))
    text = drawn_text(draw, AWKWARD)
    right = solution.encode(text, merges)
    all_right([("encode(text, merges)", lambda: subject.encode(text, merges.anew()), right)], merges)
    is_value("decode of these ids", subject.decode(right, merges), text)
