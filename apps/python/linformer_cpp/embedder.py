"""Embeds texts, with the interface of sentence_transformers.SentenceTransformer."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from . import _c
from ._calls import Texts, call
from ._library import Handle, lib
from ._task import Task, as_list, is_single, is_stream, streamed
from .model import ModelLike, chosen

_POOLINGS = {None: -1, "default": -1, "cls": 0, "first_token": 0, "mean": 1, "max": 3, "lasttoken": 5, "last_token": 5,
             "weightedmean": 6, "weighted_mean": 6}


class Embedder(Task):
    """Embeds texts.

    model         a ``Model``, a ``.lnfr`` file, or a checkpoint
    pooling       "cls", "mean", "max", "lasttoken" or "weightedmean"; by default as the model says
    truncate_dim  the number of values of a vector that are kept; by default all
    prompts       ``{name: text}``, which replaces the model's own prompts
    options       the options of ``linformer_cpp.model.text_options``: ``threads``, ``max_tokens``, ``on_long``, ...
    """

    def __init__(self, model: ModelLike, *, pooling: str | None = None, truncate_dim: int | None = None,
                 prompts: Mapping[str, str] | None = None, default_prompt_name: str | None = None, **options):
        super().__init__(model, **options)
        self._pooling, self.truncate_dim, self._prompts = pooling, truncate_dim, prompts
        self._default_prompt_name = default_prompt_name
        chosen(_POOLINGS, "pooling", pooling)
        self._handles = {}
        self._width = lib.lnf_embedder_width(self._embedder(None, False).pointer)

    def _state(self):
        state = {"pooling": self._pooling, "truncate_dim": self.truncate_dim, "prompts": self._prompts,
                 "default_prompt_name": self._default_prompt_name}
        return {name: value for name, value in state.items() if value is not None}

    @property
    def prompts(self) -> dict[str, str]:
        return self.model.prompts if self._prompts is None else dict(self._prompts)

    @property
    def max_seq_length(self) -> int:
        """The most tokens of a text that are read."""
        return self._options.get("max_tokens") or self.model.max_tokens

    def get_sentence_embedding_dimension(self) -> int:
        """Returns the number of values of a vector."""
        return min(self._width, self.truncate_dim or self._width)

    get_embedding_dimension = get_sentence_embedding_dimension

    def _embedder(self, prompt, normalize):
        """Returns the library's embedder for one of the model's prompts. None is the default prompt, and "" is no
        prompt."""
        key = (prompt, normalize)
        if key not in self._handles:
            self._handles[key] = Handle(
                lib.lnf_embedder_create_prompted, lib.lnf_embedder_free, self.model.pointer, _POOLINGS[self._pooling],
                1 if normalize else -1, 0, None if prompt is None else prompt.encode(), self._text_options(),
                keep=self.model)
        return self._handles[key]

    def encode(self, sentences: str | Sequence[str] | Iterator[str], prompt_name: str | None = None,
               prompt: str | None = None, batch_size: int = 32, show_progress_bar: bool | None = None,
               normalize_embeddings: bool = False, truncate_dim: int | None = None, precision: str = "float32",
               convert_to_numpy: bool = True, convert_to_tensor: bool = False,
               device=None) -> np.ndarray | Iterator[np.ndarray]:
        """Returns float32 vectors: ``[n, d]`` for a list of texts, ``[d]`` for one text.

        An iterator of texts gives an iterator of vectors; at most 512 texts are in memory at a time. A vector depends
        only on its text, so ``batch_size`` and ``device`` are accepted and have no effect. ``prompt`` is put before
        each text; ``prompt_name`` names one of ``prompts``. With ``normalize_embeddings`` vectors have the length 1.
        With the ``precision`` "ubinary" or "binary" only the sign of each value is kept, eight in a byte, and vectors
        are uint8 or int8 ``[n, d / 8]``.
        """
        if precision not in ("float32", "binary", "ubinary"):
            raise ValueError(f'precision is {precision!r}; it is "float32", "binary" or "ubinary"')
        if is_stream(sentences):
            arguments = {"prompt_name": prompt_name, "prompt": prompt, "normalize_embeddings": normalize_embeddings,
                         "truncate_dim": truncate_dim, "precision": precision}
            return streamed(sentences, lambda chunk: self.encode(chunk, **arguments), bool(show_progress_bar))
        single = is_single(sentences)
        texts = [sentences] if single else as_list(sentences)
        vectors = self._encode(texts, prompt_name, prompt, normalize_embeddings, truncate_dim or self.truncate_dim,
                               bool(show_progress_bar))
        if precision != "float32":
            vectors = np.packbits(vectors > 0, axis=1)
            vectors = vectors if precision == "ubinary" else (vectors ^ 128).view(np.int8)
        if convert_to_tensor:
            import torch
            vectors = torch.from_numpy(vectors)
        elif not convert_to_numpy:
            vectors = list(vectors)
        return vectors[0] if single else vectors

    def _encode(self, texts, prompt_name, prompt, normalize, dimensions, show_progress):
        named = prompt_name
        if prompt is None and self._prompts is not None:
            name = prompt_name if prompt_name is not None else self._default_prompt_name
            if name is not None and name not in self._prompts:
                raise ValueError(f"there is no prompt {name!r}; there are {', '.join(map(repr, self._prompts))}")
            prompt = self._prompts[name] if name is not None else ""
        elif named is None:
            named = self._default_prompt_name
        if prompt:
            texts = [prompt + text for text in texts]
        cut = dimensions is not None and dimensions < self._width
        with self._lock:
            embedder = self._embedder(named if prompt is None else "", normalize and not cut)
            given = Texts(texts)
            vectors = np.empty((given.count, self._width), np.float32)
            if given.count:
                call(lib.lnf_embed, embedder.pointer, given.pointers, given.lengths, given.count,
                     vectors.ctypes.data, vectors.size, texts=given.count,
                     size=given.size, show_progress=show_progress)
        if cut:
            vectors = vectors[:, :dimensions].copy()
            if normalize:
                vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def encode_query(self, sentences, **options):
        """Calls ``encode()`` with the prompt named "query" if there is one."""
        return self._encode_with("query", sentences, options)

    def encode_document(self, sentences, **options):
        """Calls ``encode()`` with the first existing one of the prompts "document", "passage" and "corpus"."""
        return self._encode_with(("document", "passage", "corpus"), sentences, options)

    def _encode_with(self, names, sentences, options):
        if options.get("prompt") is None and options.get("prompt_name") is None:
            have = self.prompts
            for name in (names,) if isinstance(names, str) else names:
                if name in have:
                    options["prompt_name"] = name
                    break
        return self.encode(sentences, **options)

    async def encode_async(self, sentences, **options):
        """Calls ``encode()`` in a thread, for programs with an event loop."""
        return await self._in_thread(self.encode, sentences, **options)

    def similarity(self, first, second) -> np.ndarray:
        """Returns the cosine of each vector of ``first`` with each vector of ``second``, ``[n, m]``."""
        return _unit(first) @ _unit(second).T

    def similarity_pairwise(self, first, second) -> np.ndarray:
        """Returns the cosine of each vector of ``first`` with the vector of ``second`` at the same index, ``[n]``."""
        return np.sum(_unit(first) * _unit(second), axis=1)


def _unit(vectors):
    vectors = np.atleast_2d(np.asarray(vectors, np.float32))
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
