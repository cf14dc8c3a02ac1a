"""Makes the tables and pictures of the group `paper`: figure 3 and table 2 of the paper, as published and at small
scale."""
import math

from linearise.charts import line_chart
from study.markdown import table

GROUP = "paper"
SEEDS = (1, 2)  # The seeds after seed 0.
STARTS = {"": "random numbers", "-pool": "means"}  # Maps the end of a run's name to the first values of E and F.
FIGURES = {  # For each part of figure 3, the title, and the runs with their names in the picture.
    "a": ("n = 512", {"n512-transformer": "Transformer", "n512-k256": "k = 256", "n512-k128": "k = 128",
                      "n512-k64": "k = 64", "n512-k32": "k = 32"}),
    "b": ("n = 1,024", {"n1024-transformer": "Transformer", "n1024-k256": "k = 256", "n1024-k128": "k = 128",
                        "n1024-k64": "k = 64"}),
    "c": ("sharing at n = 512, k = 128", {"n512-transformer": "Transformer", "n512-k128": "headwise: E and F",
                                          "n512-k128-keyvalue": "key-value: E = F",
                                          "n512-k128-layerwise": "layerwise: one matrix"}),
    "d": ("k = 64", {"n512-k64": "n = 512", "n1024-k64": "n = 1,024", "n2048-k64": "n = 2,048",
                     "n4096-k64": "n = 4,096"})}
SAYS = {  # For each part, the paper's statement, and the two runs that are compared.
    "a": ("the Linformer is better the larger k is, and with k = 128 at n = 512 it is nearly on par with the "
          "Transformer", "n512-k128", "n512-transformer"),
    "b": ("with k = 256 at n = 1,024 the Linformer is nearly on par with the Transformer", "n1024-k256",
          "n1024-transformer"),
    "c": ("one matrix for all layers is almost as good as separate matrices", "n512-k128-layerwise", "n512-k128"),
    "d": ("with k = 256, the final perplexities are about the same for n = 512 to n = 4,096", "n4096-k64", "n512-k64")}
REMARKS = {"n512-transformer": "Transformer", "n512-transformer-frequencies": "Transformer, random queries and keys",
           "n512-k128-pool": "k = 128, means", "n512-w16k64": "a window of 16 beside k = 64, means"}
# The accuracies of the models with n = 512 in table 2 of the paper, for SST-2, IMDB, QNLI and QQP.
TABLE_2 = {"n512-transformer": ("Transformer (RoBERTa-base)", 93.1, 94.1, 90.9, 90.9),
           "n512-k128": ("Linformer, k = 128", 92.4, 94.0, 90.4, 90.2),
           "n512-k128-keyvalue": ("the same, E = F", 93.4, 93.4, 90.3, 90.3),
           "n512-k128-layerwise": ("the same, one matrix", 93.2, 93.8, 90.1, 90.2),
           "n512-k256": ("Linformer, k = 256", 93.2, 94.0, 90.6, 90.5)}
PAPERS_TASKS = ("SST-2", "IMDB", "QNLI", "QQP")
TASKS = {"sst2": "SST-2", "imdb": "IMDB", "mrpc": "MRPC"}
DASH = "-"
LEAST_GAIN = 0.05  # The smallest gain, in nats, of a model that uses context.


def measured(context, name):
    found = context.result(GROUP, name)
    return None if found is None else found["measured"]


def run_name(name, start):
    """Returns the name of the run in which a model has these first values of E and F. A Transformer has only one
    run."""
    return name if "transformer" in name else name + start


def gain(made):
    """Returns how far the loss of a model is below the loss of the best guess without context, in nats."""
    return made["without_context"] - made["loss"]


def two_cells(made):
    return (DASH, DASH) if made is None else (f"{made['perplexity']:.1f}", f"{gain(made):+.3f}")


def figure_table(context, lines):
    rows = []
    for name, title in lines.items():
        made = [measured(context, run_name(name, start)) for start in STARTS]
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
    return table(("model, n = 512", "perplexity", "gain", "perplexity, book", "perplexity, Wikipedia",
                  "perplexity without context"), rows)


def settings_text(context):
    found = context.result(GROUP, "n512-transformer")
    if found is None:
        return ""
    chosen = found["settings"]
    return (f"Each model has {chosen['layers']} layers of width {chosen['width']} with {chosen['heads']} heads, and "
            f"{chosen['vocabulary']:,} byte-level pieces. It is trained for {chosen['steps']:,} steps of "
            f"{chosen['tokens']:,} tokens. The paper's models have 12 layers of width 768, and are trained for 250,000 "
            "steps on 3,300 million words. ")


def on_the_plateau(context):
    """Returns sentences about the models that haven't learned to use context."""
    names = dict.fromkeys(run_name(name, start) for _, lines in FIGURES.values() for name in lines for start in STARTS)
    found = {name: measured(context, name) for name in names}
    found = {name: made for name, made in found.items() if made is not None}
    flat = [name for name, made in found.items() if gain(made) < LEAST_GAIN]
    if not flat:
        return f"All {len(found)} models measured here have a gain of at least {LEAST_GAIN} nats. " if found else ""
    named = ", ".join(f"`{name}`" for name in flat)
    return (f"{len(flat)} of the {len(found)} models measured here have a gain below {LEAST_GAIN} nats: {named}. They "
            "have learned how frequent tokens are, but little more. Differences between them say nothing about the "
            "paper's claim. Whether they would learn more with many more steps is open. ")


