"""Byte-level BPE in the layout of Hugging Face's RoBERTa. The ids in vocab.json are the model's ids."""

import json
import os

import numpy

from config import UserError
from linformer_model import BOS, EOS

SPECIAL_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
MASK_TOKEN = "<mask>"
FILES = ("vocab.json", "merges.txt")
# The 256 byte symbols and the five special tokens.
SMALLEST_VOCABULARY = 261


class TextEncoder:
    """Turns texts into token ids. Special tokens inside a text are read as plain characters."""

    def __init__(self, vocabulary, merges):
        from tokenizers import Tokenizer, models, pre_tokenizers

        self.vocabulary = vocabulary
        self.merges = merges
        self.mask_id = vocabulary[MASK_TOKEN]
        self.tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
        self.tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)

    def encode(self, records):
        """Returns (text, pair or None) for each record, both as token ids without special tokens."""
        def ids(texts):
            encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
            return [numpy.array(e.ids, dtype=numpy.int32) for e in encodings]

        texts = ids([record.text for record in records])
        if any(record.pair is not None for record in records):
            return list(zip(texts, ids([record.pair or "" for record in records])))
        return [(text, None) for text in texts]

    def save(self, folder):
        with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as file:
            json.dump(self.vocabulary, file, ensure_ascii=False, separators=(",", ":"))
            file.write("\n")
        with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as file:
            file.write("#version: 0.2\n")
            file.writelines(f"{left} {right}\n" for left, right in self.merges)


def frame(text, pair, max_tokens):
    """Returns <s> text </s>, or <s> text </s> </s> pair </s>, with the texts truncated so that max_tokens suffice."""
    if pair is None:
        parts = ([BOS], text[:max_tokens - 2], [EOS])
    else:
        text_room, pair_room = truncated_lengths(len(text), len(pair), max_tokens - 4)
        parts = ([BOS], text[:text_room], [EOS, EOS], pair[:pair_room], [EOS])
    return numpy.concatenate(parts).astype(numpy.int64)


def truncated_lengths(text_length, pair_length, room):
    """Returns the lengths of both texts after truncation. The longer text is truncated first, then both alike."""
    if text_length + pair_length <= room:
        return text_length, pair_length
    half = room // 2
    if min(text_length, pair_length) <= half:
        if text_length <= pair_length:
            return text_length, room - text_length
        return room - pair_length, pair_length
    if text_length <= pair_length:
        return half, room - half
    return room - half, half


def learn(records, vocab_size):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    if vocab_size < SMALLEST_VOCABULARY:
        raise UserError(f"--vocab-size must be at least {SMALLEST_VOCABULARY}")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - 1, min_frequency=2, show_progress=False,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    texts = (text for record in records for text in (record.text, record.pair) if text)
    tokenizer.train_from_iterator(texts, trainer)
    state = json.loads(tokenizer.to_str())["model"]
    vocabulary = state["vocab"]
    vocabulary[MASK_TOKEN] = len(vocabulary)
    # Older versions of tokenizers write a merge as one string, newer versions as a pair.
    merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge)
              for merge in state["merges"]]
    return TextEncoder(vocabulary, merges)


def load(folder):
    vocab_path, merges_path = (os.path.join(folder, name) for name in FILES)
    try:
        with open(vocab_path, encoding="utf-8") as file:
            vocabulary = json.load(file)
        with open(merges_path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{folder}: vocab.json or merges.txt cannot be read ({error})") from error
    merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
    check(vocabulary, merges, folder)
    try:
        return TextEncoder(vocabulary, merges)
    except Exception as error:  # The library raises a plain Exception if a merge is outside the vocabulary.
        raise UserError(f"{folder}: {error}") from error


def check(vocabulary, merges, folder):
    if not isinstance(vocabulary, dict) or not all(type(i) is int for i in vocabulary.values()):
        raise UserError(f"{folder}: vocab.json does not map tokens to numbers")
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise UserError(f"{folder}: the ids of vocab.json are not 0 .. {len(vocabulary) - 1}")
    expected = dict(zip(SPECIAL_TOKENS, range(4)))
    expected[MASK_TOKEN] = len(vocabulary) - 1
    for token, wanted in expected.items():
        if vocabulary.get(token) != wanted:
            raise UserError(f"{folder}: {token} has id {vocabulary.get(token)}, expected {wanted} "
                            "(RoBERTa's layout)")
    if not all(len(merge) == 2 for merge in merges):
        raise UserError(f"{folder}: merges.txt has a line that is not two tokens")
