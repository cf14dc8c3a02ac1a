import copy
import re
import xml.etree.ElementTree as tree

from linearise import charts, report

SPEED = [{"n": n, "teacher": {"ms": t, "arena_bytes": 1 << 20}, "student": {"ms": s, "arena_bytes": 1 << 19}}
         for n, t, s in ((128, 10.0, 9.0), (256, 21.0, 14.0), (512, 50.0, 20.0))]
VECTORS = {"kind": "vectors", "cosine": {"texts": 9, "mean": 0.98, "p5": 0.97, "least": 0.9}, "neighbours_kept": None,
           "by_length": [{"from": 33, "to": 64, "texts": 9, "mean": 0.98, "p5": 0.97, "least": 0.9}]}
REPORT = {"model": "a<b>", "plan": "w8k8", "initialise": "pool", "length": 512, "teacher_positions": 256, "seed": 0,
          "command": "python -m linearise 'x&y'", "texts": {"train": 10, "held_out": 9, "train_tokens": 100},
          "threads": 2, "versions": "v", "machine": "m", "seconds": 65.0,
          "speed": SPEED, "speed_int8": SPEED[:1], "compared": VECTORS,
          "training": {"steps": 3, "seconds": 60.0, "log": [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.4,
                                                                                       "held_out": 0.3},
                                                           {"step": 3, "loss": 0.3, "held_out": 0.2}]},
          "layers": {"distance": 0.02, "layers": [{"layer": 0, "attention": "full", "hidden_error": 0.1},
                                                  {"layer": 1, "attention": "w8k8", "hidden_error": 0.2,
                                                   "gain_if_full": 0.01}]}}


def changed(**parts):
    made = copy.deepcopy(REPORT)
    made.update(parts)
    return made


def test_the_page_is_well_formed_has_no_script_and_escapes_names(tmp_path):
    report.write(changed(), tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "<script" not in page and "a&lt;b&gt;" in page and "x&amp;y" in page and "a<b>" not in page
    for picture in re.findall(r"<svg.*?</svg>", page, re.S):
        tree.fromstring(picture)
    tree.fromstring(page.replace("<!DOCTYPE html>\n", "").replace('<meta charset="utf-8">', ""))
    assert page.count("<svg") == 4 and "2.50" in page and "at most 256 tokens" in page and "int8" in page


def test_the_sentence_says_whether_it_is_worth_it():
    assert report.verdict(changed()).startswith("The student is worth using for texts of 256 tokens and more")
    poor = copy.deepcopy(VECTORS)
    poor["cosine"]["mean"] = 0.9
    assert "not worth using as it is" in report.verdict(changed(compared=poor))
    slow = [dict(row, student=row["teacher"]) for row in SPEED]
    assert "not worth using at this length" in report.verdict(changed(speed=slow))
    assert "not decided" in report.verdict(changed(speed=None))
    labels = {"kind": "classes", "accuracy": {"value": 0.80, "error": 0.01, "texts": 99},
              "difference": {"value": -0.01, "error": 0.01}, "agreement": {"value": 0.9, "error": 0.01}}
    assert "-1.0 points" in report.verdict(changed(compared=labels)) and "not worth" not in report.verdict(
        changed(compared=labels))
    labels["difference"]["value"] = -0.05
    assert "not worth using as it is" in report.verdict(changed(compared=labels))


def test_charts_have_round_ticks_and_bars_for_errors():
    assert charts.ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert charts.ticks(32, 512, log=True) == [32, 64, 128, 256, 512]
    picture = charts.line_chart("t<", "x", "y", [("a", [(1, 2, 0.5), (2, 3, 0.5)]), ("b", [(1, 1), (2, 1)])])
    assert len(tree.fromstring(picture).findall(".//{*}circle")) == 4 and "t&lt;" in picture
    assert charts.line_chart("t", "x", "y", [("a", [])]) == ""
    tree.fromstring(charts.line_chart("t", "x", "y", [("a", [(1, 2)])], log_x=True, log_y=True))
