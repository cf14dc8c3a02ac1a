"""Answers questions, with the interface of the pipeline "question-answering" of transformers."""
from __future__ import annotations

from . import _c
from ._calls import Texts, call_each
from ._library import Handle, lib
from ._task import Task, as_list
from .model import ModelLike


class Answerer(Task):
    """Finds the answer to a question in a text.

    model                     a ``Model``, a ``.lnfr`` file, or a checkpoint, with a head for spans
    max_answer_len            the most tokens of an answer
    top_k                     the number of answers to a question
    handle_impossible_answer  if True, "no answer" is a possible result, for models that were trained for it
    options                   the options of ``linformer_cpp.model.text_options``; ``overlap`` is called ``doc_stride``
                              and ``max_tokens`` is called ``max_seq_len`` in transformers
    """

    def __init__(self, model: ModelLike, *, max_answer_len: int = 15, top_k: int = 1,
                 handle_impossible_answer: bool = False, head: str | int | None = None, **options):
        super().__init__(model, **options)
        self._settings = {"max_answer_len": max_answer_len, "top_k": top_k,
                          "handle_impossible_answer": handle_impossible_answer, "head": head}
        self._answerer = Handle(lib.lnf_answerer_create, lib.lnf_answerer_free, self.model.pointer, max_answer_len,
                                top_k, int(handle_impossible_answer),
                                -1 if head is None else self.model.head(head).index,
                                self._text_options(on_long="window"), keep=self.model)

    def _state(self):
        return self._settings

    def __call__(self, inputs=None, *, question=None, context=None, show_progress_bar: bool = False):
        """Returns answers as dicts with "answer", "score", "start" and "end" (characters of the context).

        Give ``question`` and ``context``, which are two texts or two lists, or a dict with both, or a list of such
        dicts. The result for a question is a dict if ``top_k`` is 1, and otherwise a list of dicts. Several questions
        give a list of these results.
        """
        if inputs is not None:
            single = isinstance(inputs, dict)
            items = [inputs] if single else as_list(inputs)
            questions, contexts = [item["question"] for item in items], [item["context"] for item in items]
        else:
            if question is None or context is None:
                raise TypeError("give a question and a context")
            single = isinstance(question, str)
            questions = [question] if single else as_list(question)
            contexts = [context] * len(questions) if isinstance(context, str) else as_list(context)
        if len(questions) != len(contexts):
            raise ValueError(f"there are {len(questions)} questions and {len(contexts)} contexts")
        asked, given, found = Texts(questions), Texts(contexts), []

        def take(answers, report):
            text, best = contexts[report.index], []
            for i in range(answers.answer_count):
                span = answers.answers[i]
                start, end = (0, 0) if span.no_answer else span.offset
                best.append({"score": span.score, "start": start, "end": end, "answer": text[start:end]})
            found.append((best[0] if best else None) if self._settings["top_k"] == 1 else best)

        with self._lock:
            if asked.count:
                call_each(lib.lnf_answer, _c.AnswerVisit, take, self._answerer.pointer, asked.pointers, asked.lengths,
                          given.pointers, given.lengths, asked.count, texts=asked.count, size=asked.size + given.size,
                          show_progress=show_progress_bar)
        return found[0] if single else found

    async def call_async(self, inputs=None, **options):
        """Calls the object in a thread, for programs with an event loop."""
        return await self._in_thread(self, inputs, **options)
