"""Makes the files that engines load: models, graphs, and graphs that an engine's tools quantise. A worker runs it."""
import logging
import os

import numpy as np

from . import weights as w


def run(spec):
    logging.disable(logging.WARNING)
    kind = spec["kind"]
    if kind == "graph":
        weights, shape = w.load(spec["weights"]), w.Shape(**spec["shape"])
        from . import graphs
        graphs.write(spec["out"], weights, shape, spec["fused"], spec.get("n"), spec.get("masked", False),
                     spec.get("classifier", False))
    elif kind == "model":
        from . import models
        models.write_model(spec)
    elif kind == "model graph":
        from . import model_graphs
        model_graphs.write(spec["out"], spec["folder"], spec["n"], spec["fused"])
    elif kind == "onnxruntime int8":
        from onnx import TensorProto
        from onnxruntime.quantization import QuantType, quantize_dynamic
        # DefaultTensorType is for the results of ONNX Runtime's own operators, whose type ONNX can't infer.
        quantize_dynamic(spec["graph"], spec["out"], weight_type=QuantType.QInt8,
                         extra_options={"DefaultTensorType": TensorProto.FLOAT})
    elif kind == "openvino":
        import openvino
        openvino.save_model(openvino.Core().read_model(spec["graph"]), spec["out"], compress_to_fp16=False)
    elif kind == "openvino int8":
        import nncf
        import openvino
        inputs = np.load(spec["calibration"], allow_pickle=False)
        items = [{name[len(f"{i}_"):]: inputs[name] for name in inputs.files if name.startswith(f"{i}_")}
                 for i in range(spec["calibrations"])]
        model = nncf.quantize(openvino.Core().read_model(spec["graph"]), nncf.Dataset(items),
                              subset_size=len(items), model_type=nncf.ModelType.TRANSFORMER)
        openvino.save_model(model, spec["out"], compress_to_fp16=False)
    if not os.path.exists(spec["out"]):
        raise RuntimeError(f"{spec['out']} was not written")
