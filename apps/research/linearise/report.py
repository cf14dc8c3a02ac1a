"""Writes the report of a run: report.json, and report.html without scripts."""
import html
import math

from linearise.charts import line_chart
from linearise.files import write_json, write_text

STYLE = """body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0 1.4em}
th,td{border-bottom:1px solid #ccc;padding:.2em .8em;text-align:right}
th:first-child,td:first-child{text-align:left}
.verdict{border-left:4px solid #1b5e9e;padding:.3em 1em;background:#f3f6fa}
svg{max-width:100%;height:auto}"""

# The limits of verdict().
FASTER = 1.3         # The smallest ratio of the teacher's time to the student's that is worth a training run.
NEAR = 0.97          # The smallest mean cosine at which the student's vectors can replace the teacher's.
NEAR_CLASSES = 2.0   # The accuracy may be this number of standard errors of the difference below the teacher's.
NEAR_AGREEMENT = 0.95


def verdict(report):
    """Returns a sentence that says whether the student is worth using, and why."""
    compared = report["compared"]
    reasons, good = [], True
    if compared["kind"] == "vectors":
        mean = compared["cosine"]["mean"]
        good &= mean >= NEAR
        reasons.append(f"its vectors have a mean cosine of {mean:.3f} with the teacher's")
    elif "difference" in compared:
        difference, error = compared["difference"]["value"], compared["difference"]["error"]
        good &= difference > -max(NEAR_CLASSES * error, 0.005)
        reasons.append(f"its accuracy is {100 * compared['accuracy']['value']:.1f} %, {100 * difference:+.1f} points "
                       f"(standard error {100 * error:.1f}) from the teacher's")
    elif "agreement" in compared:
        value = compared["agreement"]["value"]
        good &= value >= NEAR_AGREEMENT
        reasons.append(f"{100 * value:.1f} % of its answers are the same as the teacher's")
    elif "accuracy" in compared:
        reasons.append(f"its accuracy is {100 * compared['accuracy']['value']:.1f} %")
    speed = report.get("speed")
    if not speed:
        return f"Whether to use the student is not decided: {' and '.join(reasons)}, but the speed was not measured."
    last = speed[-1]
    ratio = last["teacher"]["ms"] / last["student"]["ms"]
    fast = ratio >= FASTER
    reasons.append(f"it takes {last['student']['ms']:.1f} ms for a text of {last['n']} tokens, {ratio:.2f} times as "
                   "fast as the teacher")
    shorter = next((row["n"] for row in speed if row["teacher"]["ms"] / row["student"]["ms"] >= FASTER), None)
    if good and fast:
        where = f" for texts of {shorter} tokens and more" if shorter and shorter > speed[0]["n"] else ""
        return f"The student is worth using{where}: {' and '.join(reasons)}."
    if good:
        return f"The student is not worth using at this length: {' and '.join(reasons)}. Try it with longer texts."
    return (f"The student is not worth using as it is: {' and '.join(reasons)}. Train it longer, or give a larger --k "
            "or --window.")


def write(report, folder):
    report["verdict"] = verdict(report)
    write_json(folder / "report.json", report)
    write_text(folder / "report.html", page(report))


