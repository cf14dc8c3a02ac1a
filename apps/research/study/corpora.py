"""Reads the texts of the study from the folder of --data: reviews, sentences, pairs, books and Wikipedia.

All functions return the same texts in the same order at each call.
"""
import functools
import pathlib
import random

from linearise.errors import UserError
from linearise.texts import Texts, read_records

PAIR_TASKS = {"mrpc": ("mrpc_train", "mrpc_test"), "rte": ("rte_train", "rte_dev"),
              "qnli": ("qnli_train_from_dev", "qnli_test_from_dev")}
TASKS = ("sst2", "imdb", *PAIR_TASKS)
HELD_OUT_BOOK = "pg972.txt"


def records(data, name):
    path = pathlib.Path(data) / name
    if not path.exists():
        raise UserError(f"{path} does not exist: --data names the folder with sst2, imdb, pairs and mlm.")
    return list(read_records(path))


def task(data, name, part):
    """Returns the Texts of a task, with labels. `part` is train or test."""
    if name == "sst2":
        rows = records(data, "sst2/train.tsv" if part == "train" else "sst2/dev.tsv")
        return Texts([(row["sentence"],) for row in rows], [str(row["label"]) for row in rows])
    if name == "imdb":
        rows = records(data, f"imdb/{part}.jsonl.gz")
        return Texts([(row["text"],) for row in rows], [str(row["label"]) for row in rows])
    if name == "imdb-long":
        rows = records(data, "imdb/test_long600w.jsonl")
        return Texts([(row["text"],) for row in rows], [str(row["label"]) for row in rows])
    if name not in PAIR_TASKS:
        raise UserError(f"there is no task {name!r}; the tasks are {', '.join(TASKS)} and imdb-long.")
    rows = records(data, f"pairs/{PAIR_TASKS[name][part == 'test']}.jsonl")
    return Texts([(row["a"], row["b"]) for row in rows], [str(row["label"]) for row in rows])


def paragraphs(path):
    """Returns the paragraphs of a book that have more than 200 characters, each on one line."""
    made = (" ".join(part.split()) for part in path.read_text(encoding="utf-8", errors="replace").split("\n\n"))
    return [part for part in made if len(part) > 200]


def books(data):
    folder = pathlib.Path(data) / "mlm" / "gutenberg"
    if not folder.is_dir():
        raise UserError(f"{folder} does not exist: --data names the folder with sst2, imdb, pairs and mlm.")
    return sorted(folder.glob("*.txt"))


def wikipedia(data, name):
    path = pathlib.Path(data) / "mlm" / name
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if len(line) > 200]


@functools.lru_cache(maxsize=1)
def mixed_texts(data):
    """Returns two Texts without labels, for training and held out. They have many lengths: reviews, passages of books,
    paragraphs of Wikipedia, sentences, and the second texts of pairs."""
    chance = random.Random(5)
    train = [row["text"] for row in records(data, "imdb/train.jsonl.gz")]
    for book in books(data):
        parts, i = paragraphs(book), 0
        if book.name == HELD_OUT_BOOK:
            continue
        while i < len(parts):
            wanted, words = chance.choice([300, 600, 1200, 2500]), []
            while i < len(parts) and sum(map(len, words)) < wanted:
                words.append(parts[i])
                i += 1
            train.append(" ".join(words))
    train += wikipedia(data, "wikitext2_valid.tokens.txt")
    sentences = [row["sentence"] for row in records(data, "sst2/train.tsv")]
    chance.shuffle(sentences)
    train += sentences[:3000]
    for name in ("qnli", "mrpc"):
        train += [words[1] for words in task(data, name, "train").texts]
    chance.shuffle(train)
    held = [row["text"] for row in records(data, "imdb/test.jsonl.gz")[:400]]
    held += paragraphs(next(book for book in books(data) if book.name == HELD_OUT_BOOK))[:150]
    held += [line for line in wikipedia(data, "wikitext2_raw_test.txt") if len(line) > 300][:250]
    return (Texts([(text,) for text in train], [None] * len(train)),
            Texts([(text,) for text in held], [None] * len(held)))
