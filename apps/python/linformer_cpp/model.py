"""Loads model files. A model is immutable, and any number of objects may share it."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Union

from . import _c
from .errors import Unsupported
from ._library import Handle, check, filled, lib, text_of

_HEAD_KINDS = ("single_label", "multi_label", "score", "regression")
_COMPUTE = {"auto": 0, "no_bf16": 1, "f32": 2, "bf16": 3}
_BACKENDS = {"native": 0, "onednn": 1, "openblas": 2}
_ISAS = {"auto": 0, "scalar": 1, "avx2": 2, "avx512": 3, "neon": 4}
_ON_LONG = {"truncate": 0, "window": 1, "error": 2}


def chosen(values, name, value):
    """Returns the number that ``values`` has for a name. Raises a ValueError with all names if the name is unknown."""
    try:
        return values[value]
    except KeyError:
        raise ValueError(f"{name} is {value!r}; it is one of {', '.join(map(repr, values))}") from None


class Head:
    """The properties of a classification head: its ``name``, ``kind`` and ``labels``, and whether it compares two
    texts, classifies each token, or finds spans."""

    __slots__ = ("index", "name", "kind", "labels", "compares_two", "each_token", "spans", "has_labels")

    def __init__(self, model, index):
        info = _c.HeadInfo()
        check(lib.lnf_model_get_head, model.pointer, index, info)
        self.index, self.kind = index, _HEAD_KINDS[info.kind]
        self.name = text_of(lib.lnf_model_head_name, model.pointer, index) or ""
        self.has_labels = bool(info.has_labels)
        self.labels = [text_of(lib.lnf_model_label, model.pointer, index, label) or f"LABEL_{label}"
                       for label in range(info.classes)]
        self.compares_two, self.each_token = bool(info.compares_two), bool(info.each_token)
        self.spans = bool(info.spans)

    def __repr__(self):
        return f"Head({self.name!r}, {self.kind}, {len(self.labels)} outputs)"


class Model:
    """A model file. Any number of threads and objects may use it. The file is mapped, so processes share its memory.

    ``path`` is a ``.lnfr`` file. ``load()`` takes checkpoints, too. A pickle of a model has only the path of the file.
    """

    def __init__(self, path: str | os.PathLike, read_all: bool = False):
        self.path = os.path.abspath(os.fspath(path))
        self._read_all = read_all
        options = filled(_c.LoadOptions, lib.lnf_load_options_init_sized, read_all=int(read_all))
        self._handle = Handle(lib.lnf_model_load, lib.lnf_model_free, os.fsencode(self.path), options)
        info = _c.ModelInfo()
        check(lib.lnf_model_get_info, self.pointer, info)
        self.max_tokens, self.width, self.vocabulary = info.max_tokens, info.width, info.vocabulary
        self.layers, self.file_bytes = info.layers, info.file_bytes
        self.pad_id = None if info.pad_id < 0 else info.pad_id
        self.mask_id = None if info.mask_id < 0 else info.mask_id
        self.has_masked_lm, self.has_tokenizer = bool(info.has_masked_lm), info.tokenizer != 0
        self.heads = [Head(self, index) for index in range(info.heads)]
        self.dialect = text_of(lib.lnf_model_dialect, self.pointer) or ""

    @property
    def pointer(self):
        return self._handle.pointer

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts of a sentence-transformers model: ``{name: text}``."""
        info = self._embedding()
        found = {}
        for index in range(info.prompts):
            prompt = _c.PromptInfo()
            check(lib.lnf_model_get_prompt, self.pointer, index, prompt)
            found[prompt.name.decode()] = prompt.text.decode()
        return found

    @property
    def default_prompt_name(self) -> str | None:
        """The name of the prompt that is used by default, or None if there is none."""
        index = self._embedding().default_prompt
        return None if index < 0 else list(self.prompts)[index]

    def _embedding(self):
        info = _c.SentenceEmbeddingInfo()
        check(lib.lnf_model_get_sentence_embedding, self.pointer, info)
        return info

    def head(self, head: str | int | None = None) -> Head:
        """Returns the head with a name or an index, or the first head for None."""
        if not self.heads:
            raise Unsupported("the model has no classification head", "unsupported")
        index = 0 if head is None else head
        if isinstance(head, str):
            index = lib.lnf_model_find_head(self.pointer, head.encode())
        if not 0 <= index < len(self.heads):
            names = ", ".join(repr(found.name) for found in self.heads)
            raise ValueError(f"the model has no head {head!r}; it has {names}")
        return self.heads[index]

    def verify(self) -> None:
        """Compares every tensor with its checksum. Raises ``CorruptFile`` if one differs."""
        check(lib.lnf_model_verify, self.pointer)

    def plan(self, tokens: int = 0, batch: int = 1, threads: int = 1, compute: str = "auto") -> dict:
        """Returns the memory and the precision of a session for calls of this size, as ``{"arena_bytes": int,
        "precision": str}``."""
        options = filled(_c.SessionOptions, lib.lnf_session_options_init_sized, max_tokens=tokens, max_batch=batch,
                         threads=threads, compute=chosen(_COMPUTE, "compute", compute))
        size, needed = ctypes.c_uint64(), ctypes.c_size_t()
        check(lib.lnf_plan_bytes, self.pointer, options, size)
        check(lib.lnf_plan_precision, self.pointer, options, None, 0, needed)
        text = ctypes.create_string_buffer(needed.value)
        check(lib.lnf_plan_precision, self.pointer, options, text, needed, needed)
        return {"arena_bytes": size.value, "precision": text.value.decode()}

    def __reduce__(self):
        return type(self), (self.path, self._read_all)

    def _repr_html_(self):
        """Returns the HTML that a notebook shows."""
        import html
        rows = [("file", os.path.basename(self.path)), ("megabytes", f"{self.file_bytes / 1e6:,.1f}"),
                ("dialect", self.dialect), ("layers", f"{self.layers} of {self.width}"),
                ("tokens of a text", f"{self.max_tokens:,}"), ("vocabulary", f"{self.vocabulary:,}")]
        rows += [(f"head {head.name!r}", f"{head.kind}: {', '.join(head.labels[:8])}"
                  f"{', ...' if len(head.labels) > 8 else ''}") for head in self.heads]
        cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows)
        return f"<table>{cells}</table>"

    def __repr__(self):
        parts = [f"{self.layers} layers of {self.width}", f"{self.max_tokens} tokens"]
        parts += [f"{head.name!r} with {len(head.labels)} outputs" for head in self.heads]
        return f"Model({os.path.basename(self.path)!r}: {', '.join(parts)})"


