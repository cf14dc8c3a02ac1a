"""The tables and pictures of the group `paper`: figure 3 and table 2 of the paper, as published and at small scale."""
import math

from linearise.charts import line_chart

GROUP = "paper"
SEEDS = (1, 2)  # beside seed 0
FIGURES = {  # of figure 3: the title, and the runs with their names in the picture
    "a": ("n = 512", {"n512-transformer": "Transformer", "n512-k256": "k = 256", "n512-k128": "k = 128",
                      "n512-k64": "k = 64", "n512-k32": "k = 32"}),
    "b": ("n = 1,024", {"n1024-transformer": "Transformer", "n1024-k256": "k = 256", "n1024-k128": "k = 128",
                        "n1024-k64": "k = 64"}),
    "c": ("sharing at n = 512, k = 128", {"n512-transformer": "Transformer", "n512-k128": "headwise: E and F",
                                          "n512-k128-keyvalue": "key-value: E = F",
                                          "n512-k128-layerwise": "layerwise: one matrix"}),
    "d": ("k = 64", {"n512-k64": "n = 512", "n1024-k64": "n = 1,024", "n2048-k64": "n = 2,048",
                     "n4096-k64": "n = 4,096"})}
REMARKS = {"n512-transformer": "Transformer", "n512-k128": "k = 128, random E and F", "n512-k128-pool":
           "k = 128, E and F begin as means of neighbours", "n512-w16k64": "window of 16 beside k = 64"}
# Table 2 of the paper: SST-2, IMDB, QNLI, QQP of the models with n = 512.
TABLE_2 = {"n512-transformer": ("Transformer (RoBERTa-base)", 93.1, 94.1, 90.9, 90.9),
           "n512-k128": ("Linformer, k = 128", 92.4, 94.0, 90.4, 90.2),
           "n512-k128-keyvalue": ("the same, E = F", 93.4, 93.4, 90.3, 90.3),
           "n512-k128-layerwise": ("the same, one matrix", 93.2, 93.8, 90.1, 90.2),
           "n512-k256": ("Linformer, k = 256", 93.2, 94.0, 90.6, 90.5)}
TASKS = {"sst2": "SST-2", "imdb": "IMDB", "mrpc": "MRPC"}
DASH = "-"
LEAST_GAIN = 0.05  # nats below the guess without context, from which on a model is said to use context


def measured(context, name):
    found = context.result(GROUP, name)
    return None if found is None else found["measured"]


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def table(head, rows):
    return "\n".join([row(*head), row(*["---"] * len(head)), *(row(*cells) for cells in rows)])


def gain(made):
    """Returns the nats that a model's loss is below that of the best guess without context."""
    return made["without_context"] - made["loss"]


def figure_table(context, lines):
    rows = []
    for name, title in lines.items():
        made = measured(context, name)
        if made is None:
            rows.append((title, *[DASH] * 6))
            continue
        parts = (f"{math.exp(made['held_out'][part]['loss']):.1f}" for part in ("book", "wikipedia"))
        rows.append((title, f"{made['matrix_parameters']:,}", f"{made['perplexity']:.1f}", *parts,
                     f"{math.exp(made['without_context']):.1f}", f"{gain(made):+.3f}"))
    return table(("model", "numbers in E and F", "perplexity", "book", "Wikipedia", "without context", "gain"), rows)


def settings_text(context):
    found = context.result(GROUP, "n512-transformer")
    if found is None:
        return ""
    chosen = found["settings"]
    return (f"Each model has {chosen['layers']} layers of width {chosen['width']} with {chosen['heads']} heads, and "
            f"{chosen['vocabulary']:,} byte-level pieces. It is trained for {chosen['steps']:,} steps of "
            f"{chosen['tokens']:,} tokens; the paper's models have 12 layers of width 768 and 250,000 steps. ")


def on_the_plateau(context):
    """Returns a sentence about the models that haven't learned to use other tokens."""
    names = dict.fromkeys(name for _, lines in FIGURES.values() for name in lines)
    found = {name: measured(context, name) for name in names}
    found = {name: made for name, made in found.items() if made is not None}
    if not found:
        return ""
    flat = [name for name, made in found.items() if gain(made) < LEAST_GAIN]
    if not flat:
        return (f"All {len(found)} models of the tables use context: their gains are {LEAST_GAIN} nats at least. ")
    named = ", ".join(f"`{name}`" for name in flat)
    return (f"The gain of {len(flat)} of the {len(found)} models is below {LEAST_GAIN} nats: {named}. They have learned "
            "how frequent tokens are and little else, and differences between them say nothing about the paper's claim. ")


def compared(context, name, with_name):
    """Returns a sentence that compares the losses of two models, or an empty one where a result is missing."""
    one, other = measured(context, name), measured(context, with_name)
    if one is None or other is None:
        return ""
    share = f", and {100 * gain(one) / gain(other):.0f} % of its gain" if gain(other) >= LEAST_GAIN else ""
    return (f"`{name}` has a perplexity of {one['perplexity']:.1f} where `{with_name}` has {other['perplexity']:.1f}: "
            f"a loss of {one['loss'] - other['loss']:+.3f} nats beside it{share}. ")


