"""Writes fairseq checkpoint files, and reads them without running code that a file names."""

import collections
import dataclasses
import os
import pickle
import pickletools
import zipfile

import torch

from config import ModelConfig, UserError, sharing_of
from linformer_model import HEAD_NAME, LinformerClassifier

CHECKPOINT_NAME = "checkpoint.pt"
LABELS_NAME = "labels.txt"
PREFIX = "encoder.sentence_encoder."
ALLOWED_GLOBALS = {
    "argparse Namespace", "collections OrderedDict", "torch._utils _rebuild_tensor_v2",
    "torch FloatStorage", "torch HalfStorage", "torch LongStorage"}
# Opcodes that name a global and that torch.save does not write with its usual protocol.
INDIRECT_GLOBALS = {"STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"}


def save(model, config, labels, encoder, folder, half, progress):
    """Saves the model. The checkpoint is written last and renamed, so that a broken run leaves no partial file."""
    state = collections.OrderedDict()
    copies = {}
    for name, tensor in model.state_dict().items():
        # All names of a shared tensor refer to one copy, so that they share storage in the file too.
        key = (tensor.data_ptr(), tuple(tensor.shape))
        if key not in copies:
            narrowed = tensor.half() if half and tensor.is_floating_point() else tensor
            copies[key] = narrowed.detach().cpu().clone()
        state[name] = copies[key]
    namespace = config.to_namespace()
    content = {
        "args": None,
        "cfg": {"_name": None, "common": {"_name": None, "fp16": False, **progress["common"]},
                "model": namespace, "task": namespace, "criterion": namespace},
        "model": state,
        "criterion": None,
        "optimizer_history": [{"criterion_name": "SentencePredictionCriterion",
                               "optimizer_name": "FairseqAdam", "lr_scheduler_state": {},
                               "num_updates": progress["updates"]}],
        "task_state": {},
        "extra_state": {"best": progress["best"], "epoch": progress["epoch"]},
    }
    temporary = os.path.join(folder, CHECKPOINT_NAME + ".tmp")
    try:
        encoder.save(folder)
        with open(os.path.join(folder, LABELS_NAME), "w", encoding="utf-8") as file:
            file.writelines(label + "\n" for label in labels)
        with open(temporary, "wb") as file:
            torch.save(content, file)
        os.replace(temporary, os.path.join(folder, CHECKPOINT_NAME))
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}") from error


def refuse_code(path):
    """Raises UnpicklingError if a file names anything except tensors and plain containers.

    Unpickling calls the functions that a file names. torch.load(weights_only=True) does not know argparse.Namespace,
    and PyTorch 1.13.0 ignores its pickle_module argument, so the opcodes are checked before loading.
    """
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith(".pkl"):
                continue
            for opcode, argument, _ in pickletools.genops(archive.read(entry)):
                if opcode.name == "GLOBAL" and argument not in ALLOWED_GLOBALS:
                    raise pickle.UnpicklingError("it names " + argument.replace(" ", "."))
                if opcode.name in INDIRECT_GLOBALS:
                    raise pickle.UnpicklingError(f"it uses {opcode.name}")


def load(folder, **changes):
    """Reads a folder that save() wrote. Returns (model, config, labels), with the model in evaluation mode and float32.

    `changes` are values of the config that training may change, such as dropout.
    """
    path = os.path.join(folder, CHECKPOINT_NAME)
    labels_path = os.path.join(folder, LABELS_NAME)
    try:
        refuse_code(path)
        content = torch.load(path, map_location="cpu", weights_only=False)
        with open(labels_path, encoding="utf-8") as file:
            labels = file.read().splitlines()
    except FileNotFoundError as error:
        raise UserError(f"{error.filename}: no such file") from error
    except Exception as error:  # torch.load raises many kinds of errors for a damaged file.
        raise UserError(f"{path}: cannot be read ({first_line(error)})") from error
    try:
        state = content["model"]
        config = dataclasses.replace(config_of(state, content["cfg"]["model"]), **changes)
        model = LinformerClassifier(config)
        model.load_state_dict({
            name: tensor.float() if tensor.is_floating_point() else tensor
            for name, tensor in state.items()})
    except (KeyError, AttributeError, TypeError, RuntimeError, ZeroDivisionError) as error:
        raise UserError(f"{path}: not a checkpoint of this program ({first_line(error)})") from error
    if len(labels) != config.classes:
        raise UserError(f"{labels_path}: {len(labels)} labels, the model has {config.classes} classes")
    return model.eval(), config, labels


def config_of(state, arguments):
    """Returns the config. Sizes come from the tensors, and other values from fairseq's arguments."""
    vocab_size, d_model = state[PREFIX + "embed_tokens.weight"].shape
    k, max_tokens = state[PREFIX + "layers.0.self_attn.compress_k.weight"].shape
    return ModelConfig(
        vocab_size=vocab_size, max_tokens=max_tokens, k=k, d_model=d_model,
        layers=arguments.encoder_layers, heads=arguments.encoder_attention_heads,
        ffn=state[PREFIX + "layers.0.fc1.weight"].shape[0],
        classes=state[f"classification_heads.{HEAD_NAME}.out_proj.weight"].shape[0],
        sharing=sharing_of(arguments.shared_kv_compressed, arguments.shared_layer_kv_compressed),
        dropout=arguments.dropout, pooler_dropout=arguments.pooler_dropout)


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]
