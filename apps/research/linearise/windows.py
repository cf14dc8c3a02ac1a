"""Runs a teacher on texts that are longer than it can read, window by window.

The tokens between a text's first and last token are cut into windows. Each window gets the first and the last token of
the text around it, and the teacher reads each window by itself. The hidden states of a window go to the positions of
its tokens in the text, so a student of longer texts has a target for each row. With mean pooling the vector is the mean
of these hidden states, and otherwise it is the mean of the windows' vectors. Logits are the mean over the windows.
"""
import torch
from torch import nn
from torch.nn import functional

from linearise.encoder import Output


class Windows(nn.Module):
    """Calls `encoder` directly if the texts fit, and in windows if they don't."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, ids, mask, types=None, hidden=True):
        encoder, most = self.encoder, self.encoder.positions
        if ids.shape[1] <= most:
            return encoder(ids, mask, types, hidden=hidden)
        pad = encoder.tokenizer.pad_token_id or 0
        places, rows = [], []  # For each window, the index of its text and the positions of its tokens in this text.
        for text, length in enumerate(mask.sum(1).tolist()):
            inner = torch.arange(1, length - 1)
            for part in inner.split(most - 2) or (inner,):
                places.append(text)
                rows.append(torch.cat([torch.tensor([0]), part, torch.tensor([length - 1])]).to(ids.device))
        longest = max(len(row) for row in rows)
        parts = torch.full((len(rows), longest), pad, dtype=ids.dtype, device=ids.device)
        part_mask = torch.zeros_like(parts)
        for i, (text, row) in enumerate(zip(places, rows)):
            parts[i, :len(row)] = ids[text, row]
            part_mask[i, :len(row)] = 1
        made = encoder(parts, part_mask, None, hidden=True)
        owner = torch.tensor(places, device=ids.device)
        states = [self.back(state, owner, rows, ids.shape) for state in made.hidden]
        if made.logits is not None:
            count = torch.bincount(owner, minlength=len(ids)).to(made.logits.dtype)
            shape = (len(ids),) + made.logits.shape[1:]
            logits = made.logits.new_zeros(shape).index_add_(0, owner, made.logits) / count[:, None]
            return Output(states, logits=logits)
        if encoder.files.pooling == "mean":
            return Output(states, vector=encoder.pool(states[-1], mask.bool()))
        vector = made.vector.new_zeros(len(ids), made.vector.shape[1]).index_add_(0, owner, made.vector)
        return Output(states, vector=functional.normalize(vector, dim=1))

    @staticmethod
    def back(state, owner, rows, shape):
        """Moves the rows of the windows, [windows, n, width], to their positions in the texts, [batch, n, width]. The
        first and the last token of a text, which each window has, get the mean over its windows."""
        made = state.new_zeros(*shape, state.shape[2])
        count = state.new_zeros(*shape, 1)
        for i, row in enumerate(rows):
            made[owner[i], row] += state[i, :len(row)]
            count[owner[i], row] += 1
        return made / count.clamp(min=1)
