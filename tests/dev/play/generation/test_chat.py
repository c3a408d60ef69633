"""A conversation: with a model that is made up and answers what a test says, and with SmolLM2 itself."""

import os
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from checker.device import DeviceKind
from checker.files import ROOT
from play import signals
from play.generation import chat
from play.smollm2 import CONTEXT
from tests.test_step_27 import FIELDS, TOKENS
from tools.course_copy import python
from tools.hugging_face import hugging_face_llama, load

pytestmark = pytest.mark.slow

ANSWERS = {"Who?": "Melville Ωλ.", "When?": "In 1851.", "Long?": "x" * 40}
QUESTIONS = (
    "What is the capital of France?", "What is 7 times 8?", "Who wrote Moby Dick?", "Name three colors.", "Hi",
    "What do whales eat?", "Write a haiku about the sea.", "Translate 'good morning' into Spanish.",
    "鯨は何ですか。", "What is a transformer in machine learning?", "Say <|im_end|> twice.", "Count to 10.",
    "Why is the sky blue?", "What is the opposite of hot?", "List the days of the week.", "Tell me a joke.",
    "How many legs has a spider?", "Which planet is the largest?", "Write a Python function that adds two numbers.",
    "Who are you?",
)  # fmt: skip


class Scripted:
    """A model that gives the answer of the last question, token by token, and remembers what it saw."""

    def __init__(self, tokenizer, during=lambda: None):
        self.tokenizer, self.during, self.seen = tokenizer, during, []

    def __call__(self, input_ids):
        self.seen.append(input_ids[0].tolist())
        self.during()
        ids, start = input_ids[0].tolist(), self.tokenizer.token_to_id("<|im_start|>")
        opened = len(ids) - ids[::-1].index(start) + len(self.tokenizer.encode("assistant\n").ids)  # where it answers
        text = self.tokenizer.decode(ids[:opened], skip_special_tokens=False)
        question = text.rpartition("<|im_start|>user\n")[2].partition("<|im_end|>")[0]
        tokens = [*self.tokenizer.encode(ANSWERS[question]).ids, self.tokenizer.token_to_id("<|im_end|>")]
        token = tokens[len(ids) - opened]
        return np.eye(len(TOKENS))[None, [token]]


@pytest.fixture
def talker(monkeypatch):
    """A talker whose model is scripted, and a conversation of at most 150 tokens."""
    from play.generation import talker
    from solutions.llama_config import LlamaConfig

    config = LlamaConfig(vocab_size=len(TOKENS), max_position_embeddings=150)
    monkeypatch.setattr(talker, "load_llama", lambda file, context: (SimpleNamespace(config=config), FIELDS))
    monkeypatch.setattr(talker, "compile_llama", lambda model, device: Scripted(talker.tokenizer_of(FIELDS)))
    return talker.Talker(ROOT / "model.gguf", DeviceKind.CPU, 150)


@pytest.fixture
def conversation(talker):
    from solutions.solution_27 import NucleusSampling

    made = chat.Conversation(talker, NucleusSampling(0), np.random.default_rng(0), 60)
    made.messages = [("system", "Be brief.")]
    return made


def test_the_next_question_runs_only_its_own_tokens_behind_the_conversation(conversation, capsys):
    told = []
    conversation.ask("Who?", told.append)
    first = conversation.talker.model.seen
    conversation.talker.model.seen = []
    conversation.ask("When?", told.append)
    assert (capsys.readouterr().out, told) == ("Melville Ωλ.\nIn 1851.\n", [])
    begun, last = conversation.talker.model.seen[0], first[-1]
    assert begun[: len(last)] == last


def test_a_full_context_forgets_the_oldest_turn_and_says_so(conversation, capsys):
    told, conversation.talker.context = [], 120
    for question in ("Who?", "When?", "Who?"):
        conversation.ask(question, told.append)
    assert told == ["the context is full; the oldest 2 messages are forgotten"]
    left = [content for _, content in conversation.messages]
    assert left == ["Be brief.", "When?", "In 1851.", "Who?", "Melville Ωλ."]


@pytest.mark.parametrize(
    ("most", "context", "told"),
    [
        (41, 150, []),
        (40, 150, ["the answer is cut after 40 tokens; a larger --max-new-tokens lets it go on"]),
        (0, 150, ["the answer is cut after 0 tokens; a larger --max-new-tokens lets it go on"]),
        (60, 70, ["the answer is cut after 30 tokens; a larger --context lets it go on"]),
    ],
)
def test_an_answer_that_is_cut_is_said_to_be(conversation, capsys, most, context, told):
    conversation.max_new_tokens, conversation.talker.context = most, context
    said = []
    conversation.ask("Long?", said.append)
    assert said == told


def test_a_question_without_room_is_refused_and_the_conversation_goes_on(conversation, monkeypatch, capsys):
    told = []
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(readline=iter(["y" * 150 + "\n", "When?\n", "\n"]).__next__))
    chat.converse(conversation, told.append)
    assert capsys.readouterr().out == "In 1851.\n"
    assert len(told) == 1
    assert "with 150 for a conversation there is room for 113; shorten it" in told[0]