def table(head, rows):
    cells = "".join(f"<th>{html.escape(c)}</th>" for c in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>\n" for row in rows)
    return f"<table><tr>{cells}</tr>\n{body}</table>\n"


def percent(value):
    return f"{100 * value['value']:.1f} ± {100 * value['error']:.1f} %"


def quality(compared):
    made = "<h2>Answers</h2>\n"
    if compared["kind"] == "vectors":
        rows = [[f"{row['from']} to {row['to']} tokens", row["texts"], f"{row['mean']:.4f}", f"{row['p5']:.4f}",
                 f"{row['least']:.4f}"] for row in compared["by_length"]]
        all_texts = compared["cosine"]
        rows.append(["all", all_texts["texts"], f"{all_texts['mean']:.4f}", f"{all_texts['p5']:.4f}",
                     f"{all_texts['least']:.4f}"])
        made += "<p>The cosine of the student's vector and the teacher's vector on held-out texts.</p>\n"
        made += table(["length", "texts", "mean", "5th percentile", "least"], rows)
        made += line_chart("Cosine by length", "tokens of a text", "mean cosine",
                           [("mean", [(row["to"], row["mean"]) for row in compared["by_length"]]),
                            ("5th percentile", [(row["to"], row["p5"]) for row in compared["by_length"]])], log_x=True)
        kept = compared["neighbours_kept"]
        if kept:
            made += (f"<p>Of the {kept['of']} held-out texts that are nearest to a text, {100 * kept['share']:.1f} % "
                     "are the same with the student's vectors. An index of the teacher's vectors can't be used with "
                     "the student: it must be built again.</p>\n")
        return made
    rows = []
    if "accuracy" in compared:
        rows.append(["accuracy of the student", percent(compared["accuracy"])])
    if "teacher_accuracy" in compared:
        rows.append(["accuracy of the teacher", percent(compared["teacher_accuracy"])])
        rows.append(["difference", percent(compared["difference"])])
    if "agreement" in compared:
        rows.append(["same answer as the teacher", percent(compared["agreement"])])
    made += table(["held-out texts", "share ± standard error"], rows)
    if "by_length" in compared:
        made += table(["length", "texts", "same answer"],
                      [[f"{row['from']} to {row['to']} tokens", row["texts"], f"{100 * row['mean']:.1f} %"]
                       for row in compared["by_length"]])
    return made


def speed_section(report):
    speed = report.get("speed")
    if not speed:
        return f"<h2>Speed</h2>\n<p>{html.escape(report.get('speed_note', 'The speed was not measured.'))}</p>\n"
    made = ("<h2>Speed and memory</h2>\n<p>Measured by <code>linformer bench</code>: one text at a time, "
            f"{report['threads']} threads. Matrix products in int8 shorten the times of both models, so attention has "
            "a larger share of them.</p>\n")
    if report.get("teacher_positions", 1 << 30) < speed[-1]["n"]:
        made += (f"<p>The teacher reads at most {report['teacher_positions']} tokens. For longer texts its time is "
                 "that of the same model with a longer table of positions.</p>\n")
    rows = [speed_row(row, dtype) for dtype, name in (("f32", "speed"), ("int8", "speed_int8"))
            for row in report.get(name) or []]
    made += table(["weights", "tokens", "teacher, ms", "student, ms", "times as fast", "teacher's arena, MiB",
                   "student's arena, MiB"], rows)
    return made + line_chart("Time of one text, f32", "tokens", "ms",
                             [("teacher", [(r["n"], r["teacher"]["ms"]) for r in speed]),
                              ("student", [(r["n"], r["student"]["ms"]) for r in speed])], log_x=True, log_y=True)


def speed_row(row, dtype):
    teacher, student = row["teacher"], row["student"]
    return [dtype, row["n"], f"{teacher['ms']:.1f}", f"{student['ms']:.1f}", f"{teacher['ms'] / student['ms']:.2f}",
            f"{teacher['arena_bytes'] / 2**20:.1f}", f"{student['arena_bytes'] / 2**20:.1f}"]


def layer_section(costs):
    if not costs:
        return ""
    rows = [[row["layer"], row["attention"], f"{row['hidden_error']:.4f}",
             f"{row['gain_if_full']:.5f}" if "gain_if_full" in row else ""] for row in costs["layers"]]
    return ("<h2>Layers</h2>\n<p>The error of a layer's hidden states, relative to the teacher's. The gain is the "
            f"amount by which the distance of the answers to the teacher's, {costs['distance']:.5f}, would fall if the "
            "attention of this layer were full.</p>\n" +
            table(["layer", "attention", "error of hidden states", "gain if full"], rows))


def training_section(report):
    log = report["training"]["log"]
    if not log:
        return ""
    step = max(1, math.ceil(len(log) / 200))
    loss = []
    for first in range(0, len(log), step):
        part = log[first:first + step]
        loss.append((part[-1]["step"], sum(row["loss"] for row in part) / len(part)))
    made = "<h2>Training</h2>\n" + line_chart("Loss", "step", "loss", [("loss", loss)], log_y=True)
    held = [(row["step"], row["held_out"]) for row in log if "held_out" in row]
    if len(held) > 1:
        made += line_chart("Held-out loss of the answers", "step", "loss", [("held out", held)])
    return made


def page(report):
    facts = [["model", report["model"]], ["plan", report["plan"]], ["first values of E and F", report["initialise"]],
             ["most tokens of a text", report["length"]],
             ["training texts", report["texts"]["train"]], ["held-out texts", report["texts"]["held_out"]],
             ["steps", report["training"]["steps"]], ["seed", report["seed"]],
             ["minutes of training", f"{report['training']['seconds'] / 60:.1f}"],
             ["minutes of the whole run", f"{report['seconds'] / 60:.1f}"], ["command", report["command"]],
             ["versions", report["versions"]], ["machine", report["machine"]]]
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Linformer of '
            f"{html.escape(report['model'])}</title><style>{STYLE}</style></head><body>\n"
            f"<h1>Linformer of {html.escape(report['model'])}</h1>\n"
            f'<p class="verdict">{html.escape(report["verdict"])}</p>\n' + quality(report["compared"]) +
            speed_section(report) + layer_section(report.get("layers")) + training_section(report) + "<h2>Run</h2>\n" +
            table(["", ""], facts) + "</body></html>\n")
