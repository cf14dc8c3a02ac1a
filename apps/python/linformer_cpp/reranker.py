"""Ranks documents for a query, with the interface of sentence_transformers.CrossEncoder."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from . import _c
from ._calls import Texts, call, call_each, utf8
from ._library import Handle, lib
from ._task import Task, as_list
from .model import ModelLike


class Reranker(Task):
    """Scores documents for a query.

    model    a ``Model``, a ``.lnfr`` file, or a checkpoint, with a head that has one output for two texts
    head     the name or index of this head; by default the first one of this kind
    logits   if True, scores are the head's outputs before its activation
    options  the options of ``linformer_cpp.model.text_options``: ``threads``, ``max_tokens``, ``on_long``, ...
    """

    def __init__(self, model: ModelLike, *, head: str | int | None = None, logits: bool = False, **options):
        super().__init__(model, **options)
        self._head, self._logits = head, logits
        self._reranker = Handle(lib.lnf_reranker_create, lib.lnf_reranker_free, self.model.pointer,
                                -1 if head is None else self.model.head(head).index, int(logits), self._text_options(),
                                keep=self.model)

    def _state(self):
        return {"head": self._head, "logits": self._logits}

    def predict(self, sentences, batch_size: int = 32, show_progress_bar: bool | None = None):
        """Returns the scores of pairs (query, document), float32 ``[n]``, or a number for a single pair."""
        single = len(sentences) == 2 and all(isinstance(text, str) for text in sentences)
        pairs = [sentences] if single else as_list(sentences)
        queries, documents = Texts([pair[0] for pair in pairs]), Texts([pair[1] for pair in pairs])
        scores = np.empty(len(pairs), np.float32)

        def take(_, report):
            scores[report.index] = report.values[0]

        with self._lock:
            if pairs:
                call_each(lib.lnf_rerank_each, _c.Visit, take, self._reranker.pointer, queries.pointers,
                          queries.lengths, documents.pointers, documents.lengths, len(pairs), texts=len(pairs),
                          size=queries.size + documents.size, show_progress=bool(show_progress_bar))
        return scores[0] if single else scores

    def rank(self, query: str, documents: Sequence[str], top_k: int | None = None, return_documents: bool = False,
             show_progress_bar: bool | None = None) -> list[dict]:
        """Returns ``[{"corpus_id": ..., "score": ...}, ...]``, best document first. With ``return_documents`` each dict
        also has "text"."""
        documents = as_list(documents)
        if not documents:
            return []
        asked, given = utf8(query), Texts(documents)
        wanted = given.count if top_k is None else min(top_k, given.count)
        best, count = (_c.Scored * wanted)(), ctypes.c_size_t()
        with self._lock:
            call(lib.lnf_rerank, self._reranker.pointer, asked, len(asked), given.pointers, given.lengths,
                 given.count, best, wanted, count, texts=given.count, size=given.size + len(asked) * given.count,
                 show_progress=bool(show_progress_bar))
        found = [{"corpus_id": scored.index, "score": scored.score} for scored in best[:count.value]]
        if return_documents:
            for entry in found:
                entry["text"] = documents[entry["corpus_id"]]
        return found

    async def rank_async(self, query, documents, **options):
        """Calls ``rank()`` in a thread, for programs with an event loop."""
        return await self._in_thread(self.rank, query, documents, **options)
