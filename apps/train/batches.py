"""Batches of texts of like length, and the random changes that a training text goes through."""

import numpy
import torch

from bpe import frame
from linformer_model import PAD

# Texts are sorted by length within groups of this many batches: little padding, yet random batches.
BATCHES_PER_SORT = 40


def pad_batch(sequences):
    tokens = numpy.full((len(sequences), max(map(len, sequences))), PAD, dtype=numpy.int64)
    for row, sequence in zip(tokens, sequences):
        row[:len(sequence)] = sequence
    return torch.from_numpy(tokens)


def group_by_length(lengths, order, batch_tokens):
    """Splits order (indices, sorted by length) into batches of at most batch_tokens, pads included."""
    batches, current, longest = [], [], 0
    for index in order:
        longest_then = max(longest, lengths[index])
        if current and longest_then * (len(current) + 1) > batch_tokens:
            batches.append(current)
            current, longest_then = [], lengths[index]
        current.append(index)
        longest = longest_then
    if current:
        batches.append(current)
    return batches


def evaluation_batches(sequences, batch_tokens):
    lengths = [len(sequence) for sequence in sequences]
    order = sorted(range(len(sequences)), key=lengths.__getitem__)
    return group_by_length(lengths, order, batch_tokens)


class TrainingBatches:
    """One epoch at a time: texts cropped, thinned and masked at random, then batched."""

    def __init__(self, texts, classes, max_tokens, batch_tokens, noise, mask_id, seed):
        self.texts = texts
        self.classes = numpy.array(classes)
        self.max_tokens = max_tokens
        self.batch_tokens = batch_tokens
        self.noise = noise
        self.mask_id = mask_id
        self.random = numpy.random.RandomState(seed)

    def epoch(self):
        sequences = [self.vary(*text) for text in self.texts]
        lengths = numpy.array([len(sequence) for sequence in sequences])
        order = self.random.permutation(len(sequences))
        group = max(1, BATCHES_PER_SORT * self.batch_tokens // int(lengths.mean() + 1))
        batches = []
        for start in range(0, len(order), group):
            chunk = order[start:start + group]
            chunk = chunk[numpy.argsort(lengths[chunk], kind="stable")]
            batches += group_by_length(lengths, chunk, self.batch_tokens)
        self.random.shuffle(batches)
        return [([sequences[i] for i in batch], torch.from_numpy(self.classes[batch]))
                for batch in batches]

    def vary(self, text, pair):
        if pair is None:
            text = self.crop(text)
        text = self.thin(text)
        return frame(text, None if pair is None else self.thin(pair), self.max_tokens)

    def crop(self, text):
        """A random window of at least noise.crop of the text."""
        shortest = int(numpy.ceil(len(text) * self.noise.crop))
        if shortest >= len(text):
            return text
        length = self.random.randint(shortest, len(text) + 1)
        start = self.random.randint(0, len(text) - length + 1)
        return text[start:start + length]

    def thin(self, text):
        """Some tokens left out, which also shifts the rest; some replaced by <mask>."""
        if self.noise.drop:
            text = text[self.random.rand(len(text)) >= self.noise.drop]
        if self.noise.mask:
            text = numpy.where(self.random.rand(len(text)) < self.noise.mask, self.mask_id, text)
        return text
