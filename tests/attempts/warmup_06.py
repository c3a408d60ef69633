"""Warm-up 06, what people write instead: mistakes, each with its sentence, and other right answers."""

COUNT = "return Counter(pairwise(ids))"
MERGED = "merged: list[int] = []\n    i = 0\n    while i < len(ids):"
IS_PAIR = "is_pair = tuple(ids[i : i + 2]) == pair"
APPEND = "merged.append(new_id if is_pair else ids[i])"
GO_ON = "i += 2 if is_pair else 1"
RETURN_MERGED = "return merged\n"
COUNTS = """\
    counts: Counter[Pair] = Counter()
    for ids in id_lists:
        counts.update(count_pairs(ids))
"""
MOST = "return min(counts, key=lambda pair: (-counts[pair], pair), default=None)"
ID_LISTS = "id_lists = [byte_ids(word) for word in words(text)]"
NEW_IDS = "range(256, 256 + n_merges)"
NONE_LEFT = """\
        if pair is None:
            break
"""
KEEP = "merges[pair] = new_id"
MERGE_ALL = "id_lists = [merge(ids, pair, new_id) for ids in id_lists]"
BYTES_OF_WORD = "    ids = byte_ids(word)\n"
WHILE = "while known := [pair for pair in count_pairs(ids) if pair in merges]:"
FIRST = "first = min(known, key=lambda pair: merges[pair])"
MERGE_FIRST = "ids = merge(ids, first, merges[first])"
ENCODE_WORD = f"{BYTES_OF_WORD}    {WHILE}\n        {FIRST}\n        {MERGE_FIRST}\n    return ids\n"
TEXT = 'return b"".join(pieces[token] for token in ids).decode("utf-8", errors="replace")'

