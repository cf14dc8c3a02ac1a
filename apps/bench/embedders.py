#!/usr/bin/env python3
"""Times the ways in which Python programs embed sentences, in turns, in one run.

They are sentence-transformers with PyTorch, ONNX Runtime and OpenVINO, fastembed, and linformer_cpp, each as its
documentation recommends.

    python3 apps/bench/embedders.py --model all-MiniLM-L6-v2/ --texts sentences.txt --count 3000 --threads 2

Needs linformer_cpp; engines whose packages are missing are left out. Prints sentences a second (of the fastest turn and
of the median), and the cosines to what PyTorch computes in f32.
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ENGINES = {  # name: the packages that it needs
    "torch f32": ("sentence_transformers",), "torch bf16": ("sentence_transformers",),
    "onnx f32": ("sentence_transformers", "optimum.onnxruntime"),
    "onnx int8": ("sentence_transformers", "optimum.onnxruntime"),
    "openvino f32": ("sentence_transformers", "optimum.intel"),
    "openvino bf16": ("sentence_transformers", "optimum.intel"),
    "openvino int8": ("sentence_transformers", "optimum.intel", "datasets", "nncf"),
    "fastembed f32": ("fastembed", "optimum.onnxruntime"), "fastembed int8": ("fastembed", "optimum.onnxruntime"),
    "linformer_cpp f32": ("linformer_cpp",), "linformer_cpp bf16": ("linformer_cpp",),
    "linformer_cpp int8": ("linformer_cpp",)}


def torch_encoder(model, precision, options):
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(options["threads"])
    kwargs = {"dtype": torch.bfloat16} if precision == "bf16" else {}
    loaded = SentenceTransformer(model, device="cpu", model_kwargs=kwargs)
    return lambda texts: loaded.encode(texts, batch_size=32)


def onnx_model(options, precision):
    """The folder of a model that sentence-transformers exported; quantised as it recommends for this processor."""
    from sentence_transformers import SentenceTransformer, export_dynamic_quantized_onnx_model
    place = os.path.join(options["scratch"], "onnx")
    if not os.path.exists(place):
        SentenceTransformer(options["model"], device="cpu", backend="onnx",
                            model_kwargs={"export": True}).save_pretrained(place)
        loaded = SentenceTransformer(place, device="cpu", backend="onnx", model_kwargs={"file_name": "model.onnx"})
        export_dynamic_quantized_onnx_model(loaded, "avx512_vnni", place)
    names = os.listdir(os.path.join(place, "onnx"))
    quantised = [name for name in names if "qint8" in name]
    return place, "onnx/" + (quantised[0] if precision == "int8" else "model.onnx")


def onnx_encoder(model, precision, options):
    import onnxruntime
    from sentence_transformers import SentenceTransformer
    session = onnxruntime.SessionOptions()
    session.intra_op_num_threads = options["threads"]
    place, file = onnx_model(options, precision)
    loaded = SentenceTransformer(place, device="cpu", backend="onnx", model_kwargs={
        "file_name": file, "provider": "CPUExecutionProvider", "session_options": session})
    return lambda texts: loaded.encode(texts, batch_size=32)


def openvino_encoder(model, precision, options):
    from sentence_transformers import SentenceTransformer, export_static_quantized_openvino_model
    place = os.path.join(options["scratch"], "openvino")
    if not os.path.exists(place):
        loaded = SentenceTransformer(model, device="cpu", backend="openvino", model_kwargs={"export": True})
        loaded.save_pretrained(place)
        from optimum.intel import OVQuantizationConfig
        sample = os.path.join(options["scratch"], "calibration")
        os.makedirs(sample)
        with open(options["texts"], encoding="utf-8") as file, open(os.path.join(sample, "train.jsonl"), "w",
                                                                    encoding="utf-8") as out:
            out.writelines(json.dumps({"sentence": line.strip()}) + "\n" for line in list(file)[-300:])
        export_static_quantized_openvino_model(loaded, OVQuantizationConfig(), place, dataset_name=sample,
                                               dataset_config_name="default", dataset_split="train",
                                               column_name="sentence")
    names = os.listdir(os.path.join(place, "openvino"))
    quantised = [name for name in names if "qint8" in name and name.endswith(".xml")]
    settings = {"INFERENCE_NUM_THREADS": str(options["threads"]),
                "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32"}
    loaded = SentenceTransformer(place, device="cpu", backend="openvino", model_kwargs={
        "file_name": "openvino/" + (quantised[0] if precision == "int8" else "openvino_model.xml"),
        "ov_config": settings})
    return lambda texts: loaded.encode(texts, batch_size=32)


def fastembed_encoder(model, precision, options):
    import numpy as np
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType
    place, file = onnx_model(options, precision)
    pooling = {"mean": PoolingType.MEAN, "cls": PoolingType.CLS}[options["pooling"]]
    TextEmbedding.add_custom_model(model="the/model", pooling=pooling, normalization=True,
                                   sources=ModelSource(hf="the/model"), dim=options["width"], model_file=file)
    loaded = TextEmbedding("the/model", specific_model_path=place, threads=options["threads"],
                           providers=["CPUExecutionProvider"])
    return lambda texts: np.array(list(loaded.embed(texts, batch_size=32)))


def our_encoder(model, precision, options):
    import linformer_cpp
    place = os.path.join(options["scratch"], "converted")
    embedder = linformer_cpp.Embedder(linformer_cpp.load(model, dtype=precision, cache_dir=place),
                                      threads=options["threads"])
    return embedder.encode


ENCODERS = {"torch": torch_encoder, "onnx": onnx_encoder, "openvino": openvino_encoder, "fastembed": fastembed_encoder,
            "linformer_cpp": our_encoder}


def worker(options):
    """Answers each line of standard input with the seconds of an encoding, after one to warm up."""
    import numpy as np
    engine, precision = options["engine"].split()
    say, sys.stdout = sys.stdout, sys.stderr  # libraries print what they like
    with open(options["texts"], encoding="utf-8") as file:
        texts = [line.strip() for line in file if line.strip()][:options["count"]]
    encode = ENCODERS[engine](options["model"], precision, options)
    np.save(options["out"], np.asarray(encode(texts), np.float32))
    print(json.dumps("ready"), file=say, flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        encode(texts)
        print(json.dumps(time.perf_counter() - begin), file=say, flush=True)


SHAPES = {"bge-small": {"hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 12,
                        "intermediate_size": 1536},
          "bge-base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                       "intermediate_size": 3072}}


def random_model(shape, tokenizer, folder):
    """A folder of sentence-transformers with random weights, the vector of the first token, and another's tokenizer."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel
    torch.manual_seed(1)
    words = AutoTokenizer.from_pretrained(tokenizer)
    BertModel(BertConfig(vocab_size=len(words), **SHAPES[shape])).save_pretrained(folder + "-weights")
    words.save_pretrained(folder + "-weights")
    encoder = Transformer(folder + "-weights", max_seq_length=512)
    SentenceTransformer(modules=[encoder, Pooling(SHAPES[shape]["hidden_size"], pooling_mode="cls"), Normalize()],
                        device="cpu").save_pretrained(folder)
    return folder


