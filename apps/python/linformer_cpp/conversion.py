"""Converts checkpoints with the program linformer-convert, which is a part of this package."""
from __future__ import annotations

import json
import os
import struct
import subprocess
import tempfile

from ._programs import program
from .errors import ConversionError

_DTYPES = ("f32", "bf16", "f16", "int8")


def convert(checkpoint, output: str | os.PathLike, dtype: str = "f32", tokenizer=None, config=None, labels=None,
            head_kinds=None, dialect: str | None = None) -> dict:
    """Converts a checkpoint into a model file, and returns the converter's report as a dict.

    checkpoint  the path of a file or folder; or a state dict of torch or numpy, with ``config`` for the settings that
                the tensors don't show; or a model of ``transformers``, with its tokenizer as ``tokenizer``
    output      the ``.lnfr`` file, which appears complete or not at all
    dtype       the type of the stored weights: "f32", "bf16", "f16" or "int8"
    tokenizer   a file or folder, or a tokenizer of ``transformers``
    config      a dict, the path of a JSON file, or a JSON text
    labels      the names of the first head's classes, or ``{head: names}``
    head_kinds  "single_label", "multi_label", "score" or "regression", or ``{head: kind}``
    """
    if dtype not in _DTYPES:
        raise ValueError(f"dtype is {dtype!r}; it is one of {', '.join(map(repr, _DTYPES))}")
    with tempfile.TemporaryDirectory(prefix="linformer_") as work:
        if not isinstance(checkpoint, (str, os.PathLike)):
            checkpoint, config = _saved(checkpoint, config, work)
        if tokenizer is not None and hasattr(tokenizer, "save_pretrained"):
            place = os.path.join(work, "tokenizer")
            tokenizer.save_pretrained(place)
            tokenizer = place
        command = [program("linformer-convert"), os.fspath(checkpoint), "-o", os.fspath(output), "--dtype", dtype,
                   "--json", "--force"]
        if tokenizer is not None:
            command += ["--tokenizer", os.fspath(tokenizer)]
        if config is not None:
            command += ["--config", json.dumps(config) if isinstance(config, dict) else os.fspath(config)]
        if dialect is not None:
            command += ["--dialect", dialect]
        for option, values in (("--labels", labels), ("--head-kind", head_kinds)):
            for value in _named(values):
                command += [option, value]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ConversionError((said[-1] if said else f"linformer-convert ended with {done.returncode}")
                              .removeprefix("linformer-convert: "))
    return json.loads(done.stdout)


def _named(values):
    if values is None:
        return []
    if isinstance(values, dict):
        return [f"{head}={value if isinstance(value, str) else ','.join(value)}" for head, value in values.items()]
    return [values if isinstance(values, str) else ",".join(values)]


def _saved(given, config, work):
    """Writes a state dict or a model of transformers as a safetensors file to the folder ``work``. Returns its path and
    its config."""
    if hasattr(given, "state_dict"):
        settings = getattr(given, "config", None)
        if settings is not None and hasattr(settings, "to_json_string"):
            with open(os.path.join(work, "config.json"), "w", encoding="utf-8") as file:
                file.write(settings.to_json_string(use_diff=False))
        given = given.state_dict()
    if not hasattr(given, "items"):
        raise TypeError(f"a checkpoint is a path, a state dict or a model, and not {type(given).__name__}")
    path = os.path.join(work, "model.safetensors")
    write_safetensors(path, given)
    return (work if os.path.exists(os.path.join(work, "config.json")) else path), config


_TORCH_TYPES = {"torch.float64": "F64", "torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16",
                "torch.int64": "I64", "torch.int32": "I32", "torch.int16": "I16", "torch.int8": "I8",
                "torch.uint8": "U8", "torch.bool": "BOOL"}
_NUMPY_TYPES = {"<f8": "F64", "<f4": "F32", "<f2": "F16", "<i8": "I64", "<i4": "I32", "<i2": "I16", "|i1": "I8",
                "|u1": "U8", "|b1": "BOOL"}


def _bytes(name, tensor):
    """Returns the type, the shape and the content of a tensor of torch or of an array of numpy."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().contiguous()
        kind = _TORCH_TYPES.get(str(tensor.dtype))
        if kind == "BF16":  # numpy has no type bfloat16.
            import torch
            content = tensor.view(torch.int16).numpy()
        else:
            content = tensor.numpy() if kind else None
    else:
        import numpy
        content = numpy.ascontiguousarray(tensor)
        kind = _NUMPY_TYPES.get(content.dtype.newbyteorder("<").str)
        if kind:
            content = content.astype(content.dtype.newbyteorder("<"), copy=False)
    if kind is None:
        raise TypeError(f"the tensor {name} has the type {tensor.dtype}, which a safetensors file can't store")
    return kind, list(tensor.shape), content


def write_safetensors(path, tensors):
    """Writes tensors of torch or numpy as a safetensors file. The format is so simple that no library is needed."""
    header, parts, offset = {}, [], 0
    for name, tensor in tensors.items():
        if not hasattr(tensor, "dtype"):
            raise TypeError(f"the entry {name} of the state dict is a {type(tensor).__name__} and not a tensor")
        kind, shape, content = _bytes(name, tensor)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + content.nbytes]}
        offset += content.nbytes
        parts.append(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for content in parts:
            file.write(content.tobytes())
