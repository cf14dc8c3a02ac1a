"""Makes batches of texts of similar length, and changes training texts at random."""

import numpy
import torch

from bpe import frame
from linformer_model import PAD

# Texts are sorted by length within groups of this many batches. So there is little padding, but batches stay random.
BATCHES_PER_SORT = 40


def pad_batch(sequences):
    tokens = numpy.full((len(sequences), max(map(len, sequences))), PAD, dtype=numpy.int64)
    for row, sequence in zip(tokens, sequences):
        row[:len(sequence)] = sequence
    return torch.from_numpy(tokens)


def group_by_length(lengths, order, batch_tokens, batch_texts=None):
    """Splits `order` (indices, sorted by length) into batches.

    A batch has at most `batch_texts` texts and `batch_tokens` tokens, padding included. A text with more tokens is a
    batch of its own.
    """
    batches, current, longest = [], [], 0
    for index in order:
        longest_then = max(longest, lengths[index])
        full = batch_texts is not None and len(current) == batch_texts
        if current and (full or longest_then * (len(current) + 1) > batch_tokens):
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
    """Makes the batches of each epoch. Texts are drawn and cropped at random, and some tokens are removed or masked.

    `texts` has the records of all files one after the other. `sizes` has the number of records of each file, and
    `shares` has the share of a file's records that an epoch draws.
    """

    def __init__(self, texts, classes, sizes, shares, max_tokens, batch_tokens, batch_texts, noise, mask_id,
                 seed):
        self.texts = texts
        self.classes = numpy.array(classes)
        self.sizes = sizes
        self.shares = shares
        self.max_tokens = max_tokens
        self.batch_tokens = batch_tokens
        self.batch_texts = batch_texts
        self.noise = noise
        self.mask_id = mask_id
        self.random = numpy.random.RandomState(seed)

    def epoch(self):
        drawn = self.draw()
        sequences = [self.vary(*self.texts[i]) for i in drawn]
        lengths = numpy.array([len(sequence) for sequence in sequences])
        order = self.random.permutation(len(sequences))
        group = max(1, BATCHES_PER_SORT * self.batch_tokens // int(lengths.mean() + 1))
        batches = []
        for start in range(0, len(order), group):
            chunk = order[start:start + group]
            chunk = chunk[numpy.argsort(lengths[chunk], kind="stable")]
            batches += group_by_length(lengths, chunk, self.batch_tokens, self.batch_texts)
        self.random.shuffle(batches)
        return [([sequences[i] for i in batch], torch.from_numpy(self.classes[drawn[batch]]))
                for batch in batches]

    def draw(self):
        """Returns the indices of this epoch's texts."""
        parts, start = [], 0
        for size, share in zip(self.sizes, self.shares):
            whole, rest = divmod(max(1, round(size * share)), size)
            parts.append(start + numpy.tile(numpy.arange(size), whole))
            if rest:
                parts.append(start + self.random.permutation(size)[:rest])
            start += size
        return numpy.concatenate(parts)

    def vary(self, text, pair):
        if len(text) + (0 if pair is None else len(pair)) < self.noise.shortest:
            return frame(text, pair, self.max_tokens)
        if pair is None:
            text = self.crop(text)
        text = self.drop_and_mask_tokens(text)
        return frame(text, None if pair is None else self.drop_and_mask_tokens(pair), self.max_tokens)

    def crop(self, text):
        """Returns a random window of the text, which has at least the share noise.crop of its tokens."""
        shortest = int(numpy.ceil(len(text) * self.noise.crop))
        if shortest >= len(text):
            return text
        length = self.random.randint(shortest, len(text) + 1)
        start = self.random.randint(0, len(text) - length + 1)
        return text[start:start + length]

    def drop_and_mask_tokens(self, text):
        """Removes some tokens, which shifts those behind them, and replaces some by <mask>."""
        if self.noise.drop:
            text = text[self.random.rand(len(text)) >= self.noise.drop]
        if self.noise.mask:
            text = numpy.where(self.random.rand(len(text)) < self.noise.mask, self.mask_id, text)
        return text
