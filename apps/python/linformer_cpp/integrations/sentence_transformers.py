"""A module for ``SentenceTransformer`` that is the whole model, from texts to vectors.

    from sentence_transformers import SentenceTransformer
    from linformer_cpp.integrations.sentence_transformers import LinformerModule
    model = SentenceTransformer(modules=[LinformerModule("all-MiniLM-L6-v2", threads=2)], device="cpu")
"""
import json
import os
import shutil

import torch

try:
    from sentence_transformers.sentence_transformer.modules import InputModule as _Base
except ImportError:  # sentence-transformers is older than 6.
    try:
        from sentence_transformers.models import InputModule as _Base
    except ImportError:  # It is older than 5.
        _Base = torch.nn.Module

from ..embedder import Embedder


class LinformerModule(_Base):
    """``model`` and ``options`` are those of ``linformer_cpp.Embedder``. Vectors are tensors on the CPU."""

    save_in_root = False

    def __init__(self, model, **options):
        super().__init__()
        self.embedder = Embedder(model, **options)
        self._options = options
        self.tokenizer = None

    @property
    def max_seq_length(self):
        return self.embedder.max_seq_length

    def get_sentence_embedding_dimension(self):
        return self.embedder.get_sentence_embedding_dimension()

    get_embedding_dimension = get_sentence_embedding_dimension

    def tokenize(self, texts, **ignored):
        return {"texts": list(texts)}

    preprocess = tokenize

    def forward(self, features, **ignored):
        features["sentence_embedding"] = torch.from_numpy(self.embedder.encode(features["texts"], prompt=""))
        return features

    def save(self, output_path, *ignored, **also_ignored):
        shutil.copyfile(self.embedder.model.path, os.path.join(output_path, "model.lnfr"))
        with open(os.path.join(output_path, "linformer.json"), "w", encoding="utf-8") as file:
            json.dump(self._options, file)

    @classmethod
    def load(cls, model_name_or_path, subfolder="", **ignored):
        place = os.path.join(model_name_or_path, subfolder)
        with open(os.path.join(place, "linformer.json"), encoding="utf-8") as file:
            return cls(os.path.join(place, "model.lnfr"), **json.load(file))
