"""Step 27, what people write instead: mistakes, each with its sentence, and other right answers."""

BOTH = "start, end = tokenizer.token_to_id(START), tokenizer.token_to_id(END)"
TEXT = 'text = tokenizer.encode(f"{role}\\n{content}").ids'
MESSAGE = 'return [start, *text, end, *tokenizer.encode("\\n").ids]'
SYSTEM_FIRST = 'if first_role != "system":'
PUT_FIRST = 'messages = [("system", SYSTEM), *messages]'
IDS = "ids = [token for role, content in messages for token in message_ids(tokenizer, role, content)]"
OPENING = 'opening = [tokenizer.token_to_id(START), *tokenizer.encode("assistant\\n").ids]'
ARRAY = "return np.array([ids + opening], dtype=np.int64)"
ALL = "p = super().probabilities(logits)"
ORDER = 'order = np.argsort(-p, axis=-1, kind="stable")'
ORDERED = f"{ORDER}  # of tokens that tie, the lower id first\n        ordered = np.take_along_axis(p, order, axis=-1)"
BEFORE = "before = ordered.cumsum(axis=-1) - ordered"
CUT = "np.where(before < self.top_p, ordered, 0)"
KEPT = f"kept = {CUT}"
PUT = "np.put_along_axis(p, order, kept, axis=-1)"
NORMALIZED = "return p / p.sum(axis=-1, keepdims=True)"
LOOP = "for _ in range(max_new_tokens):"
CHOSEN = "token = int(generate_next_token(model, input_ids, sampling, rng)[0])"
BY_HAND = "token = int(sampling.choose(model(input_ids)[:, -1], rng)[0])"
STOP = "if token == end_id:\n            return"
YIELD = "yield token"
APPEND = "input_ids = np.concatenate([input_ids, [[token]]], axis=1)"

