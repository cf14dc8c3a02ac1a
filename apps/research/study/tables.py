"""Writes RESULTS.md and its pictures from the results of the runs."""
import statistics

from linearise.charts import line_chart
from linearise.files import write_text
from study import controls, labels, pretraining, theorems
from study.markdown import standard_error, table

HEAD = """# Results of the study

`python -m study --tables` makes this file from the JSON files in [results](results). [README.md](README.md) describes
the experiments. A dash stands for a run without a result.
"""


def mean_and_error(values, digits):
    """Returns the mean and its standard error over the seeds. A single value has no error, and no value gives a
    dash."""
    if not values:
        return "-"
    error = standard_error(values)
    return f"{statistics.mean(values):.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def values_of(context, plan, part, key):
    made = (context.result(controls.GROUP, f"{controls.safe(plan)}-seed{seed}") for seed in range(controls.SEEDS))
    return [one["measured"][part][key] for one in made if one is not None and part in one["measured"]]


def paired(context, first, second, part, key):
    """Returns the mean of first - second over the seeds that both have, its standard error, and the number of seeds.
    Returns None if fewer than two seeds have both."""
    pairs = []
    for seed in range(controls.SEEDS):
        made = [context.result(controls.GROUP, f"{controls.safe(plan)}-seed{seed}") for plan in (first, second)]
        if all(one is not None for one in made):
            pairs.append(made[0]["measured"][part][key] - made[1]["measured"][part][key])
    if len(pairs) < 2:
        return None
    return statistics.mean(pairs), standard_error(pairs), len(pairs)


def controls_report(context):
    parts = ["whole", *map(str, controls.LENGTHS)]
    head = ["plan", "seeds"] + [f"{'whole texts' if part == 'whole' else f'n = {part}'}, {name}" for part in parts
                                for name in ("mean", "p5")] + ["neighbours kept"]
    rows = []
    for plan in controls.PLANS:
        cells = [mean_and_error(values_of(context, plan, part, key), 4) for part in parts for key in ("mean", "p5")]
        seeds = len(values_of(context, plan, "whole", "mean"))
        rows.append([f"`{plan}`", str(seeds), *cells,
                     mean_and_error(values_of(context, plan, "whole", "neighbours_kept"), 3)])
    made = ("\n## The controls\n\nThe table has the cosine of the student's vector and the vector of its teacher "
            f"(all-MiniLM-L6-v2) after {controls.STEPS} steps of 2,048 tokens: the mean and the 5th percentile over "
            "held-out texts. The texts are whole texts of 30 to 512 tokens, and longer texts cut to n tokens. `w64` is "
            "a window alone. `w64k2` is the window with exact keys of [CLS] and [SEP] and no compressed keys. `w64k64` "
            "has 62 compressed keys beside them. ± is the standard error over the seeds.\n\n" +
            table(head, rows))
    made += "\n" + controls_sentence(context) + "\n"
    rows = []
    for plan in ("w64k64", "k64", "k128"):
        cells = []
        for kind in ("pool", "stride", "svd", "fit"):
            one = context.result(controls.GROUP, f"start-{controls.safe(plan)}-{kind}")
            cells.append("-" if one is None else f"{one['measured']['512']['mean']:.4f}")
        rows.append([f"`{plan}`", *cells])
    return made + ("\nMean cosine at n = 512 before training, for each kind of first values of E and F:\n\n" +
                   table(["plan", "pool", "stride", "svd", "fit"], rows))


def controls_sentence(context):
    found = paired(context, "w64k64", "w64k2", "512", "mean")
    if found is None:
        return "Whether the compressed keys improve the student is open: `w64k64` and `w64k2` share fewer than 2 seeds."
    difference, error, seeds = found
    sure = abs(difference) > 2 * error
    words = ("The compressed keys improve the student" if sure and difference > 0 else
             "The compressed keys make the student worse" if sure else
             "These runs can't decide whether the compressed keys improve the student")
    return (f"**{words}**: at n = 512, the mean cosine of `w64k64` differs by {difference:+.4f} ± {error:.4f} from "
            f"that of `w64k2`, which has the same window, exact tokens and training ({seeds} seeds, paired).")


