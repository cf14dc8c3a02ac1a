"""Loads a model folder of sentence-transformers with each library, and embeds sentences with it.

Each ``*_encoder(model, precision, options)`` returns a function that takes a list of texts and returns an array of
vectors.
"""
import importlib.util
import json
import os

ENGINES = {  # The name of each engine, and the packages that it needs.
    "torch f32": ("sentence_transformers",), "torch bf16": ("sentence_transformers",),
    "onnx f32": ("sentence_transformers", "optimum.onnxruntime"),
    "onnx int8": ("sentence_transformers", "optimum.onnxruntime"),
    "openvino f32": ("sentence_transformers", "optimum.intel"),
    "openvino bf16": ("sentence_transformers", "optimum.intel"),
    "openvino int8": ("sentence_transformers", "optimum.intel", "datasets", "nncf"),
    "fastembed f32": ("fastembed", "optimum.onnxruntime"), "fastembed int8": ("fastembed", "optimum.onnxruntime"),
    "linformer_cpp f32": ("linformer_cpp",), "linformer_cpp bf16": ("linformer_cpp",),
    "linformer_cpp int8": ("linformer_cpp",)}


def has(packages):
    try:
        return all(importlib.util.find_spec(package) for package in packages)
    except ModuleNotFoundError:
        return False


def torch_encoder(model, precision, options):
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(options["threads"])
    kwargs = {"dtype": torch.bfloat16} if precision == "bf16" else {}
    loaded = SentenceTransformer(model, device="cpu", model_kwargs=kwargs)
    return lambda texts: loaded.encode(texts, batch_size=32)


def onnx_model(options, precision):
    """Exports the model to ONNX and quantises it, as sentence-transformers recommends for processors with AVX-512 VNNI.

    Returns the folder, and the name of the file for the precision.
    """
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