MISTAKES = {
    "The whole message is encoded as text, and text never becomes a control token: put the ids of START and END, by "
    "token_to_id, around the encoded text.": {
        MESSAGE: 'return tokenizer.encode(f"{START}{role}\\n{content}{END}\\n").ids'
    },
    "encode_special_tokens is turned off, so text can end its turn and speak as the system; leave it as it is.": {
        f"{BOTH}\n    {TEXT}\n    {MESSAGE}": "tokenizer.encode_special_tokens = False\n"
        '    ids = tokenizer.encode(f"{START}{role}\\n{content}{END}\\n").ids\n'
        "    tokenizer.encode_special_tokens = True\n"
        "    return ids"
    },
    "There is a space between the role and the content; it must be a newline.": {TEXT: TEXT.replace("\\n", " ")},
    "There is nothing between the role and the content; there must be a newline.": {TEXT: TEXT.replace("\\n", "")},
    "There is a colon between the role and the content; in ChatML, it is a newline.": {TEXT: TEXT.replace("\\n", ": ")},
    "The newline after END is missing.": {MESSAGE: "return [start, *text, end]"},
    "The newline comes before END; it must come after.": {
        MESSAGE: 'return [start, *text, *tokenizer.encode("\\n").ids, end]'
    },
    "END is missing, so no message ends.": {MESSAGE: 'return [start, *text, *tokenizer.encode("\\n").ids]'},
    "START is missing.": {MESSAGE: MESSAGE.replace("start, ", "")},
    "START and END are swapped.": {BOTH: "end, start = tokenizer.token_to_id(START), tokenizer.token_to_id(END)"},
    "A message ends as it begins, with START; it must end with END.": {BOTH: BOTH.replace("(END)", "(START)")},
    "A message ends with <|endoftext|>, which separates texts; a turn ends with END.": {
        BOTH: BOTH.replace("(END)", '("<|endoftext|>")')
    },
    "The role is missing: START, the role, a newline, and then the content.": {
        TEXT: TEXT.replace("{role}\\n", ""),
    },
    "The content of the message is missing.": {TEXT: 'text = tokenizer.encode(f"{role}\\n").ids'},
    "Spaces and newlines around the content are stripped; leave them as they are.": {
        TEXT: TEXT.replace("{content}", "{content.strip()}")
    },
    "Role and content are encoded separately; as one text, newlines between them may be one token.": {
        TEXT: 'text = tokenizer.encode(f"{role}\\n").ids + tokenizer.encode(content).ids'
    },
    "The ids of the text are one item of the list; *text makes each an item.": {
        MESSAGE: MESSAGE.replace("*text", "text")
    },
    "Every message has the role user; write its own role.": {TEXT: TEXT.replace("{role}", "user")},
    "SYSTEM is missing; if the conversation has no system message, it comes first.": {SYSTEM_FIRST: "if False:"},
    "SYSTEM comes first even where there is a system message.": {SYSTEM_FIRST: "if True:"},
    "SYSTEM is left out if a later message is the system's; only the first message counts.": {
        f"first_role, _ = messages[0]\n    {SYSTEM_FIRST}": 'if "system" not in [role for role, _ in messages]:'
    },
    "SYSTEM comes last; it must come first.": {PUT_FIRST: 'messages = [*messages, ("system", SYSTEM)]'},
    "SYSTEM replaces the first message; put it in front of all.": {
        PUT_FIRST: 'messages = [("system", SYSTEM), *messages[1:]]'
    },
    "SYSTEM has the role of the user; its role is system.": {PUT_FIRST: PUT_FIRST.replace('("system"', '("user"')},
    "SYSTEM is put into the caller's list; make a new list.": {PUT_FIRST: 'messages.insert(0, ("system", SYSTEM))'},
    "Only the last message is there; the model remembers nothing, so give it the whole conversation.": {
        IDS: IDS.replace("in messages for", "in messages[-1:] for")
    },
    "The assistant's messages are left out; the model needs its own answers, too.": {
        IDS: IDS.replace("in messages for", 'in messages if role != "assistant" for')
    },
    "The answer is not opened: START and the assistant's role come last.": {ARRAY: "return np.array([ids])"},
    "The newline after the opening's assistant is missing.": {OPENING: OPENING.replace("assistant\\n", "assistant")},
    "The answer is opened and ended at once; the model itself chooses END.": {
        ARRAY: "return np.array([ids + opening + [tokenizer.token_to_id(END)]])"
    },
    "The answer is opened as a whole message, which ends at once: START and the role alone are enough.": {
        OPENING: 'opening = message_ids(tokenizer, "assistant", "")'
    },
    "The user's next message is opened; it is the assistant who answers.": {
        OPENING: OPENING.replace("assistant", "user")
    },
    "The opening is encoded as text, START too; its id is token_to_id(START).": {
        OPENING: 'opening = tokenizer.encode(f"{START}assistant\\n").ids'
    },
    "The batch axis is missing: the conversation is a row of [1, seq].": {ARRAY: "return np.array(ids + opening)"},
    "top_p changes nothing: drop the tokens that it leaves out.": {PUT: "pass"},
    "The token that reaches top_p is dropped, too; it must stay.": {
        CUT: CUT.replace("before <", "ordered.cumsum(axis=-1) <=")
    },
    "One token too many stays: it ends with the one that reaches top_p.": {
        CUT: CUT.replace("before <", "before - np.roll(ordered, 1, axis=-1) * (before > 0) <")
    },
    "A token stays after those that reach top_p exactly: it stays only if they have less, so use < and not <=.": {
        CUT: CUT.replace("before <", "before <=")
    },
    "The unlikely tokens are kept: sort the likely ones first.": {ORDER: "order = np.argsort(p, axis=-1)"},
    "Each token's own probability is compared with top_p; compare the sum of those before it.": {
        CUT: CUT.replace("before <", "ordered >")
    },
    "Tokens with a probability of top_p or more are dropped; compare the sum of those before each with top_p.": {
        CUT: CUT.replace("before <", "ordered <")
    },
    "Tokens with a probability below 1 - top_p are dropped; compare the sum of the likelier ones with top_p.": {
        CUT: CUT.replace("before < self.top_p", "ordered >= 1 - self.top_p")
    },
    "The nucleus has a probability of 1 - top_p, not top_p.": {CUT: CUT.replace("self.top_p", "1 - self.top_p")},
    "The probabilities stay sorted; put them back where their tokens are.": {PUT: "p = kept"},
    "np.take_along_axis puts the probabilities in yet another order; np.put_along_axis puts each at its own token.": {
        PUT: "p = np.take_along_axis(kept, order, axis=-1)"
    },
    "np.put_along_axis changes p and returns None: do not assign its result.": {PUT: f"p = {PUT}"},
    "What top_p leaves out becomes minus infinity, as among logits; of probabilities, it becomes 0.": {
        CUT: CUT.replace(", 0)", ", -np.inf)")
    },
    "The probabilities that top_p leaves are not normalized: they must add up to 1 again.": {NORMALIZED: "return p"},
    "The sum is that of the whole batch; every row must add up to 1 on its own.": {NORMALIZED: "return p / p.sum()"},
    "The rows are sorted, not the tokens: axis=-1.": {
        ORDER: ORDER.replace("axis=-1", "axis=0"),
        "ordered = np.take_along_axis(p, order, axis=-1)": "ordered = np.take_along_axis(p, order, axis=0)",
        PUT: PUT.replace("axis=-1", "axis=0"),
    },
    "The order of the first row is used for every row; each has its own.": {
        ORDER: "order = np.broadcast_to(np.argsort(-p[:1], axis=-1), p.shape)"
    },
    "The probabilities are summed over the rows; sum over the tokens, axis=-1.": {
        BEFORE: "before = ordered.cumsum(axis=0) - ordered"
    },
    "The temperature and top_k are lost: begin with super().probabilities(logits).": {
        ALL: "p = Sampling().probabilities(logits)"
    },
    "The logits are taken for probabilities: begin with super().probabilities(logits).": {
        ALL: "p = logits.astype(np.float64)"
    },
    "The batch of new tokens is yielded, an array; take its only one, [0].": {
        CHOSEN: CHOSEN.replace("int(", "").replace("[0])", ""),
        APPEND: APPEND.replace("[[token]]", "[token]"),
    },
    "The whole conversation is yielded; yield the new token alone.": {YIELD: "yield input_ids"},
    "The token that ends the turn is yielded, too; end before it.": {
        f"{STOP}\n        {YIELD}": f"{YIELD}\n        {STOP}"
    },
    "The answer goes on after the turn has ended; return there.": {STOP: "pass"},
    "The token that ends the turn is left out, and the answer goes on; return there.": {
        STOP: "if token == end_id:\n            continue"
    },
    "The new token is not appended, so the model never sees it.": {APPEND: "pass"},
    "The model sees the new token alone; append it to the conversation.": {APPEND: "input_ids = np.array([[token]])"},
    "The new token is put in front; append it at the end.": {
        APPEND: "input_ids = np.concatenate([[[token]], input_ids], axis=1)"
    },
    "The text is flattened into one axis; keep it a row of [1, seq]: axis=1.": {
        APPEND: "input_ids = np.append(input_ids, token)"
    },
    "The logits of the first position are taken; take those of the last, [:, -1].": {
        CHOSEN: BY_HAND.replace("[:, -1]", "[:, 0]")
    },
    "The position is counted from the length of the text, but the model may return only its last one: take -1.": {
        CHOSEN: BY_HAND.replace("[:, -1]", "[:, input_ids.shape[1] - 1]")
    },
    "The most likely token is taken, whatever the sampling; let sampling.choose choose.": {
        CHOSEN: "token = int(model(input_ids)[0, -1].argmax())"
    },
    "rng is not passed on to generate_next_token, which draws with it.": {CHOSEN: CHOSEN.replace(", rng)", ")")},
    "The tokens are drawn with another generator, so the same seed gives different text; draw with rng.": {
        CHOSEN: CHOSEN.replace("rng)", "np.random.default_rng())")
    },
    "A new generator is made for each token, so each gets the same random number; draw with rng.": {
        CHOSEN: CHOSEN.replace("rng)", "np.random.default_rng(1))")
    },
    "max_new_tokens is not used: it limits the length of an answer.": {LOOP: "while True:"},
    "max_new_tokens counts the prompt, too; it limits the answer alone.": {
        LOOP: "while input_ids.shape[1] < max_new_tokens:"
    },
    "One token too many is yielded.": {LOOP: "for _ in range(max_new_tokens + 1):"},
    "The answer is returned when it is complete; yield each token as soon as it is chosen.": {
        LOOP: f"tokens = []\n    {LOOP}",
        STOP: "if token == end_id:\n            break",
        YIELD: "tokens.append(token)",
        APPEND: f"{APPEND}\n    return iter(tokens)",
    },
    "Each token is yielded after the next is computed; yield it as soon as it is chosen.": {
        LOOP: f"waiting = []\n    {LOOP}",
        STOP: "if waiting:\n            yield waiting.pop()\n        if token == end_id:\n            return",
        YIELD: "waiting.append(token)",
        APPEND: f"{APPEND}\n    yield from waiting",
    },
}