def seeds_text(context):
    lines = []
    for name in ("n512-transformer", "n512-k128"):
        made = [measured(context, one) for one in (name, *(f"{name}-seed{seed}" for seed in SEEDS))]
        values = [f"{one['perplexity']:.1f}" for one in made if one is not None]
        if len(values) > 1:
            lines.append(f"`{name}` has {', '.join(values)} with {len(values)} seeds")
    return f"How much chance decides: {'; '.join(lines)}. " if lines else ""


def spread_over_lengths(context):
    made = [measured(context, name) for name in FIGURES["d"][1]]
    values = [one["perplexity"] for one in made if one is not None]
    if len(values) < 2:
        return ""
    return f"Here the perplexities lie between {min(values):.1f} and {max(values):.1f}. "


def pretraining_report(context):
    says = {
        "a": "The paper: the Linformer is better the larger k is, and with k = 128 at n = 512 it is nearly on par with "
             "the Transformer. Here: " + (compared(context, "n512-k128", "n512-transformer") or DASH),
        "b": "The paper: with k = 256 at n = 1,024 the Linformer is nearly on par with the Transformer. Here: "
             + (compared(context, "n1024-k256", "n1024-transformer") or DASH),
        "c": "The paper: one matrix for all layers almost matches matrices of their own. Here: "
             + (compared(context, "n512-k128-layerwise", "n512-k128") or DASH),
        "d": "The paper, with k = 256: the final perplexities are about the same for all n. "
             + (spread_over_lengths(context) or DASH)}
    parts = []
    for letter, (title, lines) in FIGURES.items():
        parts += [f"### Figure 3({letter}): {title}", f"![figure 3{letter}](figure3{letter}.svg)",
                  figure_table(context, lines), says[letter].strip()]
    parts += ["### Remarks: what E and F begin with, and a window", figure_table(context, REMARKS),
              ("E and F of the tables above begin with random numbers, as in the authors' program. "
               + compared(context, "n512-k128-pool", "n512-k128")
               + compared(context, "n512-w16k64", "n512-transformer")).strip()]
    return parts


def cell(context, task, name):
    made = measured(context, f"tune-{task}-{name}")
    if made is None:
        return DASH
    share = made["accuracy"]
    return f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / made['texts']):.1f}"


def tuning_report(context):
    rows = [(title, *(f"{value:.1f}" for value in paper), *(cell(context, task, name) for task in TASKS))
            for name, (title, *paper) in TABLE_2.items()]
    rows.append(("Transformer without pretraining", *[DASH] * 4, *(cell(context, task, "unpretrained") for task in TASKS)))
    frequent = []
    for task in TASKS:
        made = [measured(context, f"tune-{task}-{name}") for name in (*TABLE_2, "unpretrained")]
        made = [one for one in made if one is not None]
        frequent.append(f"{100 * made[0]['most_frequent']:.1f}" if made else DASH)
    rows.append(("the most frequent label for all texts", *[DASH] * 4, *frequent))
    head = ("model, n = 512", *(f"{name}, paper" for name in ("SST-2", "IMDB", "QNLI", "QQP")),
            *(f"{name}, here" for name in TASKS.values()))
    return ["### Table 2: accuracy after fine-tuning", table(head, rows),
            "Accuracies are in percent, with the standard error that follows from the number of test texts. MRPC, which "
            "asks whether two sentences mean the same, stands in the place of QQP, which the study doesn't have. A task in "
            "which the pretrained Transformer isn't clearly above the one without pretraining, or above the most frequent "
            "label, can't tell these models apart. That is expected of MRPC: what pairs of sentences need is learned from "
            "far more text than this."]


def report(context):
    """Returns the section of the study about the paper's figure 3 and table 2, in Markdown."""
    parts = [
        "## The paper at small scale",
        "Small encoders are pretrained to guess masked tokens, on eleven books and on WikiText-2, and measured on another "
        "book and on other articles, by `linformer perplexity` on their model files. " + settings_text(context)
        + "So the numbers can't be the paper's. What can be compared is how the models stand to each other.",
        "A model that looks at no other token can still guess by frequency, and use the 1 in 10 chosen tokens that stay "
        "visible. The column `without context` is the perplexity of the best such guess, and `gain` is what a model's "
        "loss is below that guess, in nats. " + on_the_plateau(context) + seeds_text(context)]
    parts += pretraining_report(context) + tuning_report(context)
    return "\n\n".join(wrapped(part.strip()) for part in parts) + "\n"


def wrapped(part):
    """Breaks a paragraph into lines of at most 118 characters. Tables, headings and pictures stay as they are."""
    if part.startswith(("|", "#", "!")):
        return part
    lines, line = [], ""
    for word in part.split():
        if line and len(line) + 1 + len(word) > 118:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return "\n".join([*lines, line])


def pictures(context):
    """Returns file name -> SVG: validation perplexity by step, as in figure 3. Runs without a result are left out."""
    made = {}
    for letter, (title, lines) in FIGURES.items():
        series = []
        for name, label in lines.items():
            found = measured(context, name)
            if found is not None:
                series.append((label, [(step, math.exp(loss)) for step, loss in found["curve"]]))
        if series:
            made[f"figure3{letter}.svg"] = line_chart(f"Figure 3({letter}) at small scale: {title}", "steps",
                                                      "validation perplexity", series, log_y=True)
    return made
