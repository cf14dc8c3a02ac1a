"""Classifies texts, with the interface of the pipeline "text-classification" of transformers."""
from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np

from . import _c
from ._calls import Texts, call, call_each
from ._library import Handle, filled, lib
from ._task import Task, as_list, is_stream, streamed
from .model import ModelLike

_LOGITS = 2


def pairs_of(inputs):
    """Returns the first texts, the second texts (or None if there are none), and whether there is a single input. An
    input is a text, a pair, or a dict with "text" and "text_pair"."""
    single = isinstance(inputs, (str, dict))
    items = [inputs] if single else as_list(inputs)
    texts, pairs = [], []
    for item in items:
        if isinstance(item, dict):
            texts.append(item["text"])
            pairs.append(item.get("text_pair"))
        elif isinstance(item, (tuple, list)) and len(item) == 2:
            texts.append(item[0])
            pairs.append(item[1])
        else:
            texts.append(item)
            pairs.append(None)
    if all(pair is None for pair in pairs):
        return texts, None, single
    if any(pair is None for pair in pairs):
        raise ValueError("some inputs have a second text and others have none")
    return texts, pairs, single


class Classifier(Task):
    """Classifies texts, or pairs of texts.

    model    a ``Model``, a ``.lnfr`` file, or a checkpoint
    head     the name or index of a classification head; by default the first one
    options  the options of ``linformer_cpp.model.text_options``: ``threads``, ``max_tokens``, ``on_long``, ...
    """

    def __init__(self, model: ModelLike, *, head: str | int | None = None, **options):
        super().__init__(model, **options)
        self._given_head = head
        self.head = self.model.head(head)
        self._classifier = Handle(lib.lnf_classifier_create, lib.lnf_classifier_free, self.model.pointer,
                                  (ctypes.c_int32 * 1)(self.head.index), 1, self._text_options(), keep=self.model)
        self._runner = None
        self.labels = self.head.labels

    def _state(self):
        return {} if self._given_head is None else {"head": self._given_head}

    def predict_proba(self, texts, show_progress_bar: bool = False) -> np.ndarray:
        """Returns the probabilities of the classes, or the values of a regression head, as float32 ``[n, classes]``."""
        firsts, seconds, _ = pairs_of(texts)
        return self._probabilities(firsts, seconds, show_progress_bar)

    def _probabilities(self, texts, pairs, show_progress):
        given, second = Texts(texts), None if pairs is None else Texts(pairs)
        values = np.empty((given.count, len(self.labels)), np.float32)
        if given.count == 0:
            return values
        with self._lock:
            call(lib.lnf_classify, self._classifier.pointer, given.pointers, given.lengths,
                 second and second.pointers, second and second.lengths, given.count,
                 values.ctypes.data, values.size, texts=given.count,
                 size=given.size + (second.size if second else 0), show_progress=show_progress)
        return values

    def logits(self, texts) -> np.ndarray:
        """Returns the logits of the head, float32 ``[n, classes]``."""
        firsts, seconds, _ = pairs_of(texts)
        given, second = Texts(firsts), None if seconds is None else Texts(seconds)
        values = np.empty((given.count, len(self.labels)), np.float32)

        def take(_, report):
            ctypes.memmove(values[report.index].ctypes.data, report.values, values.strides[0])

        with self._lock:
            if self._runner is None:
                output = filled(_c.Output, lambda to, size: lib.lnf_output_init_sized(to, size, _LOGITS),
                                head=self.head.index)
                self._runner = Handle(lib.lnf_runner_create, lib.lnf_runner_free, self.model.pointer, output, 1,
                                      self._text_options(), keep=self.model)
            if given.count:
                call_each(lib.lnf_run_each, _c.Visit, take, self._runner.pointer, given.pointers, given.lengths,
                          second and second.pointers, second and second.lengths, given.count, texts=given.count,
                          size=given.size + (second.size if second else 0))
        return values

    def __call__(self, inputs, top_k: int | None = 1, function_to_apply: str | None = None,
                 batch_size: int | None = None, show_progress_bar: bool = False) -> list | Iterator:
        """Returns ``[{"label": ..., "score": ...}, ...]`` with the best label of each input.

        inputs             a text, a dict with "text" and "text_pair", or a list or iterator of these
        top_k              if it isn't 1, each input has a list with this number of its best labels; None is all labels
        function_to_apply  the function of the logits: "softmax", "sigmoid" or "none"; by default the head's own
        """
        if is_stream(inputs):
            return streamed(inputs, lambda some: self(some, top_k=top_k, function_to_apply=function_to_apply),
                            show_progress_bar)
        texts, pairs, single = pairs_of(inputs)
        if function_to_apply is None:
            scores = self._probabilities(texts, pairs, show_progress_bar)
        else:
            scores = _applied(function_to_apply, self.logits(texts if pairs is None else list(zip(texts, pairs))))
        order = np.argsort(-scores, axis=1, kind="stable")
        if top_k is not None:
            order = order[:, :top_k]
        found = [[{"label": self.labels[label], "score": float(row[label])} for label in best]
                 for row, best in zip(scores, order)]
        if top_k == 1:
            return [best[0] for best in found]
        return found[0] if single else found

    async def call_async(self, inputs, **options):
        """Calls the object in a thread, for programs with an event loop."""
        return await self._in_thread(self, inputs, **options)


def _applied(function, logits):
    if function == "none":
        return logits
    if function == "sigmoid":
        return 1 / (1 + np.exp(-logits))
    if function == "softmax":
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True)
    raise ValueError(f'function_to_apply is {function!r}; it is "softmax", "sigmoid", "none" or None')
