"""Tokenizes texts with Hugging Face's tokenizers only.

The code of apps/train and transformers import PyTorch, whose memory would then count for every engine.
"""
import json
import os

import numpy as np

from .common import UserError

BOS, PAD, EOS = 0, 1, 2


def tokenizer(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers
    try:
        with open(os.path.join(folder, "vocab.json"), encoding="utf-8") as file:
            vocabulary = json.load(file)
        with open(os.path.join(folder, "merges.txt"), encoding="utf-8") as file:
            lines = [line for line in file.read().split("\n") if line and not line.startswith("#version")]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{folder} has no vocabulary in vocab.json and merges.txt: {reason}") from error
    merges = [tuple(line.split(" ")) for line in lines]
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


def frame(ids, longest):
    return [BOS, *ids[:longest - 2], EOS]


def batch(sequences, longest):
    """Cuts sequences, adds special tokens, and pads all to the length of the longest. Returns the ids and the mask."""
    framed = [frame(sequence, longest) for sequence in sequences]
    ids = np.full((len(framed), max(map(len, framed))), PAD, dtype=np.int64)
    for row, sequence in zip(ids, framed):
        row[:len(sequence)] = sequence
    return ids, (ids != PAD).astype(np.int64)


def bert_tokenizer(folder, longest, pad):
    from tokenizers import Tokenizer
    path = os.path.join(folder, "tokenizer.json")
    try:
        made = Tokenizer.from_file(path)
    except Exception as error:  # The library raises no more specific class.
        raise UserError(f"{path} is no tokenizer: {error}") from error
    made.enable_truncation(longest)
    made.enable_padding(pad_id=pad, pad_token=made.id_to_token(pad))
    return made


def bert_batch(tokenizer, texts):
    """Tokenizes texts with special tokens, and pads them to the longest one. Returns the ids and the mask."""
    encoded = tokenizer.encode_batch(texts)
    return tuple(np.array([getattr(one, name) for one in encoded], dtype=np.int64)
                 for name in ("ids", "attention_mask"))
