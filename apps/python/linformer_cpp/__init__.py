"""Runs text encoders on a CPU. They compute embeddings, classes, entities, answers, scores and masked tokens of texts.

    import linformer_cpp
    embedder = linformer_cpp.Embedder("all-MiniLM-L6-v2", threads=2)     # a folder as it comes from Hugging Face
    vectors = embedder.encode(["A fine film.", "A long train journey."])  # float32 [2, 384]
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING

from .answerer import Answerer
from .classifier import Classifier
from .embedder import Embedder
from .encoder import Encoder
from .errors import (Cancelled, ConversionError, CorruptFile, FileError, InvalidArgument, LinformerError, OutOfMemory,
                     TooLong, Unsupported)
from .fill_mask import FillMask
from .model import Head, Model, load
from .reranker import Reranker
from .tagger import Tagger
from .tokenizer import Encoding, Tokenizer
from ._library import lib as _lib
from ._library import text_of as _text_of
from ._library import version_of as _version_of

if _TYPE_CHECKING:
    from .conversion import convert

__version__ = _version_of(_lib)

__all__ = ["Answerer", "Cancelled", "Classifier", "ConversionError", "CorruptFile", "Embedder", "Encoder", "Encoding",
           "FileError", "FillMask", "Head", "InvalidArgument", "LinformerError", "Model", "OutOfMemory", "Reranker",
           "Tagger", "Tokenizer", "TooLong", "Unsupported", "build_info", "convert", "load"]


def __getattr__(name):
    """Imports ``convert`` at its first use, because it needs modules that most programs don't need."""
    if name != "convert":
        raise AttributeError(f"module 'linformer_cpp' has no attribute {name!r}")
    from .conversion import convert
    return convert


def build_info():
    """Returns a line for logs: the version, the backends, and the instruction set with the reason for its choice."""
    return _text_of(_lib.lnf_build_info)
