"""Learns first token vectors from the training texts, without their labels.

The method is latent semantic analysis: tokens that occur in the same texts get vectors of similar direction. So a
classifier that is trained on few texts also learns about rare tokens.
"""

import numpy

# Rounds of subspace iteration. Few rounds suffice, because only the leading directions are needed.
ROUNDS = 6
# Texts are divided into pieces of this many tokens, because a long text may have several topics.
PIECE_TOKENS = 128
# The matrix of tokens by tokens is dense. With this many tokens it takes 1 GiB of float32.
MOST_TOKENS = 16384


def token_vectors(texts, vocab_size, width, seed):
    """Returns [vocab_size, width] float32. Components are about 1, and 0 for tokens that are unseen or too rare."""
    pieces = [numpy.unique(ids[start:start + PIECE_TOKENS])
              for text in texts for ids in text if ids is not None
              for start in range(0, len(ids), PIECE_TOKENS)]
    frequency = numpy.bincount(numpy.concatenate(pieces), minlength=vocab_size) if pieces \
        else numpy.zeros(vocab_size, dtype=numpy.int64)
    kept = numpy.argsort(-frequency, kind="stable")[:MOST_TOKENS]
    kept = kept[frequency[kept] > 0]
    vectors = numpy.zeros((vocab_size, width), dtype=numpy.float32)
    found = min(width, len(kept))
    if found:
        column = numpy.full(vocab_size, -1)
        column[kept] = numpy.arange(len(kept))
        rarity = numpy.log((len(pieces) + 1.0) / (frequency[kept] + 1.0)).astype(numpy.float32)
        gram = cooccurrence([c[c >= 0] for c in (column[piece] for piece in pieces)], rarity)
        vectors[kept, :found] = leading_directions(gram, found, seed)
        vectors[kept] -= vectors[kept].mean(axis=0)
        lengths = numpy.linalg.norm(vectors[kept], axis=1, keepdims=True)
        vectors[kept] *= numpy.sqrt(width) / numpy.maximum(lengths, 1e-6)
    return vectors


def cooccurrence(pieces, rarity):
    """Returns a matrix [tokens, tokens] of how often two tokens occur in the same pieces, with 1 on the diagonal."""
    gram = numpy.zeros((len(rarity), len(rarity)), dtype=numpy.float32)
    for piece in pieces:
        row = rarity[piece]
        row /= max(1e-6, numpy.linalg.norm(row))
        gram[numpy.ix_(piece, piece)] += numpy.outer(row, row)
    # Elements are divided by the frequencies of both tokens, so that frequent tokens do not dominate the directions.
    scale = 1.0 / numpy.sqrt(numpy.maximum(numpy.diag(gram), 1e-6))
    gram *= scale[:, None]
    gram *= scale[None, :]
    return gram


def leading_directions(gram, count, seed):
    basis = numpy.random.RandomState(seed).standard_normal((len(gram), count)).astype(numpy.float32)
    for _ in range(ROUNDS):
        basis, _ = numpy.linalg.qr(gram @ basis)
    values, rotation = numpy.linalg.eigh(basis.T @ gram @ basis)
    # The fourth root balances the directions. Otherwise the first few would dominate.
    return basis @ (rotation * numpy.maximum(values, 0.0) ** 0.25)
