"""Finds entities in texts, with the interface of the pipeline "token-classification" of transformers."""
from __future__ import annotations

from . import _c
from ._calls import Texts, call_each
from ._library import Handle, lib
from ._task import Task, as_list, is_single, is_stream, streamed
from .model import ModelLike, chosen

_AGGREGATIONS = {"simple": 0, "none": 1, "first": 2, "average": 3, "max": 4}


class Tagger(Task):
    """Finds names and other entities.

    model                 a ``Model``, a ``.lnfr`` file, or a checkpoint, with a head that labels tokens
    aggregation_strategy  "simple", "first", "average" or "max", or "none" for a result for each token
    options               the options of ``linformer_cpp.model.text_options``; by default long texts are read in windows
    """

    def __init__(self, model: ModelLike, *, aggregation_strategy: str = "simple", head: str | int | None = None,
                 **options):
        super().__init__(model, **options)
        self.aggregation_strategy, self._head = aggregation_strategy, head
        self._tagger = Handle(lib.lnf_tagger_create, lib.lnf_tagger_free, self.model.pointer,
                              chosen(_AGGREGATIONS, "aggregation_strategy", aggregation_strategy),
                              -1 if head is None else self.model.head(head).index,
                              self._text_options(on_long="window"), keep=self.model)

    def _state(self):
        return {"aggregation_strategy": self.aggregation_strategy, "head": self._head}

    def __call__(self, inputs, batch_size: int | None = None, show_progress_bar: bool = False) -> list:
        """Returns the entities of each text in the order of the text, as dicts with "entity_group" ("entity" without
        aggregation), "score", "word" (copied from the text), "start" and "end" (characters of the text)."""
        if is_stream(inputs):
            return streamed(inputs, self, show_progress_bar)
        single = is_single(inputs)
        texts = [inputs] if single else as_list(inputs)
        given, found = Texts(texts), []
        label = "entity" if self.aggregation_strategy == "none" else "entity_group"

        def take(tagging, report):
            text, entities = texts[report.index], []
            for i in range(tagging.entity_count):
                entity = tagging.entities[i]
                start, end = entity.offset
                entities.append({label: entity.label.decode(), "score": entity.score, "word": text[start:end],
                                 "start": start, "end": end})
            found.append(entities)

        with self._lock:
            if given.count:
                call_each(lib.lnf_tag, _c.TagVisit, take, self._tagger.pointer, given.pointers, given.lengths,
                          given.count, texts=given.count, size=given.size, show_progress=show_progress_bar)
        return found[0] if single else found

    async def call_async(self, inputs, **options):
        """Calls the object in a thread, for programs with an event loop."""
        return await self._in_thread(self, inputs, **options)