def compared(context, name, with_name):
    """Returns sentences that compare the losses of two models for each kind of first values, if both have results."""
    made = ""
    for start, words in STARTS.items():
        names = run_name(name, start), run_name(with_name, start)
        one, other = (measured(context, part) for part in names)
        if one is None or other is None:
            continue
        share = f", and its gain is {100 * gain(one) / gain(other):.0f} %" if gain(other) >= LEAST_GAIN else ""
        made += (f"With E and F from {words}, the perplexity of `{names[1]}` is {other['perplexity']:.1f} and that of "
                 f"`{names[0]}` is {one['perplexity']:.1f}. Relative to the former, the loss of the latter differs by "
                 f"{one['loss'] - other['loss']:+.3f} nats{share}. ")
    return made


def seeds_text(context):
    lines = []
    for name in ("n512-transformer", "n512-k128-pool"):
        made = [measured(context, one) for one in (name, *(f"{name}-seed{seed}" for seed in SEEDS))]
        values = [f"{one['perplexity']:.1f}" for one in made if one is not None]
        if len(values) > 1:
            lines.append(f"`{name}` has a perplexity of {', '.join(values)} with {len(values)} seeds")
    return f"The seeds show how much is chance: {'; '.join(lines)}. " if lines else ""


def pretraining_report(context):
    parts = []
    for letter, (title, lines) in FIGURES.items():
        claim, *names = SAYS[letter]
        parts += [f"### Figure 3({letter}): {title}"]
        parts += [f"![figure 3({letter}), E and F from {words}](pictures/figure3{letter}{start}.svg)"
                  for start, words in STARTS.items() if series(context, lines, start)]
        parts += [figure_table(context, lines), f"The paper: {claim}. Here: {compared(context, *names) or DASH}"]
    return parts + [
        "### Remarks: the first weights, and a window", remarks_table(context),
        "In runs of minutes a model doesn't learn by itself that neighbours matter. The output's bias therefore begins "
        "with the frequencies of tokens. The queries and keys of all models begin with values at which heads with full "
        "attention attend to the positions one or two before or after their own. In the second row, queries and keys "
        "are random. Random E and F, as in the authors' program, mix all positions, so a Linformer with them must "
        "still learn which positions are neighbours. E and F that begin as means of neighbouring positions keep these "
        "apart from the others. Random E and F are trained at the rate of the other weights. Means are trained at a "
        "tenth of it, because a higher rate soon fills the zeros beside them. The vocabulary has few pieces beyond the "
        "256 bytes, because a model with fewer pieces needs fewer examples to learn which pieces are neighbours."]


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
            run = run_name(name, start)
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
            "Accuracies are in percent, with the standard error that follows from the number of test texts. MRPC asks "
            "whether two sentences mean the same. It replaces QQP, which the study doesn't have. If the pretrained "
            "Transformer isn't clearly better in a task than the Transformer without pretraining and than the most "
            "frequent label, the task can't tell these models apart. This is expected for MRPC: a model must be "
            "pretrained with far more text before it can compare sentences."]


def report(context):
    """Returns the section of the study about the paper's figure 3 and table 2, in Markdown."""
    parts = [
        "## The paper at small scale",
        "Small encoders are pretrained to guess masked tokens, on eleven books and on WikiText-2. Their model files "
        "are measured with `linformer perplexity` on another book and on other articles. " + settings_text(context)
        + "The numbers are therefore not those of the paper. Only the differences between the models can be compared.",
        "A model that uses no other tokens can still guess by frequency, and see the 1 in 10 chosen tokens that aren't "
        "masked. The column `gain` shows how far a model's loss is below that of the best guess of this kind, in nats. "
        "E and F begin with random numbers, as in the authors' program, or with means of neighbouring positions. "
        + on_the_plateau(context) + seeds_text(context)]
    parts += pretraining_report(context) + tuning_report(context)
    return "\n\n".join(wrapped(part.strip()) for part in parts) + "\n"


def wrapped(part):
    """Breaks a paragraph into lines of at most 118 characters. Tables, headings and pictures aren't changed."""
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
    """Returns the curves of the runs that have results, or an empty list if no Linformer has one."""
    found = {name: measured(context, run_name(name, start)) for name in lines}
    found = {name: made for name, made in found.items() if made is not None}
    if all("transformer" in name for name in found):
        return []
    return [(lines[name], [(step, math.exp(loss)) for step, loss in made["curve"]]) for name, made in found.items()]


def pictures(context):
    """Returns a dict from file names to SVG pictures of the validation perplexity by step, as in figure 3. Runs without
    a result are left out."""
    made = {}
    for letter, (title, lines) in FIGURES.items():
        for start, words in STARTS.items():
            drawn = series(context, lines, start)
            if drawn:
                made[f"figure3{letter}{start}.svg"] = line_chart(
                    f"{title}; E and F from {words}", "steps", "validation perplexity", drawn, log_y=True)
    return made