def theorems_report(context):
    rows = []
    for error in theorems.ERRORS:
        one = context.result(theorems.GROUP, f"minilm-{round(100 * error)}")
        for line in one["measured"]["lengths"] if one else []:
            rows.append([f"{error:g}", str(line["n"]), *(show(line[name], line["n"]) for name in theorems.COLUMNS)])
    return ("\n## The theorems\n\nThe table has the smallest k at which an approximation of P V of a head has at most "
            "the relative error E. Theorems 1 and 2 give bounds of k, with a constant of 1 for both Θ. `Projected` is "
            "measured with Gaussian random matrices of n columns (five draws), and `expected` is computed for the mean "
            "over all of these matrices. `Singular` keeps the k largest singular values of P, which gives the matrix "
            "of rank k nearest to P. `Half` is enough for half of the model's 72 heads, and `all` for each of them. `> "
            "n` means that k = n isn't enough. `Columns within E` and `rows within E` are the shares of the columns of "
            "V and of the rows of P for which the inequality of the theorem before them is true at its k. The texts "
            "are the 8 longest held-out texts.\n\n" +
            table(["E", "n", *theorems.COLUMNS.values()], rows or [["-"] * (2 + len(theorems.COLUMNS))]) +
            "\nTheorem 1 compares the error with |p w|, but the error of a random projection depends on the norms of p "
            "and w. If p and w are nearly orthogonal, the k of Theorem 1 is too small, as the share of columns shows. "
            "Theorem 2 compares the error with the norms, and its inequality holds. Its k stops growing with n if "
            "9 d ln d < 5 ln n. For d = 32 no text is long enough for that, so at these lengths both bounds grow with "
            "ln n. The measured k of the singular values grows more slowly than n for half of the heads.\n")


def show(value, n):
    return f"> {n:,}" if value is None else f"{value:,}" if isinstance(value, int) else f"{100 * value:.0f} %"


def theorems_pictures(context):
    made = {}
    for error in theorems.ERRORS:
        one = context.result(theorems.GROUP, f"minilm-{round(100 * error)}")
        if one is None:
            continue
        lines = one["measured"]["lengths"]
        series = []
        for name in ("theorem_1", "theorem_2", "projected_half", "expected_half", "singular_half", "singular_all"):
            points = [(line["n"], line[name]) for line in lines if line[name]]
            if points:
                series.append((theorems.COLUMNS[name], points))
        made[f"theorems-{round(100 * error)}.svg"] = line_chart(f"k for a relative error of {error:g}", "n", "k",
                                                               series, log_x=True, log_y=True)
    return made


def controls_pictures(context):
    """Returns two pictures: on the scale of pure Linformers, the lines of plans with windows would overlap."""
    kinds = {"windows": [plan for plan in controls.PLANS if "w" in plan],
             "pure": [plan for plan in controls.PLANS if "w" not in plan]}
    made = {}
    for kind, plans in kinds.items():
        series = []
        for plan in plans:
            values = [(length, values_of(context, plan, str(length), "mean")) for length in controls.LENGTHS]
            points = [(length, statistics.mean(of), standard_error(of) or 0.0) for length, of in values if of]
            if points:
                series.append((plan, points))
        if series:
            made[f"controls-{kind}.svg"] = line_chart("Cosine with the teacher after the same training",
                                                      "tokens of a text", "mean cosine", series, log_x=True)
    return made


def write(context):
    """Writes RESULTS.md and the folder with the pictures beside the folder of the results."""
    pictures = {**controls_pictures(context), **labels.pictures(context), **pretraining.pictures(context),
                **theorems_pictures(context)}
    folder = context.results.parent / "pictures"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.svg"):
        if old.name not in pictures:
            old.unlink()
    for name, picture in pictures.items():
        write_text(folder / name, picture)
    def shown(prefix):
        return "".join(f"\n![{name[:-4]}](pictures/{name})\n" for name in sorted(pictures) if name.startswith(prefix))
    text = (HEAD + controls_report(context) + shown("controls") + "\n" + labels.report(context) + shown("labels") +
            "\n" + pretraining.report(context) + theorems_report(context) + shown("theorems"))
    write_text(context.results.parent / "RESULTS.md", text)