ALTERNATIVES = {
    "the parts added up": {MESSAGE: 'return [start] + text + [end] + tokenizer.encode("\\n").ids'},
    "a loop over the messages": {
        IDS: "ids = []\n    for role, content in messages:\n        ids.extend(message_ids(tokenizer, role, content))"
    },
    "the message of an answer, without its end": {OPENING: 'opening = message_ids(tokenizer, "assistant", "")[:-2]'},
    "no dtype": {ARRAY: "return np.array([ids + opening])"},
    "the role by its place": {
        f"first_role, _ = messages[0]\n    {SYSTEM_FIRST}": 'if messages[0][0] != "system":',
    },
    "reversed": {ORDER: "order = np.argsort(p, axis=-1)[:, ::-1]"},
    "the default sort": {ORDER: "order = np.argsort(-p, axis=-1)"},
    "a count and a threshold": {
        ORDERED: "ordered = np.sort(p, axis=-1)[:, ::-1]",
        f"        {KEPT}\n": "",
        PUT: "least = np.take_along_axis(ordered, (before < self.top_p).sum(axis=-1, keepdims=True) - 1, axis=-1)\n"
        "        p = np.where(p < least, 0, p)",
    },
    "row by row": {
        ORDERED: "for row in p:\n"
        "            by_size = np.argsort(-row)\n"
        "            count = np.searchsorted(np.cumsum(row[by_size]), self.top_p) + 1\n"
        "            row[by_size[count:]] = 0",
        f"{BEFORE}  # what the tokens before it have together\n        {KEPT}\n        "
        f"{PUT}  # back to the order of ids\n        {NORMALIZED}": NORMALIZED,
    },
    "Hugging Face's way, from the unlikely end": {
        ORDER: "order = np.argsort(p, axis=-1)",
        BEFORE: "up_to = ordered.cumsum(axis=-1)",
        CUT: "np.where(up_to <= 1 - self.top_p, 0, ordered)",
    },
    "a while loop": {
        LOOP: "count = 0\n    while count < max_new_tokens:\n        count += 1",
    },
    "np.append": {APPEND: "input_ids = np.append(input_ids, [[token]], axis=1)"},
    "the logits of the last position": {CHOSEN: BY_HAND},
    "step 12's function, and item": {CHOSEN: "token = generate_next_token(model, input_ids, sampling, rng).item()"},
    "the arguments of earlier skeletons": {
        "    *,\n    end_id: int,\n    rng: Generator | None = None,\n": "    rng: Generator,\n    end: int,\n",
        "token == end_id": "token == end",
    },
    "tokens as NumPy's integers": {CHOSEN: "token = sampling.choose(model(input_ids)[:, -1], rng)[0]"},
}

#: What people bring along from PyTorch or Hugging Face; the check shows the line to write instead.
HABITS = {
    "sort with descending": {ORDER: "order = np.argsort(p, axis=-1, descending=True)"},
    "cumsum with a dim": {BEFORE: BEFORE.replace("axis", "dim")},
    "torch.cat": {APPEND: "input_ids = torch.cat([input_ids, [[token]]], dim=1)"},
    "sum with a dim": {NORMALIZED: "return p / p.sum(dim=-1, keepdim=True)"},
}
