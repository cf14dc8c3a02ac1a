"""Token vectors to start from, learned from the training texts without their labels.

Latent semantic analysis: tokens that occur in the same texts get vectors of like direction, so a
classifier of few texts also learns about the tokens that it saw rarely.
"""

import numpy

# Rounds of subspace iteration: the leading directions are all that matters here.
ROUNDS = 6
# Texts are taken in pieces of this many tokens: a long text says several things.
PIECE_TOKENS = 128
# The matrix of tokens by tokens is dense: 1 GiB of float32 for this many.
MOST_TOKENS = 16384


def token_vectors(texts, vocab_size, width, seed):
    """[vocab_size, width] float32; components are about 1, and 0 for unseen or rarest tokens."""
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
    """[tokens, tokens]: how much two tokens share pieces, 1 on the diagonal."""
    gram = numpy.zeros((len(rarity), len(rarity)), dtype=numpy.float32)
    for piece in pieces:
        row = rarity[piece]
        row /= max(1e-6, numpy.linalg.norm(row))
        gram[numpy.ix_(piece, piece)] += numpy.outer(row, row)
    # Divided by how often both tokens occur, so that frequent tokens do not own the directions.
    scale = 1.0 / numpy.sqrt(numpy.maximum(numpy.diag(gram), 1e-6))
    gram *= scale[:, None]
    gram *= scale[None, :]
    return gram


def leading_directions(gram, count, seed):
    basis = numpy.random.RandomState(seed).standard_normal((len(gram), count)).astype(numpy.float32)
    for _ in range(ROUNDS):
        basis, _ = numpy.linalg.qr(gram @ basis)
    values, rotation = numpy.linalg.eigh(basis.T @ gram @ basis)
    # The fourth root evens out the directions: the first few would outweigh all others.
    return basis @ (rotation * numpy.maximum(values, 0.0) ** 0.25)
