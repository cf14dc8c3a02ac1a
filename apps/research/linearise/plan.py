"""Reads and writes plans. A plan says for each layer whether its attention stays full, or becomes a window, compressed
keys, or both."""
import dataclasses
import re

from linearise.errors import UserError

MOST_ROWS = 65536  # The largest k and the largest window.


@dataclasses.dataclass(frozen=True)
class LayerPlan:
    """The attention of one layer that isn't full. config.json stores it, and the converter reads it.

    k: the number of compressed rows of keys and of values, or 0 for a window alone.
    window: how many positions to each side a row attends to directly, or 0 for no window.
    exact_tokens: ids of tokens. The key and the value of each token's first occurrence replace one of the first
        compressed rows. Only a layer with a window has exact tokens.
    span: the number of positions that the other compressed rows stand for, in order. In a text of n tokens, only the
        first rows_seen(n) rows take part. If 0, all rows always take part. Only a layer with a window has a span.
    """
    k: int = 0
    window: int = 0
    exact_tokens: tuple = ()
    span: int = 0

    def rows_seen(self, n):
        """Returns how many of the k rows take part in a text of n tokens. `n` may be a tensor of whole numbers."""
        if self.span == 0:
            return n * 0 + self.k
        exact = len(self.exact_tokens)
        rows = exact + ((self.k - exact) * n + self.span - 1) // self.span
        beyond = n > self.window + 1  # If each window covers the whole text, no compressed row takes part.
        if isinstance(n, int):
            return min(rows, self.k) if beyond else 0
        return rows.clamp(max=self.k) * beyond

    def setting(self):
        """Returns the entry of config.json."""
        return {"k": self.k, "window": self.window, "exact_tokens": list(self.exact_tokens), "span": self.span}

    def kind(self):
        """Returns the notation that parse() reads, such as w64k64."""
        return (f"w{self.window}" if self.window else "") + (f"k{self.k}" if self.k else "")


def kind_of(layer):
    return "full" if layer is None else layer.kind()


def describe(plan):
    """Returns the notation of a plan, in which equal layers in a row are counted, such as 5*w64k64,full."""
    kinds = [kind_of(layer) for layer in plan]
    parts, first = [], 0
    for i in range(1, len(kinds) + 1):
        if i < len(kinds) and kinds[i] == kinds[first]:
            continue
        parts.append((f"{i - first}*" if i - first > 1 else "") + kinds[first])
        first = i
    return ",".join(parts)


def make_layer(k, window, exact_tokens, span):
    """Returns the plan of one layer, or None if it stays full because k and window are 0. A layer without a window or
    without compressed rows gets neither exact tokens nor a span."""
    if not 0 <= k <= MOST_ROWS or not 0 <= window <= MOST_ROWS:
        raise UserError(f"k = {k} and window = {window} must be between 0 and {MOST_ROWS}.")
    if k == 0 and window == 0:
        return None
    if k == 0 or window == 0:
        return LayerPlan(k, window)
    if len(exact_tokens) > k:
        raise UserError(f"k = {k} has no room for {len(exact_tokens)} exact tokens: give a larger --k, or --no-exact.")
    return LayerPlan(k, window, tuple(exact_tokens), span)


def parse(text, layers, exact_tokens, span):
    """Reads a plan such as `5*w64k64,full`: one part for each layer, or one part for all of them."""
    plan = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(?:(\d{1,4})\*)?(full|(?:w(\d{1,6}))?(?:k(\d{1,6}))?)\s*", part)
        if not match or not match.group(2):
            raise UserError(f"{part.strip()!r} in the plan is not a layer: write full, k128, w64 or w64k64, or "
                            "5*w64k64 for five equal layers.")
        layer = make_layer(int(match.group(4) or 0), int(match.group(3) or 0), exact_tokens, span)
        plan += [layer] * (int(match.group(1)) if match.group(1) else 1)
        if len(plan) > layers:
            break
    if len(plan) == 1:
        plan *= layers
    if len(plan) != layers:
        raise UserError(f"the plan {text!r} has {'more than ' if len(plan) > layers else ''}{min(len(plan), layers)} "
                        f"layers, and the model has {layers}.")
    return plan


def read_setting(setting):
    """Returns the plan from the setting `linformer` of a student's config.json."""
    return [None if layer is None else LayerPlan(layer["k"], layer["window"], tuple(layer.get("exact_tokens", ())),
                                                 layer.get("span", 0)) for layer in setting["layers"]]


def as_setting(plan):
    return {"layers": [None if layer is None else layer.setting() for layer in plan]}