class Engine:
    def __init__(self, name, options):
        self.name, self.times = name, []
        self.out = os.path.join(options["scratch"], name.replace(" ", "-") + ".npy")
        self._log = tempfile.TemporaryFile("w+")
        variables = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "",
                     "TOKENIZERS_PARALLELISM": "true", "OMP_NUM_THREADS": str(options["threads"]),
                     "RAYON_NUM_THREADS": str(options["threads"])}
        for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
            variables.pop(variable, None)
        given = json.dumps({**options, "engine": self.name, "out": self.out})
        self._process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker", given],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
                                         env=variables)
        self.error = None if self._answer() else self._why()

    def _answer(self):
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def _why(self):
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().strip().splitlines()
        return lines[-1] if lines else "it ended without a word"

    def turn(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.times.append(self._answer())

    def stop(self):
        self._process.kill()
        self._process.wait()


def has(packages):
    try:
        return all(importlib.util.find_spec(package) for package in packages)
    except ModuleNotFoundError:
        return False


def pooling_of(model):
    with open(os.path.join(model, "1_Pooling", "config.json"), encoding="utf-8") as file:
        pooling = json.load(file)
    if pooling.get("pooling_mode_cls_token") or pooling.get("pooling_mode") == "cls":
        return "cls", pooling["word_embedding_dimension"]
    return "mean", pooling["word_embedding_dimension"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", required=True, help="a folder of sentence-transformers")
    parser.add_argument("--shape", choices=sorted(SHAPES),
                        help="time a model of this shape with random weights, and --model's tokenizer")
    parser.add_argument("--texts", required=True, help="a text a line; the last 300 calibrate OpenVINO's int8")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--json")
    given = parser.parse_args()
    import numpy as np
    with tempfile.TemporaryDirectory(prefix="embedders-") as scratch:
        model = random_model(given.shape, given.model, os.path.join(scratch, "model")) if given.shape else given.model
        pooling, width = pooling_of(model)
        options = {"model": os.path.abspath(model), "texts": os.path.abspath(given.texts), "count": given.count,
                   "threads": given.threads, "scratch": scratch, "pooling": pooling, "width": width}
        engines = []
        for name in given.engines.split(","):
            if not has(ENGINES[name]):
                print(f"{name}: left out, {' or '.join(ENGINES[name])} isn't installed", file=sys.stderr)
                continue
            engine = Engine(name, options)
            if engine.error:
                print(f"{name}: {engine.error}", file=sys.stderr)
            else:
                engines.append(engine)
        for number in range(given.rounds):
            for engine in engines if number % 2 == 0 else reversed(engines):
                time.sleep(0.2)  # threads that spin after a call come to rest
                engine.turn()
        rows, reference = [], None
        for engine in engines:
            engine.stop()
            vectors = np.load(engine.out)
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
            reference = vectors if reference is None else reference
            cosines = (vectors * reference).sum(axis=1)
            rows.append({"engine": engine.name, "sentences_per_second": given.count / min(engine.times),
                         "median": given.count / statistics.median(engine.times), "mean_cosine": float(cosines.mean()),
                         "least_cosine": float(cosines.min())})
    print(f"{'engine':20} {'best':>8} {'median':>8}  mean and least cosine to {engines[0].name}")
    for row in rows:
        print(f"{row['engine']:20} {row['sentences_per_second']:8.0f} {row['median']:8.0f}  {row['mean_cosine']:.6f} "
              f"{row['least_cosine']:.6f}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"count": given.count, "threads": given.threads, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(json.loads(sys.argv[2]))
    else:
        main()
