"""The tables and pictures of the group `paper`: figure 3 and table 2 of the paper, as published and at small scale."""
import math

from linearise.charts import line_chart
from study.markdown import table

GROUP = "paper"
SEEDS = (1, 2)  # beside seed 0
STARTS = {"": "random numbers", "-pool": "means"}  # the end of a run's name, and what E and F begin with
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
SAYS = {  # the paper's statement, and the runs that are compared with each other
    "a": ("the Linformer is better the larger k is, and with k = 128 at n = 512 it is nearly on par with the "
          "Transformer", "n512-k128", "n512-transformer"),
    "b": ("with k = 256 at n = 1,024 the Linformer is nearly on par with the Transformer", "n1024-k256",
          "n1024-transformer"),
    "c": ("one matrix for all layers almost matches matrices of their own", "n512-k128-layerwise", "n512-k128"),
    "d": ("with k = 256, the final perplexities are about the same for n = 512 to n = 4,096", "n4096-k64", "n512-k64")}
REMARKS = {"n512-transformer": "Transformer", "n512-transformer-frequencies": "Transformer, no start at neighbours",
           "n512-k128-pool": "k = 128, means", "n512-w16k64": "a window of 16 beside k = 64, means"}
# Table 2 of the paper: SST-2, IMDB, QNLI, QQP of the models with n = 512.
TABLE_2 = {"n512-transformer": ("Transformer (RoBERTa-base)", 93.1, 94.1, 90.9, 90.9),
           "n512-k128": ("Linformer, k = 128", 92.4, 94.0, 90.4, 90.2),
           "n512-k128-keyvalue": ("the same, E = F", 93.4, 93.4, 90.3, 90.3),
           "n512-k128-layerwise": ("the same, one matrix", 93.2, 93.8, 90.1, 90.2),
           "n512-k256": ("Linformer, k = 256", 93.2, 94.0, 90.6, 90.5)}
PAPERS_TASKS = ("SST-2", "IMDB", "QNLI", "QQP")
TASKS = {"sst2": "SST-2", "imdb": "IMDB", "mrpc": "MRPC"}
DASH = "-"
LEAST_GAIN = 0.05  # nats below the guess without context, from which on a model is said to use context


def measured(context, name):
    found = context.result(GROUP, name)
    return None if found is None else found["measured"]


def started(name, start):
    """Returns the run of a model with this start of E and F. A Transformer has neither."""
    return name if "transformer" in name else name + start


def gain(made):
    """Returns the nats that a model's loss is below that of the best guess without context."""
    return made["without_context"] - made["loss"]


def two_cells(made):
    return (DASH, DASH) if made is None else (f"{made['perplexity']:.1f}", f"{gain(made):+.3f}")


def figure_table(context, lines):
    rows = []
    for name, title in lines.items():
        made = [measured(context, started(name, start)) for start in STARTS]
        known = [one for one in made if one is not None]
        size = f"{known[0]['matrix_parameters']:,}" if known else DASH
        rows.append((title, size, *(cell for one in made for cell in two_cells(one))))
    head = ["model", "numbers in E and F"]
    for start in STARTS.values():
        head += [f"perplexity, {start}", f"gain, {start}"]
    return table(head, rows)


def remarks_table(context):
    rows = []
    for name, title in REMARKS.items():
        made = measured(context, name)
        parts = ("book", "wikipedia")
        rows.append((title, *two_cells(made), *([DASH] * 3 if made is None else (
            *(f"{math.exp(made['held_out'][part]['loss']):.1f}" for part in parts),
            f"{math.exp(made['without_context']):.1f}"))))
    return table(("model, n = 512", "perplexity", "gain", "of the book", "of Wikipedia", "without context"), rows)


def settings_text(context):
    found = context.result(GROUP, "n512-transformer")
    if found is None:
        return ""
    chosen = found["settings"]
    return (f"Each model has {chosen['layers']} layers of width {chosen['width']} with {chosen['heads']} heads, and "
            f"{chosen['vocabulary']:,} byte-level pieces. It is trained for {chosen['steps']:,} steps of "
            f"{chosen['tokens']:,} tokens. The paper's models have 12 layers of width 768, and 250,000 steps on 3,300 "
            "million words. ")


def on_the_plateau(context):
    """Returns a sentence about the models that haven't learned to use other tokens."""
    names = dict.fromkeys(started(name, start) for _, lines in FIGURES.values() for name in lines for start in STARTS)
    found = {name: measured(context, name) for name in names}
    found = {name: made for name, made in found.items() if made is not None}
    flat = [name for name, made in found.items() if gain(made) < LEAST_GAIN]
    if not flat:
        return f"All {len(found)} models measured here have a gain of {LEAST_GAIN} nats at least. " if found else ""
    named = ", ".join(f"`{name}`" for name in flat)
    return (f"{len(flat)} of the {len(found)} models measured here have a gain below {LEAST_GAIN} nats: {named}. They "
            "have learned how frequent tokens are and little else. Differences between them say nothing about the "
            "paper's claim, and whether they would leave this plateau with many more steps is open. ")


def compared(context, name, with_name):
    """Returns sentences that compare the losses of two models for each start; empty where results are missing."""
    made = ""
    for start, words in STARTS.items():
        names = started(name, start), started(with_name, start)
        one, other = (measured(context, part) for part in names)
        if one is None or other is None:
            continue
        share = f", and {100 * gain(one) / gain(other):.0f} % of its gain" if gain(other) >= LEAST_GAIN else ""
        made += (f"With E and F from {words}, `{names[0]}` has a perplexity of "
                 f"{one['perplexity']:.1f} where `{names[1]}` has {other['perplexity']:.1f}: a loss that differs by "
                 f"{one['loss'] - other['loss']:+.3f} nats{share}. ")
    return made


