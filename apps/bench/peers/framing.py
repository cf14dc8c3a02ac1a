"""Token ids of the sample's texts. Without PyTorch, which apps/train's own code imports and other engines don't have."""
import json
import os

import numpy as np

BOS, PAD, EOS = 0, 1, 2


def tokenizer(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers
    with open(os.path.join(folder, "vocab.json"), encoding="utf-8") as file:
        vocabulary = json.load(file)
    with open(os.path.join(folder, "merges.txt"), encoding="utf-8") as file:
        merges = [tuple(line.split(" ")) for line in file.read().split("\n") if line and not line.startswith("#version")]
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


def frame(ids, longest):
    return [BOS, *ids[:longest - 2], EOS]


def batch(sequences, longest):
    """(ids, mask) of texts without special tokens, framed and padded to the longest of them."""
    framed = [frame(sequence, longest) for sequence in sequences]
    ids = np.full((len(framed), max(map(len, framed))), PAD, dtype=np.int64)
    for row, sequence in zip(ids, framed):
        row[:len(sequence)] = sequence
    return ids, (ids != PAD).astype(np.int64)
