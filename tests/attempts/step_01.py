"""Step 01, what people write instead: mistakes, each with its sentence, and other right answers."""

MESSAGE = 'f"n_embd = {self.n_embd} cannot be shared evenly by n_head = {self.n_head} heads"'
UNEVEN = "if self.n_head < 1 or self.n_embd % self.n_head:"
MAKE = "return cls(**PUBLISHED[name])"
INNER = "return self.n_inner if self.n_inner is not None else 4 * self.n_embd"
UNKNOWN = """\
        if name not in PUBLISHED:
            raise ValueError(f"no GPT-2 is called {name!r}; there are {', '.join(PUBLISHED)}")
"""

MISTAKES = {
    "inner_dim is n_inner alone, which may be None: that means 4 * n_embd.": {INNER: "return self.n_inner"},
    "inner_dim is always 3072, which is 4 * 768; it must follow n_embd.": {"else 4 * self.n_embd": "else 3072"},
    "inner_dim is 4 * n_embd even where n_inner is given: ask for None first.": {INNER: "return 4 * self.n_embd"},
    "n_inner is filled in once and for all, so a copy with another n_embd keeps the old width; leave it None.": {
        f"raise ValueError({MESSAGE})\n": f"raise ValueError({MESSAGE})\n"
        "        if self.n_inner is None:\n            object.__setattr__(self, 'n_inner', 4 * self.n_embd)\n",
        INNER: "return self.n_inner",
    },
    "A width that the heads cannot share is accepted: test the remainder of n_embd / n_head.": {
        UNEVEN: "if self.n_head < 1:"
    },
    "The remainder is taken the wrong way around: it is n_embd % n_head.": {
        UNEVEN: "if self.n_head < 1 or self.n_head % self.n_embd:"
    },
    "n_head = 0 raises ZeroDivisionError, and n_head = -12 is accepted: refuse n_head < 1 too.": {
        UNEVEN: "if self.n_embd % self.n_head:"
    },
    "Uneven heads raise AssertionError; raise ValueError, since `python -O` skips assertions.": {
        f"raise ValueError({MESSAGE})": f"raise AssertionError({MESSAGE})"
    },
    "The message about uneven heads does not say which numbers were given.": {MESSAGE: '"n_head must divide n_embd"'},
    "head_dim is a float; use integer division, //.": {"self.n_embd // self.n_head": "self.n_embd / self.n_head"},
    "head_dim is always 64; it must follow n_embd and n_head.": {"return self.n_embd // self.n_head": "return 64"},
    "head_dim divides by the number of layers; divide by the number of heads, which share the width.": {
        "self.n_embd // self.n_head": "self.n_embd // self.n_layer"
    },
    "The sizes are passed as one argument, which becomes vocab_size; ** passes each to the field of its name.": {
        "(**PUBLISHED": "(PUBLISHED"
    },
    "The numbers of layers and heads are swapped.": {
        MAKE: "n_embd, n_head, n_layer = PUBLISHED[name].values()\n"
        "        return cls(n_embd=n_embd, n_layer=n_layer, n_head=n_head)"
    },
    "Every size has 12 heads; medium has 16, large 20 and xl 25.": {
        MAKE: "return cls(n_embd=PUBLISHED[name]['n_embd'], n_layer=PUBLISHED[name]['n_layer'])"
    },
    "Medium and large have 24 and 36 heads here, as many as layers; they have 16 and 20.": {
        "[name])": "[name] | {'n_head': {'gpt2-medium': 24, 'gpt2-large': 36, 'gpt2-xl': 25}.get(name, 12)})"
    },
    "Every size has the width 768; medium has 1024, large 1280 and xl 1600.": {"[name])": "[name] | {'n_embd': 768})"},
    "n_inner is 3072 for every published size; leave it None, so that it follows the width.": {
        "[name])": "[name], n_inner=3072)"
    },
    "An unknown name raises KeyError; raise a ValueError that lists the four names.": {UNKNOWN: ""},
    "An unknown name gets GPT-2 small; raise a ValueError that lists the four names.": {
        UNKNOWN: "        name = name if name in PUBLISHED else 'gpt2'\n"
    },
}

ALTERNATIVES = {
    "not frozen": {"@dataclass(frozen=True)\n": "@dataclass\n"},
    "or": {INNER: "return self.n_inner or 4 * self.n_embd"},
    "asked the other way round": {
        UNEVEN: "if self.n_head <= 0 or self.n_embd != self.n_head * (self.n_embd // self.n_head):"
    },
    "int of a quotient": {"self.n_embd // self.n_head": "int(self.n_embd / self.n_head)"},
    "a KeyError turned into a ValueError": {
        UNKNOWN: "",
        MAKE: f"try:\n            {MAKE}\n        except KeyError:\n"
        "            raise ValueError(f'{name!r} is not one of {list(PUBLISHED)}') from None",
    },
    "fields one by one": {
        MAKE: "n_embd, n_layer, n_head = PUBLISHED[name].values()\n"
        "        return cls(n_embd=n_embd, n_layer=n_layer, n_head=n_head)"
    },
    "heads of 64": {
        MAKE: "width, depth, _ = PUBLISHED[name].values()\n"
        "        return cls(n_embd=width, n_layer=depth, n_head=width // 64)"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "an assertion": {
        """        if self.n_head < 1 or self.n_embd % self.n_head:
            raise ValueError(f"n_embd = {self.n_embd} cannot be shared evenly by n_head = {self.n_head} heads")
""": """        fits = self.n_head > 0 and self.n_embd % self.n_head == 0
        assert fits, f"n_embd {self.n_embd} is no multiple of n_head {self.n_head}"
"""
    },
    "raising a text": {
        """raise ValueError(f"no GPT-2 is called {name!r}; there are {', '.join(PUBLISHED)}")""": (
            """raise f"no GPT-2 is called {name!r}; there are {', '.join(PUBLISHED)}\""""
        )
    },
    "an assertion about the name": {
        """        if name not in PUBLISHED:
            raise ValueError(f"no GPT-2 is called {name!r}; there are {', '.join(PUBLISHED)}")
""": """        assert name in PUBLISHED, f"no GPT-2 is called {name!r}; there are {', '.join(PUBLISHED)}"
"""
    },
}
