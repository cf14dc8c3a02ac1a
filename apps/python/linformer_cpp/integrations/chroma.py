"""An embedding function for Chroma.

    from linformer_cpp.integrations.chroma import LinformerEmbeddingFunction
    collection = client.create_collection("films", embedding_function=LinformerEmbeddingFunction("all-MiniLM-L6-v2"))
"""
from chromadb.api.types import EmbeddingFunction

from ..embedder import Embedder


class LinformerEmbeddingFunction(EmbeddingFunction):
    """``model`` (a path) and ``options`` are those of ``linformer_cpp.Embedder``. A collection stores both."""

    def __init__(self, model, **options):
        self._config = {"model": str(model), "options": options}
        self._embedder = Embedder(model, **options)

    def __call__(self, input):
        return list(self._embedder.encode(list(input), normalize_embeddings=True))

    @staticmethod
    def name():
        return "linformer_cpp"

    @staticmethod
    def build_from_config(config):
        return LinformerEmbeddingFunction(config["model"], **config["options"])

    def get_config(self):
        return self._config