def test_ctrl_c_ends_an_answer_and_not_the_program(conversation, capsys):
    with signals.exiting_on_signals(print):
        conversation.talker.model.during = lambda: os.kill(os.getpid(), signal.SIGINT)
        conversation.ask("Long?", print, stoppable=True)
        conversation.talker.model.during = lambda: None
        conversation.ask("When?", print, stoppable=True)
    assert capsys.readouterr().out == "x\nIn 1851.\n"
    assert conversation.messages[2] == ("assistant", "x")


def test_the_oldest_questions_go_and_the_system_stays():
    from play.generation.talker import without_oldest

    messages = [(role, str(number)) for number, role in enumerate(["user", "assistant", "user", "assistant", "user"])]
    for count in (5, 4, 3, 2, 1, 0):
        left = without_oldest(messages, lambda some, count=count: len(some) <= count)
        assert left == messages[-max(1, count - (count + 1) % 2) :]
        system = without_oldest([("system", ""), *messages], lambda some, count=count: len(some) <= count + 1)
        assert system == [("system", ""), *left]


def test_generate_continues_a_text_up_to_where_a_turn_ends_or_the_context_is_full(talker):
    from solutions.solution_12 import Sampling

    tokens = [*talker.tokenizer.encode("Melville Ωλ.").ids, talker.end_id, 0]
    begun = talker.tokenizer.encode("Who?").ids
    talker.model = lambda input_ids: np.eye(len(TOKENS))[None, [tokens[input_ids.shape[1] - len(begun)]]]
    greedy = Sampling(0), 0, 60
    assert "".join(talker.write("Who?", *greedy)) == "Melville Ωλ."
    talker.context = len(begun) + 3
    assert "".join(talker.write("Who?", *greedy)) == talker.tokenizer.decode(tokens[:3])
    talker.context = len(begun)
    with pytest.raises(ValueError, match=f"the prompt makes {len(begun)} tokens, and there is room for"):
        talker.write("Who?", *greedy)


def test_other_models_are_refused_with_the_command_that_takes_them():
    refused = python(ROOT, "-m", "cli", "chat", "Hi", "--model", "gpt2", status=2).stderr
    assert "`./run generate --model gpt2` continues texts" in refused


def test_without_an_input_a_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    settings = ("model", "system", "max_new_tokens", "temperature", "top_p", "seed", "context")
    with pytest.raises(ValueError, match="standard input is closed"):
        chat.answer_questions(None, print, chat.ChatOptions(**dict.fromkeys(settings)))


@pytest.mark.nightly
def test_smollm2_answers(smollm2_file):
    command = ("-m", "cli", "chat", "What is the capital of France?")
    assert python(ROOT, *command, status=0, timeout=1800).stdout == "The capital of France is Paris.\n"


@pytest.fixture(scope="module", params=[True, False], ids=["kernels", "no kernels"])
def both(request, smollm2_file):
    """SmolLM2 as it talks here, compiled, and the same weights in transformers."""
    from checker.max_adapter.hooks import install_hooks

    install_hooks()
    from play.generation.talker import Talker
    from solutions.llama_files import read_llama

    config, weights, _ = read_llama(smollm2_file)
    theirs = hugging_face_llama(**vars(config))
    load(theirs, weights)
    return Talker(smollm2_file, DeviceKind.CPU, CONTEXT, kernels=request.param), theirs


@pytest.mark.nightly
def test_twenty_answers_are_transformers_to_the_token(both):
    from solutions.solution_27 import NucleusSampling, answer, chat_ids

    talker, theirs = both
    options = {"do_sample": False, "eos_token_id": talker.end_id, "pad_token_id": 0, "max_new_tokens": 40}
    for question in QUESTIONS:
        ids = chat_ids(talker.tokenizer, [("user", question)])
        right = theirs.generate(torch.from_numpy(ids), **options)[0, ids.shape[1] :].tolist()
        mine = [*answer(talker.model, ids, 40, NucleusSampling(0), end_id=talker.end_id)]
        assert mine == [token for token in right if token != talker.end_id], question


@pytest.mark.nightly
def test_logits_are_transformers_up_to_the_end_of_the_context_and_in_a_batch_of_three_lengths(both):
    from solutions.caching import PADDING
    from solutions.solution_27 import chat_ids

    talker, theirs = both
    rng = np.random.default_rng(0)
    long = rng.integers(100, 49_000, (1, CONTEXT))
    rows = [chat_ids(talker.tokenizer, [("user", question)])[0] for question in QUESTIONS[7:10]]
    longest = max(map(len, rows))
    batch = np.array([[PADDING] * (longest - len(row)) + row.tolist() for row in rows])
    assert len({*map(len, rows)}) == 3
    for ids in (long[:, :2000], long[:, :2001], long, batch, np.append(batch, batch[:, -1:], axis=1)):
        for mine, row in zip(talker.model(ids)[:, -1], ids, strict=True):
            with torch.no_grad():
                right = theirs(torch.from_numpy(row[row != PADDING])[None]).logits[0, -1].numpy()
            np.testing.assert_allclose(mine, right, atol=3e-4)
