"""Computes the first values of E and F. README.md describes the methods."""
import torch

from linearise.attention import Compression, attend, full_attention
from linearise.errors import UserError

KINDS = ("pool", "stride", "svd", "fit")
FIT_STEPS, FIT_RATE = 60, 0.01


def make_compressions(kind, plan, encoder, tokens, device, positions, separate=False):
    """Returns a dict from the index of a layer to its Compression. The methods `svd` and `fit` use the attention of
    `encoder`, whose layers must all be full, on the texts of `tokens`. If `separate`, F is a matrix of its own that
    begins equal to E."""
    made = {}
    by_data = kind in ("svd", "fit")
    looked = observe(encoder, tokens, device, fit=kind == "fit") if by_data else None
    for i, layer in enumerate(plan):
        if layer is None or layer.k == 0:
            continue
        start = pools(layer, positions) if kind != "stride" else strides(layer, positions)
        if kind == "svd":
            start = singular(layer, looked[i].gram, start)
        made[i] = Compression(layer, start, start.clone() if separate else None).to(device)
        if kind == "fit":
            fit(made[i], looked[i].kept)
    return made


def exact_rows(layer):
    """Returns how many of the first rows of E stand for a single token. A layer with a window has a row for each exact
    token. A layer without a window has one row if k > 1, which is a copy of the first position."""
    return len(layer.exact_tokens) if layer.window else 1 if layer.k > 1 else 0


def slots(layer, positions):
    """Yields, for each row of E that stands for a range of positions, its index, its first position and the end of the
    range (exclusive)."""
    exact = exact_rows(layer)
    rows, over = layer.k - exact, layer.span or positions
    for row in range(rows):
        first, end = row * over // rows, max((row + 1) * over // rows, row * over // rows + 1)
        yield exact + row, min(first, positions - 1), min(end, positions)


def pools(layer, positions):
    """Returns a matrix in which each row is the mean of its positions."""
    matrix = torch.zeros(layer.k, positions)
    matrix[:exact_rows(layer), 0] = 1
    for row, first, end in slots(layer, positions):
        matrix[row, first:end] = 1 / (end - first)
    return matrix


def strides(layer, positions):
    """Returns a matrix in which each row is a copy of the middle one of its positions."""
    matrix = torch.zeros(layer.k, positions)
    matrix[:exact_rows(layer), 0] = 1
    for row, first, end in slots(layer, positions):
        matrix[row, (first + end - 1) // 2] = 1
    return matrix


def singular(layer, gram, start):
    """Returns a matrix whose rows are the leading right singular vectors of the layer's stacked attention matrices.
    They are the directions in the space of positions that the attention uses most. The magnitudes of each row sum to 1,
    like those of a mean. Positions that no text reached keep the values of `start`. `gram` is the sum of P^T P."""
    exact = exact_rows(layer)
    rows = layer.k - exact
    known = gram.shape[0]
    if rows > known:
        raise UserError(f"svd needs texts of at least {rows} tokens to find {rows} directions: the longest has "
                        f"{known}.")
    values, vectors = torch.linalg.eigh(gram)
    top = vectors[:, -rows:].flip(1).T
    top = top * torch.sign(top.sum(1, keepdim=True) + 1e-30)
    matrix = start.clone()
    matrix[exact:, :known] = (top / top.abs().sum(1, keepdim=True)).to(matrix.dtype)
    return matrix


class Observations:
    """Observations of the attention of one layer: the sum of P^T P over texts and heads, or some inputs and outputs."""

    def __init__(self):
        self.gram, self.kept = None, []


@torch.no_grad()
def observe(encoder, tokens, device, fit, most_texts=32, most_kept=8):
    """Runs the encoder on the longest texts. Returns a dict from the index of a layer to its Observations."""
    order = sorted(range(len(tokens)), key=lambda i: -len(tokens.ids[i]))[:most_texts]
    longest = len(tokens.ids[order[0]])
    looked = {}

    def watch(layer, query, key, value, scale, bias):
        seen = looked.setdefault(layer, Observations())
        if fit:
            if len(seen.kept) < most_kept:
                batch = encoder.attentions.batch
                context = full_attention(query, key, value, batch, scale, bias=bias)
                seen.kept.append((query.clone(), key.clone(), value.clone(), batch, scale, bias, context))
            return
        scores = query @ key.transpose(2, 3) * scale
        weights = torch.softmax(scores if bias is None else scores + bias, 3).double()
        if seen.gram is None:
            seen.gram = torch.zeros(longest, longest, dtype=torch.float64, device=device)
        n = weights.shape[3]
        seen.gram[:n, :n] += torch.einsum("bhij,bhik->jk", weights, weights)

    encoder.attentions.watch = watch
    try:
        for i in order:
            encoder(*tokens.batch([i], device), hidden=False)
    finally:
        encoder.attentions.watch = None
    for seen in looked.values():
        seen.gram = None if seen.gram is None else seen.gram.cpu()
    return looked


@torch.enable_grad()
def fit(compression, kept):
    """Fits E and F by least squares with gradient steps. For inputs that the layer had in the teacher, its output
    should be as near as possible to the output of full attention."""
    optimizer = torch.optim.Adam(compression.parameters(), lr=FIT_RATE / compression.keys.shape[1] ** 0.5)
    for step in range(FIT_STEPS):
        query, key, value, batch, scale, bias, wanted = kept[step % len(kept)]
        got = attend(query, key, value, batch, compression, compression.plan, scale, bias)
        loss = (got - wanted).square().sum() / wanted.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
