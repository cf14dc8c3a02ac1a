"""Tests that attention with a window and compressed keys equals its definition, which is computed row by row in
float64."""
import math

import pytest
import torch

from linearise import attention
from linearise.attention import Batch, Compression, attend, full_attention
from linearise.plan import LayerPlan

CLS, SEP = 2, 3


def make_batch(lengths, n, seed=0):
    torch.manual_seed(seed)
    ids = torch.randint(5, 40, (len(lengths), n))
    mask = torch.zeros(len(lengths), n, dtype=torch.long)
    for i, length in enumerate(lengths):
        mask[i, :length] = 1
        ids[i, 0] = CLS
        ids[i, length - 1] = SEP
        ids[i, length:] = SEP  # Padding must never be taken for the exact token, even if it has the same id.
    return Batch(ids, mask)


def defined(query, key, value, ids, plan, keys, values, scale, bias):
    """Computes attention by its definition for one text and one head. Queries, keys and values are [n, width]."""
    n = len(query)
    own = [j for j in range(plan.k)]
    exact = {}
    for i, token in enumerate(plan.exact_tokens):
        places = (ids == token).nonzero()
        if len(places):
            exact[i] = int(places[0])
    def compress(matrix, rows):
        return torch.stack([rows[exact[j]] if j in exact else matrix[j, :n] @ rows for j in own]) if own else rows[:0]
    compressed_keys, compressed = compress(keys, key), compress(values, value)
    count = plan.rows_seen(n) if plan.k else 0
    rows = []
    for i in range(n):
        near = [j for j in range(n) if plan.window and abs(i - j) <= plan.window]
        scores = [query[i] @ key[j] * scale + (0 if bias is None else bias[i, j]) for j in near]
        scores += [query[i] @ compressed_keys[j] * scale for j in range(count)]
        weights = torch.softmax(torch.stack(scores), 0)
        rows.append(weights @ torch.cat([value[near], compressed[:count]]))
    return torch.stack(rows)


PLANS = [LayerPlan(k=8), LayerPlan(window=5), LayerPlan(k=8, window=5),
         LayerPlan(k=8, window=5, exact_tokens=(CLS, SEP)),
         LayerPlan(k=9, window=5, exact_tokens=(CLS, SEP), span=150), LayerPlan(k=7, window=20, exact_tokens=(CLS, 39),
                                                                               span=101),
         LayerPlan(k=8, window=70, exact_tokens=(CLS, SEP), span=150)]


@pytest.mark.parametrize("plan", PLANS, ids=lambda p: f"{p.kind()}-{len(p.exact_tokens)}-{p.span}")
@pytest.mark.parametrize("n,lengths", [(150, (150, 149, 6, 7, 70, 71, 72, 128)), (21, (21, 4, 20))])
@pytest.mark.parametrize("separate", [False, True])
def test_attention_is_its_definition(plan, n, lengths, separate):
    batch = make_batch(lengths, n)
    torch.manual_seed(1)
    query, key, value = (torch.randn(len(lengths), 3, n, 8, dtype=torch.float64) for _ in range(3))
    matrix = torch.randn(plan.k, 150, dtype=torch.float64)
    other = torch.randn(plan.k, 150, dtype=torch.float64) if separate else None
    layer = Compression(plan, matrix, other) if plan.k else None
    with torch.no_grad():
        got = attend(query, key, value, batch, layer, plan, 1 / math.sqrt(8))
        for i, length in enumerate(lengths):
            for head in range(3):
                wanted = defined(query[i, head, :length], key[i, head, :length], value[i, head, :length],
                                 batch.ids[i, :length], plan, matrix, matrix if other is None else other,
                                 1 / math.sqrt(8), None)
                assert torch.allclose(got[i, head, :length], wanted, atol=1e-12, rtol=0)


def test_a_bias_is_of_rows_in_the_window_alone():
    plan = LayerPlan(k=6, window=9, exact_tokens=(CLS,), span=40)
    batch = make_batch((40, 33), 40)
    query, key, value = (torch.randn(2, 2, 40, 8, dtype=torch.float64) for _ in range(3))
    bias, matrix = torch.randn(1, 2, 40, 40, dtype=torch.float64), torch.randn(6, 40, dtype=torch.float64)
    with torch.no_grad():
        got = attend(query, key, value, batch, Compression(plan, matrix), plan, 0.3, bias)
        for i, length in enumerate((40, 33)):
            for head in range(2):
                wanted = defined(query[i, head, :length], key[i, head, :length], value[i, head, :length],
                                 batch.ids[i, :length], plan, matrix, matrix, 0.3, bias[0, head])
                assert torch.allclose(got[i, head, :length], wanted, atol=1e-12, rtol=0)


def test_blocks_and_one_matrix_agree_and_both_are_used(monkeypatch):
    used = []
    for name in ("attend_dense", "attend_blocks"):
        inner = getattr(attention, name)
        monkeypatch.setattr(attention, name, lambda *a, _f=inner, _n=name: (used.append(_n), _f(*a))[1])
    plan = LayerPlan(k=10, window=16, exact_tokens=(CLS, SEP), span=400)
    query, key, value = (torch.randn(2, 2, 400, 8) for _ in range(3))
    layer = Compression(plan, torch.randn(10, 400))
    with torch.no_grad():
        whole = attend(query, key, value, make_batch((400, 90), 400), layer, plan, 0.3)
        short = attend(query[1:, :, :90], key[1:, :, :90], value[1:, :, :90],
                       Batch(*[t[1:, :90] for t in (make_batch((400, 90), 400).ids, make_batch((400, 90), 400).valid)]),
                       layer, plan, 0.3)
    assert used == ["attend_blocks", "attend_dense"]
    assert torch.allclose(whole[1:, :, :90], short, atol=1e-5)


def test_a_window_that_shows_every_row_is_full_attention():
    plan = LayerPlan(k=10, window=63, exact_tokens=(CLS, SEP), span=512)
    batch = make_batch((64, 30), 64)
    query, key, value = (torch.randn(2, 2, 64, 8) for _ in range(3))
    with torch.no_grad():
        got = attend(query, key, value, batch, Compression(plan, torch.randn(10, 512)), plan, 0.3)
        wanted = full_attention(query, key, value, batch, 0.3)
    for i, length in enumerate((64, 30)):
        assert torch.allclose(got[i, :, :length], wanted[i, :, :length], atol=1e-6)


def test_padding_changes_nothing():
    for plan in PLANS:
        query, key, value = (torch.randn(1, 2, 130, 8, dtype=torch.float64) for _ in range(3))
        layer = Compression(plan, torch.randn(plan.k, 150, dtype=torch.float64)) if plan.k else None
        with torch.no_grad():
            short = (states[:, :, :100] for states in (query, key, value))
            alone = attend(*short, make_batch((100,), 100), layer, plan, 0.3)
            batch = make_batch((100,), 130)
            batch.ids[:, :100] = make_batch((100,), 100).ids
            padded = attend(query, key, value, batch, layer, plan, 0.3)
        assert torch.allclose(padded[:, :, :100], alone, atol=1e-11)
