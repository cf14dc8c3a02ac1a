"""Computes hidden states of an encoder."""
from __future__ import annotations

import ctypes

import numpy as np

from . import _c
from ._library import Handle, check, filled, lib
from ._task import new_lock
from .model import _COMPUTE, ModelLike, chosen, load
from .tokenizer import Tokenizer


class Encoder:
    """Computes hidden states: ``encoder.hidden(["A text."])[0]`` has a row of ``model.width`` floats for each token.

    model       a ``Model``, a ``.lnfr`` file, or a checkpoint
    max_tokens  the most tokens of a text, for which memory is reserved; 0 is the model's limit
    """

    def __init__(self, model: ModelLike, *, max_tokens: int = 0, threads: int = 1, compute: str = "auto"):
        self.model = load(model)
        self._given = {"max_tokens": max_tokens, "threads": threads, "compute": compute}
        options = filled(_c.SessionOptions, lib.lnf_session_options_init_sized, max_tokens=max_tokens, threads=threads,
                         compute=chosen(_COMPUTE, "compute", compute))
        self._session = Handle(lib.lnf_session_create, lib.lnf_session_free, self.model.pointer, options,
                               keep=self.model)
        self._max_tokens = max_tokens or self.model.max_tokens
        self.tokenizer = Tokenizer(self.model) if self.model.has_tokenizer else None
        self._lock = new_lock(self)

    def hidden(self, texts, layer: int = -1) -> list[np.ndarray]:
        """Returns a list with float32 ``[tokens, width]`` for each text. The ``layer`` -1 is the output, 0 the
        embedding."""
        return [self.hidden_of(encoding.ids, encoding.type_ids, layer)
                for encoding in self.tokenizer(list(texts), max_length=self._max_tokens)]

    def hidden_of(self, ids, type_ids=None, layer: int = -1) -> np.ndarray:
        """Returns float32 ``[tokens, width]`` for token ids."""
        given = np.ascontiguousarray(ids, np.int32)
        types = None if type_ids is None else np.ascontiguousarray(type_ids, np.uint8)
        if types is not None and types.shape != given.shape:
            raise ValueError(f"there are {given.size} ids and {types.size} type ids")
        call = filled(_c.Input, lib.lnf_input_init_sized, count=given.size,
                      ids=given.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)))
        if types is not None:
            call.type_ids = types.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        output = filled(_c.Output, lambda to, size: lib.lnf_output_init_sized(to, size, 0), layer=layer)
        with self._lock:
            check(lib.lnf_shapes, self._session.pointer, call, 1, output, 1)
            values = np.empty((output.rows, output.columns), np.float32)
            output.data, output.capacity = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), values.size
            check(lib.lnf_run, self._session.pointer, call, 1, output, 1, None)
        return values

    def __reduce__(self):
        return _encoder, (self.model, self._given)


def _encoder(model, options):
    return Encoder(model, **options)