#: The type of the argument ``model``: a ``Model``, or the path of a model file or a checkpoint.
ModelLike = Union[Model, str, os.PathLike]


def load(path: ModelLike, dtype: str | None = None, cache_dir: str | os.PathLike | None = None,
         **convert_options: Any) -> Model:
    """Returns the model of a ``.lnfr`` file or of a checkpoint's file or folder. A checkpoint is converted once and
    cached.

    ``dtype`` (``"f32"``, ``"bf16"``, ``"f16"``, ``"int8"``) and the options of ``convert()`` are for checkpoints. The
    cache finds a converted model by the content of the checkpoint's files and by these options.
    """
    if isinstance(path, Model):
        return path
    path = os.fspath(path)
    if os.path.isfile(path) and path.endswith(".lnfr"):
        if dtype is not None or convert_options:
            raise ValueError(f"{path} is a model file already; dtype and the options of convert() are for checkpoints")
        return Model(path)
    from . import cache  # Most programs load model files and don't need hashlib and tempfile, which this imports.
    return Model(cache.converted(path, dtype or "f32", cache_dir, convert_options))


def text_options(threads=1, max_tokens=0, on_long="truncate", overlap=-1, compute="auto", backend="native", isa="auto",
                 max_batch=0, max_rows=0, truncation=None):
    """Returns ``lnf_text_options`` for the arguments that all classes of this package take.

    threads     the number of threads of a call. It doesn't change the results
    max_tokens  the most tokens of a text; 0 is the model's limit
    on_long     what is done with longer texts: "truncate", "window" (the mean over overlapping windows) or "error"
    overlap     the number of tokens that two windows share; -1 is a quarter of a window
    compute     the precision of products with weights in bf16 and int8: "auto", "f32", "bf16" or "no_bf16"
    """
    changes = {"threads": threads, "max_tokens": max_tokens, "on_long": chosen(_ON_LONG, "on_long", on_long),
               "overlap": overlap, "compute": chosen(_COMPUTE, "compute", compute),
               "backend": chosen(_BACKENDS, "backend", backend), "isa": chosen(_ISAS, "isa", isa),
               "max_batch": max_batch, "max_rows": max_rows}
    if truncation is not None:
        names = {"longest_first": 1, "only_first": 2, "only_second": 3}
        changes["truncation"] = chosen(names, "truncation", truncation)
    return filled(_c.TextOptions, lib.lnf_text_options_init_sized, **changes)
