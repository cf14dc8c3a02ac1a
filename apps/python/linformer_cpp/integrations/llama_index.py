"""An embedding model for LlamaIndex.

    from linformer_cpp.integrations.llama_index import LinformerEmbedding
    Settings.embed_model = LinformerEmbedding("bge-small-en-v1.5", threads=2)
"""
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from ..embedder import Embedder


class LinformerEmbedding(BaseEmbedding):
    """``model`` and ``options`` are those of ``linformer_cpp.Embedder``."""

    _embedder: Embedder = PrivateAttr()

    def __init__(self, model, *, embed_batch_size=256, **options):
        embedder = model if isinstance(model, Embedder) else Embedder(model, **options)
        super().__init__(model_name=embedder.model.path, embed_batch_size=embed_batch_size)
        self._embedder = embedder

    @classmethod
    def class_name(cls):
        return "LinformerEmbedding"

    def _get_query_embedding(self, query):
        return self._embedder.encode_query(query, normalize_embeddings=True).tolist()

    def _get_text_embedding(self, text):
        return self._embedder.encode_document(text, normalize_embeddings=True).tolist()

    def _get_text_embeddings(self, texts):
        return self._embedder.encode_document(texts, normalize_embeddings=True).tolist()

    async def _aget_query_embedding(self, query):
        return (await self._embedder.encode_async(query, normalize_embeddings=True)).tolist()
