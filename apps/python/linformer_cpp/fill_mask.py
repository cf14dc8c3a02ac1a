"""Fills masked tokens, with the interface of the pipeline "fill-mask" of transformers."""
from __future__ import annotations

from . import _c
from ._calls import Texts, call_each
from ._library import Handle, lib, text_of
from ._task import Task, as_list, is_single, is_stream, streamed
from .model import ModelLike
from .tokenizer import Tokenizer


class FillMask(Task):
    """Finds the most probable tokens for the masks in a text.

    model    a ``Model``, a ``.lnfr`` file, or a checkpoint, with a masked-LM head
    top_k    the number of tokens for each mask
    options  the options of ``linformer_cpp.model.text_options``: ``threads``, ``max_tokens``, ...
    """

    def __init__(self, model: ModelLike, *, top_k: int = 5, **options):
        super().__init__(model, **options)
        self._top_k = top_k
        self._filler = Handle(lib.lnf_mask_filler_create, lib.lnf_mask_filler_free, self.model.pointer, top_k,
                              self._text_options(), keep=self.model)
        self.tokenizer = Tokenizer(self.model)
        self.mask_token = text_of(lib.lnf_mask_filler_mask, self._filler.pointer)

    def _state(self):
        return {"top_k": self._top_k}

    def __call__(self, inputs, show_progress_bar: bool = False) -> list:
        """Returns the best tokens for the mask of a text as a list of dicts with "score", "token", "token_str" and
        "sequence". A text with several masks has a list of these lists."""
        if is_stream(inputs):
            return streamed(inputs, self, show_progress_bar)
        single = is_single(inputs)
        given, found = Texts([inputs] if single else as_list(inputs)), []

        def take(filling, _):
            masks = [[(mask.token, candidate.id, candidate.probability)
                      for candidate in mask.candidates[:mask.candidate_count]]
                     for mask in filling.masks[:filling.mask_count]]
            found.append((filling.ids[:filling.id_count], masks))

        with self._lock:
            if given.count:
                call_each(lib.lnf_fill_masks, _c.FillVisit, take, self._filler.pointer, given.pointers, given.lengths,
                          None, None, given.count, texts=given.count, size=given.size, show_progress=show_progress_bar)
        results = [self._result(ids, masks) for ids, masks in found]
        return results[0] if single else results

    def _result(self, ids, masks):
        best = []
        for mask in masks:
            entries = []
            for at, token, probability in mask:
                filled = ids[:at] + [token] + ids[at + 1:]
                entries.append({"score": probability, "token": token, "token_str": self.tokenizer.decode([token]),
                                "sequence": self.tokenizer.decode(filled, skip_special_tokens=len(masks) == 1)})
            best.append(entries)
        return best[0] if len(best) == 1 else best
