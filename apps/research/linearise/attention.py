"""Computes attention with a window and with compressed keys in PyTorch, as the runtime does (schema/FORMAT.md).

Queries, keys and values have the shape [batch, heads, n, width of a head]. A text begins at position 0, and its padding
follows its last token.
"""
import torch
from torch import nn
from torch.nn import functional

LEAST_BLOCK = 64  # The smallest number of queries in a block of attend_blocks().


class Batch:
    """The texts of one forward pass: their ids [batch, n], which tokens aren't padding, and their lengths."""

    def __init__(self, ids, mask):
        self.ids = ids
        self.valid = mask.bool()
        self.lengths = self.valid.sum(1)
        self.padded = not bool(self.valid.all())

    def first_positions(self, tokens):
        """Returns two arrays [batch, tokens]: the position of the first occurrence of each token of `tokens` in each
        text, and whether the text has the token."""
        wanted = torch.tensor(tokens, device=self.ids.device)
        at = (self.ids[:, None, :] == wanted[None, :, None]) & self.valid[:, None, :]
        return at.int().argmax(2), at.any(2)


class Compression(nn.Module):
    """The matrices E and F of one layer, [k, N]. If `values` is None, one matrix compresses both keys and values."""

    def __init__(self, plan, keys, values=None):
        super().__init__()
        self.plan = plan
        self.keys = nn.Parameter(keys)
        self.values = None if values is None else nn.Parameter(values)

    def rows(self, states, batch, side):
        """Returns the compressed rows [batch, heads, k, width] of keys (side 0) or values (side 1)."""
        matrix = self.keys if side == 0 or self.values is None else self.values
        if batch.padded:
            states = states * batch.valid[:, None, :, None].to(states.dtype)
        rows = torch.matmul(matrix[:, :states.shape[2]].to(states.dtype), states)
        exact = self.plan.exact_tokens
        if not exact:
            return rows
        positions, found = batch.first_positions(exact)
        width = states.shape[3]
        kept = states.gather(2, positions[:, None, :, None].expand(-1, states.shape[1], -1, width))
        kept = torch.where(found[:, None, :, None], kept, rows[:, :, :len(exact)])
        return torch.cat([kept, rows[:, :, len(exact):]], 2)


def full_attention(query, key, value, batch, scale, window=None, bias=None, dropout=0.0):
    """Computes attention to all rows of the text, or to the rows of a window if `window` isn't None. `bias`, [1 or
    batch, heads, n, n], is added to the scores."""
    n = query.shape[2]
    mask = batch.valid[:, None, None, :] if batch.padded else None
    if window is not None and window < n - 1:
        band = band_mask(n, window, query.device)[None, None]
        mask = band if mask is None else (mask & band) | identity(n, query.device)[None, None]
    if bias is not None:
        bias = bias.to(query.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, torch.finfo(bias.dtype).min)
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale, dropout_p=dropout)


def attend(query, key, value, batch, compression, plan, scale, bias=None, dropout=0.0):
    """Computes the attention of a layer that isn't full. Returns the context in the shape of `query`."""
    if plan.k:
        keys, values = compression.rows(key, batch, 0), compression.rows(value, batch, 1)
    else:
        keys, values = key[:, :, :0], value[:, :, :0]
    if not plan.window:
        return functional.scaled_dot_product_attention(query, keys, values, scale=scale, dropout_p=dropout)
    rows = torch.arange(plan.k, device=key.device)
    seen = rows[None, :] < plan.rows_seen(batch.lengths)[:, None]  # [batch, k]
    block = max(LEAST_BLOCK, plan.window)
    if bias is not None or query.shape[2] <= block + 2 * plan.window:
        return attend_dense(query, key, value, keys, values, seen, batch, plan.window, scale, bias, dropout)
    return attend_blocks(query, key, value, keys, values, seen, batch, plan.window, block, scale, dropout)


def attend_dense(query, key, value, keys, values, seen, batch, window, scale, bias, dropout):
    """Computes attention to a window and to compressed rows with one matrix of scores, [n, n + k]."""
    n, k = query.shape[2], keys.shape[2]
    own = batch.valid[:, None, None, :] & band_mask(n, window, query.device)[None, None]
    own = own | identity(n, query.device)[None, None]  # Padding attends to itself, since a softmax of no keys is NaN.
    mask = torch.cat([own, seen[:, None, None, :].expand(-1, 1, n, -1)], 3)
    if bias is not None:
        bias = functional.pad(bias, (0, k)).to(query.dtype)
        mask = bias.masked_fill(~mask, torch.finfo(bias.dtype).min)
    return functional.scaled_dot_product_attention(query, torch.cat([key, keys], 2), torch.cat([value, values], 2),
                                                   attn_mask=mask, scale=scale, dropout_p=dropout)


def attend_blocks(query, key, value, keys, values, seen, batch, window, block, scale, dropout):
    """Computes the same as attend_dense() in blocks of queries. Each block sees only the keys of its windows, so the
    cost grows with n and not with n^2."""
    size, heads, n, width = query.shape
    k, blocks, reach = keys.shape[2], -(-n // block), block + 2 * window
    extra = blocks * block - n

    def with_compressed(states, compressed):
        halo = functional.pad(states, (0, 0, window, window + extra))
        halo = halo.unfold(2, reach, block).permute(0, 2, 1, 4, 3)  # [batch, blocks, heads, reach, width]
        compressed = compressed[:, None].expand(-1, blocks, -1, -1, -1)
        return torch.cat([halo, compressed], 3).reshape(size * blocks, heads, reach + k, width)

    queries = functional.pad(query, (0, 0, 0, extra)).view(size, heads, blocks, block, width)
    queries = queries.permute(0, 2, 1, 3, 4).reshape(size * blocks, heads, block, width)
    valid = functional.pad(batch.valid, (window, window + extra)).unfold(1, reach, block)  # [batch, blocks, reach]
    away = torch.arange(reach, device=query.device)[None, :] - torch.arange(block, device=query.device)[:, None]
    own = valid[:, :, None, :] & ((away >= 0) & (away <= 2 * window))[None, None]
    own = own | (away == window)[None, None]  # Padding attends to itself, since a softmax of no keys is NaN.
    mask = torch.cat([own, seen[:, None, None, :].expand(-1, blocks, block, -1)], 3)
    context = functional.scaled_dot_product_attention(
        queries, with_compressed(key, keys), with_compressed(value, values),
        attn_mask=mask.reshape(size * blocks, 1, block, reach + k), scale=scale, dropout_p=dropout)
    context = context.view(size, blocks, heads, block, width).permute(0, 2, 1, 3, 4)
    return context.reshape(size, heads, blocks * block, width)[:, :, :n]


def band_mask(n, window, device):
    positions = torch.arange(n, device=device)
    return (positions[:, None] - positions[None, :]).abs() <= window


def identity(n, device):
    return torch.eye(n, dtype=torch.bool, device=device)
