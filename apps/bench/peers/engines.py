"""Loads and runs models in each engine. Only workers import this module, so that each process loads only its engine."""
import json
import os
import sys

import numpy as np

from . import framing


def load_onnxruntime(path, spec):
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = spec["threads"], 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda **inputs: session.run(None, inputs)[0]


def load_openvino(path, spec):
    import openvino
    settings = {"INFERENCE_NUM_THREADS": spec["threads"], "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    # For the parts of an int8 model that aren't int8, OpenVINO chooses the precision.
    if spec["precision"] in ("f32", "bf16"):
        settings["INFERENCE_PRECISION_HINT"] = spec["precision"]
    request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()

    def call(**inputs):
        request.infer(inputs, share_inputs=True)
        return request.get_output_tensor().data

    return call


def load_graph(spec):
    return load_onnxruntime(spec["graph"], spec) if spec["engine"] == "onnxruntime" else load_openvino(
        spec["graph"], spec)


def start_torch(spec):
    import torch
    torch.set_num_threads(spec["threads"])
    torch.set_grad_enabled(False)
    return torch, torch.bfloat16 if spec["precision"] == "bf16" else torch.float32


def version(engine):
    from importlib.metadata import version
    return version({"pytorch": "torch", "reformer": "transformers"}.get(engine, engine))


class Encode:
    """Encodes one text of token ids, which is the same in each call."""

    def __init__(self, spec):
        self.ids = np.load(spec["ids"])
        if spec["engine"] == "pytorch":
            torch, dtype = start_torch(spec)
            from .torch_encoder import Encoder
            model = Encoder(spec["weights"], spec["shape"], self.ids.shape[1]).to(dtype).eval()
            ids = torch.from_numpy(self.ids)
            self.call = torch.inference_mode()(lambda: model(ids).float().numpy())
        else:
            model = load_graph(spec)
            self.call = lambda: model(ids=self.ids)  # OpenVINO returns the same array in each call.
        self.call()


class Model:
    """Encodes one text with a model of transformers."""

    def __init__(self, spec):
        self.ids = np.load(spec["ids"])
        if spec["engine"] == "pytorch":
            torch, dtype = start_torch(spec)
            from transformers import AutoModel
            model = AutoModel.from_pretrained(spec["folder"], dtype=dtype, **spec["arguments"]).eval()
            ids = torch.from_numpy(self.ids)
            self.call = torch.inference_mode()(lambda: model(input_ids=ids).last_hidden_state.float().numpy())
        else:
            graph = load_graph(spec)
            self.call = lambda: graph(ids=self.ids)
        self.call()


class Reformer:
    """Runs layers with LSH attention. The rows are inputs, so that no embedding is timed."""

    def __init__(self, spec):
        torch, dtype = start_torch(spec)
        torch.manual_seed(spec["seed"])
        from transformers import ReformerConfig, ReformerModel
        n, d, heads, layers = spec["n"], spec["d"], spec["heads"], spec["layers"]
        config = ReformerConfig(
            attn_layers=["lsh"] * layers, hidden_size=d, attention_head_size=d // heads, num_attention_heads=heads,
            feed_forward_size=4 * d, hidden_act="gelu", lsh_attn_chunk_length=spec["chunk"],
            num_hashes=spec["hashes"], num_buckets=None, axial_pos_embds=False, max_position_embeddings=n,
            vocab_size=32, is_decoder=False, hash_seed=spec["seed"], use_cache=False)
        model = ReformerModel(config).eval().to(dtype)
        rows = torch.randn(1, n, d, dtype=dtype)
        self.call = torch.inference_mode()(lambda: model(inputs_embeds=rows).last_hidden_state)
        self.call()


class Texts:
    """Runs all texts in batches that are sorted by length and padded, as users of these engines do."""

    def __init__(self, spec):
        with open(spec["texts"], encoding="utf-8") as file:
            self.texts = json.load(file)
        # The texts are sorted by their numbers of characters, before they are tokenized, as in sentence-transformers.
        order = sorted(range(len(self.texts)), key=lambda i: -len(self.texts[i]))
        self.batches = [order[begin:begin + spec["batch"]] for begin in range(0, len(order), spec["batch"])]
        self.load(spec)
        # Warms up with the longest batch, one in the middle and the shortest.
        for index in sorted({0, len(self.batches) // 2, len(self.batches) - 1}):
            self.vectors(self.batches[index])

    def call(self):
        rows = [None] * len(self.texts)
        for batch in self.batches:
            for i, row in zip(batch, self.vectors(batch)):
                rows[i] = row
        return np.stack(rows)


class Sentences(Texts):
    def load(self, spec):
        self.tokenizer = framing.bert_tokenizer(spec["folder"], spec["longest"], spec["pad"])
        if spec["engine"] != "pytorch":
            self.model = load_graph(spec)
            return
        self.torch, dtype = start_torch(spec)
        from transformers import AutoModel
        self.model = AutoModel.from_pretrained(spec["folder"], dtype=dtype, add_pooling_layer=False).eval()

    def vectors(self, batch):
        ids, mask = framing.bert_batch(self.tokenizer, [self.texts[i] for i in batch])
        if hasattr(self, "torch"):
            with self.torch.inference_mode():
                ids, mask = self.torch.from_numpy(ids), self.torch.from_numpy(mask)
                hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
                mean = (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
                return self.torch.nn.functional.normalize(mean, dim=1).numpy()
        hidden = self.model(ids=ids, mask=mask)
        mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)


class Classify(Texts):
    def load(self, spec):
        self.longest = spec["longest"]
        self.tokenizer = framing.tokenizer(spec["folder"])
        if spec["engine"] != "pytorch":
            self.model = load_graph(spec)
            return
        self.torch, dtype = start_torch(spec)
        apps = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        sys.path.insert(0, os.path.join(apps, "train"))
        import checkpoint
        self.model = checkpoint.load(spec["folder"])[0].to(dtype)

    def vectors(self, batch):
        encoded = self.tokenizer.encode_batch([self.texts[i] for i in batch], add_special_tokens=False)
        ids, mask = framing.batch([one.ids for one in encoded], self.longest)
        if hasattr(self, "torch"):
            with self.torch.inference_mode():
                return self.model(self.torch.from_numpy(ids)).float().numpy()
        return self.model(ids=ids, mask=mask).copy()


TASKS = {"encode": Encode, "model": Model, "reformer": Reformer, "sentences": Sentences, "classify": Classify}