def seeds_text(context):
    lines = []
    for name in ("n512-transformer", "n512-k128-pool"):
        made = [measured(context, one) for one in (name, *(f"{name}-seed{seed}" for seed in SEEDS))]
        values = [f"{one['perplexity']:.1f}" for one in made if one is not None]
        if len(values) > 1:
            lines.append(f"`{name}` has a perplexity of {', '.join(values)} with {len(values)} seeds")
    return f"Chance decides so much: {'; '.join(lines)}. " if lines else ""


def pretraining_report(context):
    parts = []
    for letter, (title, lines) in FIGURES.items():
        claim, *names = SAYS[letter]
        parts += [f"### Figure 3({letter}): {title}"]
        parts += [f"![figure 3({letter}), E and F from {words}](figure3{letter}{start}.svg)"
                  for start, words in STARTS.items() if series(context, lines, start)]
        parts += [figure_table(context, lines), f"The paper: {claim}. Here: {compared(context, *names) or DASH}"]
    return parts + [
        "### Remarks: where models begin, and a window", remarks_table(context),
        "Runs of minutes are too short for a model to find out by itself that neighbours matter. So the output's bias "
        "begins with the frequencies of tokens, and the heads of all models begin with queries and keys that, in full "
        "attention, look one or two positions back or ahead. The second row is without the latter. E and F that are "
        "random, as in the authors' program, mix all positions, so such a Linformer must still find its neighbours; "
        "E and F that begin as means of neighbouring positions keep them apart from the others. Random E and F are "
        "trained at the rate of the other weights, and means at a tenth of it, since a higher rate soon fills the "
        "zeros beside them. The vocabulary is little more than the bytes, because the fewer pieces there are, the "
        "fewer examples show which of them are neighbours."]


def cell(context, task, name):
    made = measured(context, f"tune-{task}-{name}")
    if made is None:
        return DASH
    share = made["accuracy"]
    return f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / made['texts']):.1f}"


def tuning_report(context):
    rows, names = [], []
    for name, (title, *paper) in TABLE_2.items():
        for start, words in STARTS.items():
            run = started(name, start)
            if run not in names and (start or name in ("n512-transformer", "n512-k128")):
                names.append(run)
                rows.append((title + ("" if run == name == "n512-transformer" else f", {words}"),
                             *(f"{value:.1f}" for value in paper), *(cell(context, task, run) for task in TASKS)))
    names.append("unpretrained")
    rows.append(("Transformer without pretraining", *[DASH] * 4, *(cell(context, task, names[-1]) for task in TASKS)))
    frequent = []
    for task in TASKS:
        made = [one for one in (measured(context, f"tune-{task}-{name}") for name in names) if one is not None]
        frequent.append(f"{100 * made[0]['most_frequent']:.1f}" if made else DASH)
    rows.append(("the most frequent label for all texts", *[DASH] * 4, *frequent))
    head = ("model, n = 512", *(f"{name}, paper" for name in PAPERS_TASKS),
            *(f"{name}, here" for name in TASKS.values()))
    return ["### Table 2: accuracy after fine-tuning", table(head, rows),
            "Accuracies are in percent, with the standard error that follows from the number of test texts. MRPC, "
            "which asks whether two sentences mean the same, stands in the place of QQP, which the study doesn't have. "
            "A task in which the pretrained Transformer isn't clearly above the one without pretraining, or above the "
            "most frequent label, can't tell these models apart. That is expected of MRPC: what pairs of sentences "
            "need is learned from far more text than this."]


def report(context):
    """Returns the section of the study about the paper's figure 3 and table 2, in Markdown."""
    parts = [
        "## The paper at small scale",
        "Small encoders are pretrained to guess masked tokens, on eleven books and on WikiText-2, and measured on "
        "another book and on other articles, by `linformer perplexity` on their model files. " + settings_text(context)
        + "So the numbers can't be the paper's. What can be compared is how the models stand to each other.",
        "A model that looks at no other token can still guess by frequency, and use the 1 in 10 chosen tokens that "
        "stay visible. The column `gain` is what a model's loss is below that of the best such guess, in nats. E and F "
        "begin with random numbers, as in the authors' program, or as means of neighbouring positions. "
        + on_the_plateau(context) + seeds_text(context)]
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


def series(context, lines, start):
    """Returns the curves of the runs that are there; none where no Linformer is."""
    found = {name: measured(context, started(name, start)) for name in lines}
    found = {name: made for name, made in found.items() if made is not None}
    if all("transformer" in name for name in found):
        return []
    return [(lines[name], [(step, math.exp(loss)) for step, loss in made["curve"]]) for name, made in found.items()]


def pictures(context):
    """Returns file name -> SVG: validation perplexity by step, as in figure 3. Runs without a result are left out."""
    made = {}
    for letter, (title, lines) in FIGURES.items():
        for start, words in STARTS.items():
            drawn = series(context, lines, start)
            if drawn:
                made[f"figure3{letter}{start}.svg"] = line_chart(
                    f"{title}; E and F from {words}", "steps", "validation perplexity", drawn, log_y=True)
    return made
