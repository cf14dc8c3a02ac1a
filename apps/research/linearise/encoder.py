"""Loads, runs and saves encoders of `transformers` whose attention follows a plan."""
import contextlib
import copy
import dataclasses
import io
import json
import logging
import pathlib
import shutil
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional

from linearise.attention import Batch, Compression
from linearise.errors import UserError
from linearise.families import IMPLEMENTATION, POSITIONS, Attentions, check_family, replace_attention
from linearise.files import atomic_write, write_json
from linearise.plan import as_setting, read_setting

TENSORS = "linformer.layers.{}.{}"  # The name of a matrix: the layer's index, then "keys" or "values".
NOT_COPIED = {".safetensors", ".bin", ".pt", ".h5", ".msgpack", ".onnx", ".lnfr", ".ot", ".gguf"}
WEIGHTS_INDEX = ("model.safetensors.index.json", "pytorch_model.bin.index.json")

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
logging.getLogger("transformers").setLevel(logging.ERROR)


@dataclasses.dataclass
class Output:
    """What an encoder computes. `hidden` has the hidden states of the embedding and of each layer, [batch, n, width]
    each. `vector`, [batch, width], has length 1, and is None if the model has logits. `logits` is [batch, classes] for
    a classifier, and [batch, n, classes] for a head that answers for each token."""
    hidden: list
    vector: torch.Tensor = None
    logits: torch.Tensor = None


@dataclasses.dataclass(frozen=True)
class ModelFolder:
    """A folder with a model of transformers, or with a model of sentence-transformers that contains one."""
    folder: pathlib.Path       # The folder that the caller gave.
    transformer: pathlib.Path  # The folder with config.json and the weights.
    pooling: str               # mean, cls or max
    sentence: bool             # Whether it is a folder of sentence-transformers.


def read_json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{path} can't be read: {error}.") from None


def read_folder(folder):
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: give the folder of a model with its config.json.")
    modules = folder / "modules.json"
    transformer, pooling, sentence = folder, "mean", False
    if modules.exists():
        sentence = True
        for module in read_json(modules):
            kind, path = module["type"].rsplit(".", 1)[-1], folder / module["path"]
            if kind == "Transformer":
                transformer = path
            elif kind == "Pooling":
                pooling = pooling_mode(read_json(path / "config.json"), path)
    if not (transformer / "config.json").exists():
        raise UserError(f"{transformer} has no config.json: give the folder of a model as Hugging Face saves it.")
    return ModelFolder(folder, transformer, pooling, sentence)


def pooling_mode(config, path):
    modes = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max"}
    chosen = [mode for name, mode in modes.items() if config.get(name)]
    if not chosen and config.get("pooling_mode") in modes.values():
        chosen = [config["pooling_mode"]]
    if len(chosen) != 1:
        raise UserError(f"{path} has a kind of pooling that isn't supported: only mean, cls and max are.")
    return chosen[0]


def first_position(config):
    """Returns the row of the position table for the first token of a text."""
    if config.model_type == "mpnet":
        return 2  # MPNet's first row doesn't depend on the id of its padding.
    return config.pad_token_id + 1 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0


def most_positions(config):
    return config.max_position_embeddings - first_position(config)


