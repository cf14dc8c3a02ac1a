"""Converts texts to token ids and back."""
from __future__ import annotations

import ctypes

from . import _c
from ._calls import utf8
from ._library import Handle, check, filled, lib
from .model import ModelLike, load


class Encoding:
    """The tokens of a text: ``ids``, ``type_ids``, ``offsets`` (begin and end of each token in characters), and
    ``total``, the number of tokens without truncation."""

    __slots__ = ("ids", "type_ids", "offsets", "total")

    def __init__(self, ids, type_ids, offsets, total):
        self.ids, self.type_ids, self.offsets, self.total = ids, type_ids, offsets, total

    def __len__(self):
        return len(self.ids)

    def __repr__(self):
        return f"Encoding({len(self.ids)} tokens: {self.ids[:8]}{'...' if len(self.ids) > 8 else ''})"


class Tokenizer:
    """A model's tokenizer. Any number of threads may use it.

    model  a ``Model``, a ``.lnfr`` file, or a checkpoint
    """

    def __init__(self, model: ModelLike):
        self.model = load(model)
        self._handle = Handle(lib.lnf_tokenizer_create, lib.lnf_tokenizer_free, self.model.pointer, keep=self.model)

    def encode(self, text: str, pair: str | None = None, max_length: int = 0, add_special_tokens: bool = True,
               truncation: str = "longest_first") -> Encoding:
        """Returns the tokens of a text or a pair, at most ``max_length``. If ``max_length`` is 0, there is no limit."""
        first, second = utf8(text), None if pair is None else utf8(pair)
        rules = {"longest_first": 1, "only_first": 2, "only_second": 3}
        options = filled(_c.EncodeOptions, lib.lnf_encode_options_init_sized, max_length=max_length,
                         truncation=rules[truncation] if max_length else 0, add_special_tokens=int(add_special_tokens))
        encoding = Handle(lib.lnf_encoding_create, lib.lnf_encoding_free)
        check(lib.lnf_encode, self._handle.pointer, first, len(first), second, len(second or b""), options,
              encoding.pointer)
        count = lib.lnf_encoding_size(encoding.pointer)
        offsets = lib.lnf_encoding_offsets(encoding.pointer)
        return Encoding(lib.lnf_encoding_ids(encoding.pointer)[:count],
                        lib.lnf_encoding_type_ids(encoding.pointer)[:count],
                        [(offsets[2 * i], offsets[2 * i + 1]) for i in range(count)],
                        lib.lnf_encoding_total(encoding.pointer))

    def __call__(self, texts, **options):
        """Returns the encoding of a text, or a list of encodings for several texts."""
        return self.encode(texts, **options) if isinstance(texts, str) else [self.encode(t, **options) for t in texts]

    def decode(self, ids, skip_special_tokens: bool = False) -> str:
        """Returns the text of token ids."""
        ids = list(ids)
        array, needed = (ctypes.c_int32 * len(ids))(*ids), ctypes.c_size_t()
        check(lib.lnf_decode, self._handle.pointer, array, len(ids), int(skip_special_tokens), None, 0, needed)
        text = ctypes.create_string_buffer(needed.value)
        check(lib.lnf_decode, self._handle.pointer, array, len(ids), int(skip_special_tokens), text, needed, needed)
        return text.raw[:needed.value - 1].decode("utf-8", "replace")

    def __reduce__(self):
        return type(self), (self.model,)

    def __repr__(self):
        return f"Tokenizer({self.model!r})"