MISTAKES = {
    "Pairs are counted without overlap; pair each id with the next, even if it is in a pair already.": {
        COUNT: "return dict(Counter(zip(ids[::2], ids[1::2])))"
    },
    "Every pair counts once; count how often it occurs.": {COUNT: "return dict.fromkeys(pairwise(ids), 1)"},
    "A pair and its reverse are counted together; (1, 2) is not (2, 1).": {
        COUNT: "return dict(Counter((min(pair), max(pair)) for pair in pairwise(ids)))"
    },
    "The pairs are reversed; the left neighbor comes first.": {
        COUNT: "return dict(Counter((right, left) for left, right in pairwise(ids)))"
    },
    "The last pair is not counted.": {COUNT: "return dict(Counter(pairwise(ids[:-1])))"},
    "The first pair is not counted.": {COUNT: "return dict(Counter(pairwise(ids[1:])))"},
    "Single ids are counted; count pairs of neighbors.": {COUNT: "return dict(Counter(ids))"},
    "The last id is paired with the first; the list is not a ring.": {
        COUNT: "return dict(Counter(zip(ids, ids[1:] + ids[:1])))"
    },
    "All pairs of ids are counted; count those of neighbors.": {
        COUNT: "return Counter((first, second) for i, first in enumerate(ids) for second in ids[i + 1 :])"
    },
    "The second id of a pair is kept in the result: after new_id, move on by two.": {GO_ON: "i += 1"},
    "The second id of a pair is looked at again, and the last id is lost: move on by two after a pair, up to the "
    "end.": {
        MERGED: MERGED.replace("len(ids):", "len(ids) - 1:"),
        GO_ON: "i += 1",
    },
    "Only the first pair is merged; merge all of them.": {
        IS_PAIR: "is_pair = tuple(ids[i : i + 2]) == pair and new_id not in merged"
    },
    "The pairs are merged from the right; begin at the left.": {
        MERGED: "left, right = pair\n    backwards: list[int] = []\n    ids, pair = ids[::-1], (right, left)\n"
        "    merged, i = backwards, 0\n    while i < len(ids):",
        RETURN_MERGED: "return merged[::-1]\n",
    },
    "The caller's list is changed: put the ids into a new list.": {
        MERGED: "merged, i = ids, 0\n    while i < len(ids):",
        APPEND: "ids[i : i + (2 if is_pair else 1)] = [new_id if is_pair else ids[i]]",
        GO_ON: "i += 1",
    },
    "The last id is lost: it has no right neighbor, and still belongs in the result.": {
        MERGED: MERGED.replace("len(ids):", "len(ids) - 1:")
    },
    "A list is compared with a tuple, and they are never equal: compare tuple(ids[i : i + 2]).": {
        IS_PAIR: "is_pair = ids[i : i + 2] == pair"
    },
    "Only the left id of the pair is compared; compare both.": {IS_PAIR: "is_pair = ids[i] == pair[0]"},
    "The reversed pair is merged too; (1, 2) is not (2, 1).": {
        IS_PAIR: "is_pair = tuple(ids[i : i + 2]) in (pair, pair[::-1])"
    },
    "merge calls itself for every id, which is too deep for a word of 3,000; use a loop.": {
        f"    {MERGED}\n        {IS_PAIR}\n        {APPEND}\n        {GO_ON}\n    {RETURN_MERGED}": """\
    if not ids:
        return []
    if tuple(ids[:2]) == pair:
        return [new_id, *merge(ids[2:], pair, new_id)]
    return [ids[0], *merge(ids[1:], pair, new_id)]
"""
    },
    "new_id is put beside the pair; it takes the pair's place.": {
        APPEND: "merged.extend([*pair, new_id] if is_pair else [ids[i]])"
    },
    "The pair is removed, and new_id is missing.": {APPEND: "merged.extend([] if is_pair else [ids[i]])"},
    "A word's counts replace those of the words before: add them up.": {
        COUNTS: COUNTS.replace("counts.update(count_pairs(ids))", "counts = {**counts, **count_pairs(ids)}")
    },
    "A pair counts once for each word that has it; add up how often it occurs.": {
        COUNTS: COUNTS.replace("update(count_pairs(ids))", "update(count_pairs(ids).keys())")
    },
    "Only the first word is looked at; add up the counts of all words.": {
        COUNTS: COUNTS.replace("in id_lists:", "in id_lists[:1]:")
    },
    "All words are put into one list, so pairs cross from one word into the next.": {
        COUNTS: "    counts = count_pairs([token for ids in id_lists for token in ids])\n"
    },
    "The rarest pair is taken; take the most frequent one.": {MOST: MOST.replace("-counts", "counts")},
    "Of equally frequent pairs, the one seen first is taken; take the one with the smallest ids.": {
        MOST: "return max(counts, key=lambda pair: counts[pair], default=None)"
    },
    "Of equally frequent pairs, the first seen is taken, and having none is an error; compare the pairs too.": {
        MOST: "return max(counts, key=counts.get)"
    },
    "Of equally frequent pairs, the one with the largest ids is taken; take the one with the smallest.": {
        MOST: "return max(counts, key=lambda pair: (counts[pair], pair), default=None)"
    },
    "Of equally frequent pairs, the second ids decide; the first ids come first.": {
        MOST: MOST.replace("pair), default", "pair[::-1]), default")
    },
    "The pair with the smallest ids is taken, however rare it is; the count comes first.": {
        MOST: "return min(counts, default=None)"
    },
    "Without any pair, it raises an error; return None.": {MOST: MOST.replace(", default=None", "")},
    "The pair comes with its count; return the pair alone.": {
        MOST: "pair = min(counts, key=lambda pair: (-counts[pair], pair), default=None)\n"
        "    return (pair, counts[pair]) if pair else None"
    },
    "The text is not cut into words, so merges join them: start from byte_ids of each word in words(text).": {
        ID_LISTS: "id_lists = [byte_ids(text)]"
    },
    "The text is cut at spaces, which are lost; take words(text), in which a space belongs to the word after it.": {
        ID_LISTS: "id_lists = [byte_ids(word) for word in text.split()]"
    },
    "Each word counts once, however often the text has it.": {
        ID_LISTS: "id_lists = [byte_ids(word) for word in dict.fromkeys(words(text))]"
    },
    "The new ids begin at 0, but 0 to 255 are the bytes; begin at 256.": {NEW_IDS: "range(n_merges)"},
    "The new ids begin at 257; the last byte has 255, so 256 is free.": {NEW_IDS: "range(257, 257 + n_merges)"},
    "One merge too few is learned.": {NEW_IDS: "range(256, 255 + n_merges)"},
    "One merge too many is learned.": {NEW_IDS: "range(256, 257 + n_merges)"},
    "256 merges are learned, whatever n_merges is.": {NEW_IDS: "range(256, 512)"},
    "n_merges is taken as the largest id; it is the number of merges.": {NEW_IDS: "range(256, n_merges)"},
    "A default is made once, so it keeps the merges of earlier calls: make the dict inside train.": {
        "n_merges: int) -> dict[Pair, int]:": "n_merges: int, merges: dict[Pair, int] = {}) -> dict[Pair, int]:",
        "    merges: dict[Pair, int] = {}\n": "",
    },
    "What was learned is not merged in the words, so the same pair is found again.": {MERGE_ALL: "pass"},
    "None is kept as a pair when no pair is left: end the loop there.": {
        NONE_LEFT: "",
        MERGE_ALL: "id_lists = [merge(ids, pair, new_id) for ids in id_lists] if pair else id_lists",
    },
    "Learning ends at the first pair that occurs once; it must end when there is no pair.": {
        NONE_LEFT: NONE_LEFT.replace(
            "pair is None:", "pair is None or sum(count_pairs(ids).get(pair, 0) for ids in id_lists) < 2:"
        )
    },
    "The table is the wrong way around; its keys must be the pairs, and its values the new ids.": {
        KEEP: "merges[new_id] = pair"
    },
    "The leftmost pair is merged first; merge the one that was learned first, wherever it stands.": {
        FIRST: "first = known[0]"
    },
    "The rightmost pair is merged first; merge the one that was learned first, wherever it stands.": {
        FIRST: "first = known[-1]"
    },
    "The pair that is most frequent in the word is merged first; merge the one that was learned first.": {
        FIRST: "first = max(known, key=lambda pair: count_pairs(ids)[pair])"
    },
    "The pair with the smallest ids is merged first; merge the one with the smallest new id, merges[pair].": {
        FIRST: "first = min(known)"
    },
    "The pair that was learned last is merged first; merge the one that was learned first.": {
        FIRST: FIRST.replace("min(", "max(")
    },
    "The longest token is taken from the left, as WordPiece does; byte pairs are merged in the order of learning.": {
        ENCODE_WORD: """\
    pieces, ids, left = vocabulary(merges), [], word.encode()
    while left:
        longest = max((piece for piece in pieces if left.startswith(piece)), key=len)
        ids.append(pieces.index(longest))
        left = left[len(longest) :]
    return ids
"""
    },
    "One pair is merged, and no other: go on while a known pair is left.": {
        MERGE_FIRST: f"return {MERGE_FIRST.removeprefix('ids = ')}"
    },
    "Nothing is merged: the ids are those of the bytes.": {WHILE: "while known := []:"},
    "The bytes keep their own values; byte_ids gives them GPT-2's ids.": {
        BYTES_OF_WORD: '    ids = list(word.encode("utf-8"))\n'
    },
    "Characters are taken for bytes, but outside ASCII, one has several bytes. byte_ids(word) gives their ids.": {
        BYTES_OF_WORD: "    ids = [BYTES.index(ord(letter) & 255) for letter in word]\n"
    },
    "Each token is decoded alone, which breaks characters of several tokens; join the bytes first, then decode.": {
        TEXT: 'return "".join(pieces[token].decode("utf-8", errors="replace") for token in ids)'
    },
    "Each token is decoded alone, where half a character is an error; join the bytes first, then decode.": {
        TEXT: 'return "".join(pieces[token].decode("utf-8") for token in ids)'
    },
    'Bytes that form no character raise an error; decode with errors="replace".': {
        TEXT: TEXT.replace(', errors="replace"', "")
    },
    'Bytes that form no character are left out; decode with errors="replace".': {
        TEXT: TEXT.replace("replace", "ignore")
    },
    "The bytes are decoded as Latin-1, one character for each; they are UTF-8.": {
        TEXT: TEXT.replace("utf-8", "latin-1")
    },
    "The bytes are decoded as ASCII; they are UTF-8.": {TEXT: TEXT.replace("utf-8", "ascii")},
    "The tokens are joined by spaces; a token holds its own space.": {TEXT: TEXT.replace('b""', 'b" "')},
    "The result is bytes; decode them.": {TEXT: 'return b"".join(pieces[token] for token in ids)'},
}