class Encoder(nn.Module):
    """A model of transformers with its tokenizer and a plan with its matrices. It computes the same as the runtime."""

    def __init__(self, files, model, tokenizer, plan, compressions):
        super().__init__()
        self.files, self.model, self.tokenizer, self.plan = files, model, tokenizer, plan
        self.compressions = nn.ModuleDict({str(i): c for i, c in compressions.items()})
        self.attentions = Attentions(plan, {int(i): c for i, c in self.compressions.items()})
        replace_attention(model, self.attentions)
        self.classifies = type(model).__name__.endswith("ForSequenceClassification")
        # A masked-LM head is saved with the model but not run: its many logits depend only on the hidden states.
        self.tags = type(model).__name__.endswith(("ForTokenClassification", "ForQuestionAnswering"))
        self.inner = model if self.classifies or self.tags else model.base_model

    @property
    def config(self):
        return self.model.config

    @property
    def layers(self):
        return self.config.num_hidden_layers

    @property
    def positions(self):
        return most_positions(self.config)

    def forward(self, ids, mask, types=None, hidden=True):
        batch = Batch(ids, mask)
        self.attentions.begin(batch)
        inputs = {"input_ids": ids, "attention_mask": mask, "output_hidden_states": hidden}
        if types is not None and getattr(self.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = types
        made = self.inner(**inputs)
        states = list(made.hidden_states) if hidden else []
        if self.classifies:
            return Output(states, logits=made.logits)
        if self.tags:
            logits = made.logits if "logits" in made else torch.stack([made.start_logits, made.end_logits], 2)
            return Output(states, logits=logits)
        return Output(states, vector=self.pool(made.last_hidden_state, batch.valid))

    def pool(self, states, valid):
        if self.files.pooling == "cls":
            pooled = states[:, 0]
        elif self.files.pooling == "max":
            pooled = states.masked_fill(~valid[:, :, None], float("-inf")).amax(1)
        else:
            weights = valid[:, :, None].to(states.dtype)
            pooled = (states * weights).sum(1) / weights.sum(1)
        return functional.normalize(pooled.float(), dim=1)

    def word_embedding(self):
        return self.model.get_input_embeddings().weight

    def labels(self):
        return [str(self.config.id2label[i]) for i in range(self.config.num_labels)]

    def save(self, folder, length):
        """Writes a folder that `linformer-convert` reads without options. Its texts may have up to `length` tokens."""
        folder = pathlib.Path(folder)
        transformer = folder / self.files.transformer.relative_to(self.files.folder) if self.keeps_kind() else folder
        copy_side_files(self.files, folder, self.keeps_kind())
        transformer.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as temporary, self.as_loaded():
            self.model.save_pretrained(temporary, max_shard_size="1TB")
            tensors = load_file(str(pathlib.Path(temporary) / "model.safetensors"))
            own = read_json(pathlib.Path(temporary) / "config.json")
        tensors = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
        for i, compression in self.compressions.items():
            tensors[TENSORS.format(i, "keys")] = compression.keys.detach().float().cpu().clone()
            if compression.values is not None:
                tensors[TENSORS.format(i, "values")] = compression.values.detach().float().cpu().clone()
        with atomic_write(transformer / "model.safetensors") as path:
            save_file(tensors, str(path), metadata={"format": "pt"})
        config = read_json(self.files.transformer / "config.json")
        for name in ("max_position_embeddings", "architectures", "id2label", "label2id", "problem_type"):
            if name in own:
                config[name] = own[name]
        for name in ("torch_dtype", "dtype", "auto_map"):
            config.pop(name, None)
        config.pop("linformer", None)
        config["max_seq_length"] = length  # The matrices have columns for so many tokens.
        if any(layer is not None for layer in self.plan):
            config["linformer"] = as_setting(self.plan)
        write_json(transformer / "config.json", config)
        set_length(folder, transformer, length)

    def keeps_kind(self):
        """Returns whether save() keeps the layout of the folder. If the model of a folder of sentence-transformers got
        a classifier, save() writes a plain folder of transformers."""
        return not (self.classifies and self.files.sentence)

    @contextlib.contextmanager
    def as_loaded(self):
        self.model.config._attn_implementation = "eager"
        try:
            yield
        finally:
            self.model.config._attn_implementation = IMPLEMENTATION


def copy_side_files(files, folder, keeps_kind):
    source = files.folder if keeps_kind else files.transformer
    if folder.resolve() == source.resolve():
        raise UserError(f"the output {folder} is the folder of the model: give another folder with -o.")
    for path in sorted(source.rglob("*") if keeps_kind else source.iterdir()):
        relative = path.relative_to(source)
        hidden = any(part.startswith(".") for part in relative.parts)
        in_weights = relative.parts[0] in ("onnx", "openvino") if len(relative.parts) > 1 else False
        sentence = not keeps_kind and path.name in ("modules.json", "sentence_bert_config.json",
                                                    "config_sentence_transformers.json")
        if (not path.is_file() or hidden or in_weights or sentence or path.name in WEIGHTS_INDEX or
                (path.suffix in NOT_COPIED and path.parent == files.transformer)):
            continue
        (folder / relative).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / relative) as copy:
            shutil.copyfile(path, copy)


def set_length(folder, transformer, length):
    """Writes the largest number of tokens of a text to the files of the tokenizer and of sentence-transformers that
    have this number."""
    for path, name in ((transformer / "tokenizer_config.json", "model_max_length"),
                       (transformer / "sentence_bert_config.json", "max_seq_length"),
                       (folder / "sentence_bert_config.json", "max_seq_length")):
        if path.exists():
            value = read_json(path)
            value[name] = length
            write_json(path, value)
    path = transformer / "tokenizer.json"
    if path.exists():
        value = read_json(path)
        if value.get("truncation"):
            value["truncation"]["max_length"] = length
            write_json(path, value)


