"""An ``Embeddings`` class for LangChain.

    from linformer_cpp.integrations.langchain import LinformerEmbeddings
    store = InMemoryVectorStore(LinformerEmbeddings("bge-small-en-v1.5", threads=2))
"""
from langchain_core.embeddings import Embeddings

from ..embedder import Embedder


class LinformerEmbeddings(Embeddings):
    """``model`` and ``options`` are those of ``linformer_cpp.Embedder``. If the model has prompts for queries and for
    documents, they are put before the texts."""

    def __init__(self, model, *, normalize_embeddings=True, **options):
        self.embedder = model if isinstance(model, Embedder) else Embedder(model, **options)
        self.normalize_embeddings = normalize_embeddings

    def embed_documents(self, texts):
        return self.embedder.encode_document(texts, normalize_embeddings=self.normalize_embeddings).tolist()

    def embed_query(self, text):
        return self.embedder.encode_query(text, normalize_embeddings=self.normalize_embeddings).tolist()