ALTERNATIVES = {
    "the ranks copied": {
        BYTES_OF_WORD: f"{BYTES_OF_WORD}    ranks = {{pair: merges[pair] for pair in merges}}\n",
        WHILE: WHILE.replace("in merges", "in ranks"),
        FIRST: "first = min(known, key=ranks.__getitem__)",
    },
    "sorted once": {
        ENCODE_WORD: "    ids = byte_ids(word)\n    for pair in sorted(merges, key=merges.get):\n"
        "        if pair[0] in ids and pair[1] in ids:\n            ids = merge(ids, pair, merges[pair])\n"
        "    return ids\n"
    },
    "zip": {COUNT: "return dict(Counter(zip(ids, ids[1:])))"},
    "a loop that counts": {
        COUNT: "counts = {}\n    for left, right in zip(ids, ids[1:]):\n"
        "        counts[left, right] = counts.get((left, right), 0) + 1\n    return counts"
    },
    "a plain dict": {COUNT: "return dict(Counter(pairwise(ids)))"},
    "looking back at what was appended": {
        f"    i = 0\n    while i < len(ids):\n        {IS_PAIR}\n        {APPEND}\n        {GO_ON}\n": """\
    for token in ids:
        if merged and (merged[-1], token) == pair:
            merged[-1] = new_id
        else:
            merged.append(token)
"""
    },
    "an iterator that jumps": {
        f"    {MERGED}\n        {IS_PAIR}\n        {APPEND}\n        {GO_ON}\n": """\
    merged, places = [], iter(range(len(ids)))
    for i in places:
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new_id)
            next(places)
        else:
            merged.append(ids[i])
"""
    },
    "a copy that is changed": {
        f"    {MERGED}\n        {IS_PAIR}\n        {APPEND}\n        {GO_ON}\n": """\
    merged, i = list(ids), 0
    while i + 1 < len(merged):
        if merged[i] == pair[0] and merged[i + 1] == pair[1]:
            merged[i : i + 2] = [new_id]
        i += 1
"""
    },
    "counted in one expression": {COUNTS: "    counts = Counter(pair for ids in id_lists for pair in pairwise(ids))\n"},
    "sorted": {
        MOST: "ordered = sorted(counts.items(), key=lambda item: (-item[1], *item[0]))\n"
        "    return ordered[0][0] if ordered else None"
    },
    "the largest count, then the smallest pair": {
        MOST: "if not counts:\n        return None\n    largest = max(counts.values())\n"
        "    return min(pair for pair in counts if counts[pair] == largest)"
    },
    "the next id is counted": {
        f"for new_id in {NEW_IDS}:": "for _ in range(n_merges):\n        new_id = 256 + len(merges)",
    },
    "every merge in its order": {
        ENCODE_WORD: "    ids = byte_ids(word)\n    for pair, new_id in merges.items():\n"
        "        if len(ids) > 1:\n            ids = merge(ids, pair, new_id)\n    return ids\n"
    },
    "infinity for unknown pairs": {
        WHILE: "while len(ids) > 1:",
        FIRST: 'first = min(count_pairs(ids), key=lambda pair: merges.get(pair, float("inf")))\n'
        "        if first not in merges:\n            break",
    },
    "one place at a time": {
        WHILE: "while True:",
        FIRST: "ranks = [(merges[pair], i) for i, pair in enumerate(pairwise(ids)) if pair in merges]\n"
        "        if not ranks:\n            return ids",
        MERGE_FIRST: "new_id, i = min(ranks)\n        ids = [*ids[:i], new_id, *ids[i + 2 :]]",
    },
    "sets of pairs": {WHILE: "while known := set(pairwise(ids)) & merges.keys():"},
    "a bytearray": {
        TEXT: "joined = bytearray()\n    for token in ids:\n        joined += pieces[token]\n"
        '    return str(joined, "utf-8", "replace")'
    },
}

#: What people bring along from NumPy, from other languages, or from text to bytes; the check shows the line to write.
HABITS = {
    "the shape of a list": {"while i < len(ids):": "while i < ids.shape[0]:"},
    "the length of a list as an attribute": {"while i < len(ids):": "while i < ids.length:"},
    "push": {APPEND: "merged.push(new_id if is_pair else ids[i])"},
    "adding one id to a list": {APPEND: "merged += new_id if is_pair else ids[i]"},
    "an append that is assigned": {APPEND: "merged = merged + (new_id if is_pair else ids[i])"},
    "text and bytes joined": {TEXT: TEXT.replace('b""', '""')},
    "ids of an array": {"    return ids\n": "    return ids.tolist()\n"},
    "a count that is not there yet": {
        COUNT: "counts: dict[Pair, int] = {}\n    for pair in pairwise(ids):\n        counts[pair] += 1\n"
        "    return counts"
    },
}
