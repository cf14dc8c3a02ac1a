"""Compares the outputs of two engines."""
import numpy as np


def differences(path, reference_path):
    """Returns the largest difference relative to the largest number, and the mean and the least cosine of rows.

    A row is a vector of the last axis.
    """
    ours, wanted = (np.load(p).astype(np.float64) for p in (path, reference_path))
    if ours.shape != wanted.shape:
        return {"error": f"an output of {ours.shape}, not {wanted.shape}"}
    rows, other = ours.reshape(-1, ours.shape[-1]), wanted.reshape(-1, wanted.shape[-1])
    length = np.linalg.norm(rows, axis=1) * np.linalg.norm(other, axis=1)
    cosine = (rows * other).sum(1) / np.maximum(length, 1e-300)
    return {"max_relative_difference": float(np.abs(ours - wanted).max() / np.abs(wanted).max()),
            "mean_cosine": float(cosine.mean()), "least_cosine": float(cosine.min())}


def compare_all(peers, outputs, reference):
    for peer in peers:
        if peer.error or reference.error:
            continue
        found = differences(outputs[peer], outputs[reference])
        peer.error = found.pop("error", None)
        peer.figures.update(found)


def shown(value, form):
    return "-" if value is None else format(value, form)