def model_class(config, classes):
    if classes:
        return transformers.AutoModelForSequenceClassification
    name = (config.architectures or ["AutoModel"])[0]
    found = getattr(transformers, name, None)
    return transformers.AutoModel if found is None else found


def load(folder, plan=None, compressions=None, positions=0, extend="tile", classes=None, seed=0):
    """Loads a model from a folder.

    `plan` has a LayerPlan for each layer, or None for a layer that stays full. If `plan` is None, all layers stay full.
    `compressions` maps the index of a layer to its Compression. A text may have at least `positions` tokens. If the
    model allows fewer, its table of positions is extended as `extend` says. `classes` are the names of the classes of a
    new head, which is initialised from `seed`. If it is None, the model keeps its own head.
    """
    files = read_folder(folder)
    try:
        config = transformers.AutoConfig.from_pretrained(files.transformer)
        check_family(config)
        tokenizer = transformers.AutoTokenizer.from_pretrained(files.transformer)
        options = {"attn_implementation": "eager", "dtype": torch.float32}
        if classes:
            options.update(num_labels=len(classes), id2label=dict(enumerate(classes)),
                           label2id={name: i for i, name in enumerate(classes)})
        torch.manual_seed(seed)
        model = quietly(lambda: model_class(config, classes).from_pretrained(files.transformer, **options))
    except UserError:
        raise
    except Exception as error:  # transformers raises exceptions of many types if the folder isn't a model.
        raise UserError(f"{folder} can't be loaded: {str(error).splitlines()[0]}") from None
    if positions > most_positions(model.config):
        model = extended(model, positions, extend)
    tokenizer.model_max_length = max(positions, most_positions(model.config))
    layers = model.config.num_hidden_layers
    encoder = Encoder(files, model, tokenizer, plan or [None] * layers, compressions or {})
    return encoder.eval()


def load_student(folder):
    """Loads a folder that save() wrote."""
    files = read_folder(folder)
    setting = read_json(files.transformer / "config.json").get("linformer")
    if setting is None:
        return load(folder)
    plan, tensors, compressions = read_setting(setting), load_file(str(files.transformer / "model.safetensors")), {}
    for i, layer in enumerate(plan):
        keys = tensors.get(TENSORS.format(i, "keys"))
        if layer is not None and keys is not None:
            compressions[i] = Compression(layer, keys, tensors.get(TENSORS.format(i, "values")))
    return load(folder, plan, compressions)


def quietly(call):
    """Calls a function of transformers and suppresses its output, such as the warning about a new head."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return call()


def extended(model, positions, how):
    """Returns a model that reads texts of up to `positions` tokens. The new rows of its position table repeat the old
    ones (tile) or are interpolated between them (interpolate). A model with rotary positions has no table."""
    first, old = first_position(model.config), most_positions(model.config)
    config = copy.deepcopy(model.config)
    config.max_position_embeddings = positions + first
    larger = type(model)._from_config(config, attn_implementation="eager")
    state = model.state_dict()
    if POSITIONS[config.model_type] != "rotary":
        names = [name for name in state if name.endswith("embeddings.position_embeddings.weight")]
        if len(names) != 1:
            raise UserError("the model has no table of positions that can be extended.")
        table = state[names[0]]
        state[names[0]] = torch.cat([table[:first], extend_table(table[first:first + old], positions, how)])
    state = {name: tensor for name, tensor in state.items()
             if name in larger.state_dict() and tensor.shape == larger.state_dict()[name].shape}
    missing = set(larger.state_dict()) - set(state)
    computed = ("position_ids", "token_type_ids", "embed_positions.weight")
    unexpected = [name for name in missing if not name.endswith(computed)]
    if unexpected:
        raise UserError(f"the position table can't be extended: {sorted(unexpected)[0]} has no values.")
    larger.load_state_dict(state, strict=False)
    return larger


def extend_table(table, positions, how):
    """Returns a table with `positions` rows. With `tile`, the rows between the first and the last are repeated, so that
    the tokens of a long text have the rows that they would have in windows of the model's own length (windows.py)."""
    if how == "tile":
        rows = torch.arange(positions) - 1
        return table[torch.where(rows < 0, 0, 1 + rows % (len(table) - 2))].clone()
    wide = functional.interpolate(table.T[None], size=positions, mode="linear", align_corners=True)
    return wide[0].T.contiguous()
