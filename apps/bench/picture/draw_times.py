#!/usr/bin/env python3
"""Draws the README's picture, the time by the length of a text for several engines, from a table of ../MEASUREMENTS.md.

    python3 apps/bench/picture/draw_times.py     writes times-light.svg and times-dark.svg to the folder of this script

It needs only Python. tests/docs checks that the two files are equal to its output.
"""
import argparse
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent
MODEL = "ModernBERT"
ENGINES = {"PyTorch": 3, "ONNX Runtime": 4, "OpenVINO": 5, "linformer": 6}  # The engine's column in the table.
PANELS = ["f32", "int8"]
THEMES = {
    "light": {"text": "#1f2328", "grid": "#d1d9e0", "PyTorch": "#8c959f", "ONNX Runtime": "#bc4c00",
              "OpenVINO": "#8250df", "linformer": "#0969da"},
    "dark": {"text": "#e6edf3", "grid": "#3d444d", "PyTorch": "#9198a1", "ONNX Runtime": "#f0883e",
             "OpenVINO": "#a371f7", "linformer": "#58a6ff"},
}
WIDTH, HEIGHT = 880, 330
LEFT, TOP, PANEL_WIDTH, PANEL_HEIGHT, STEP = 40, 42, 250, 230, 445


def read_times(text):
    """Returns {precision: {engine: [(tokens, seconds), ...]}} for the table's rows of MODEL."""
    times = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] != MODEL:
            continue
        for engine, column in ENGINES.items():
            if cells[column]:
                points = times.setdefault(cells[2], {}).setdefault(engine, [])
                points.append((int(cells[1].replace(",", "")), float(cells[column].replace(",", "")) / 1000))
    return times


def ceiling(value):
    """Returns the next larger multiple of 10."""
    return (int(value) // 10 + 1) * 10


def draw_panel(index, precision, engines, colors):
    left = LEFT + index * STEP
    longest = max(tokens for points in engines.values() for tokens, _ in points)
    top = ceiling(max(seconds for points in engines.values() for _, seconds in points))

    def place(tokens, seconds):
        return left + PANEL_WIDTH * tokens / longest, TOP + PANEL_HEIGHT * (1 - seconds / top)

    out = [f'<text x="{left}" y="{TOP - 14}" class="head">{precision}: seconds for one text</text>']
    for i in range(0, top + 1, 10 if top > 20 else 5):
        y = place(0, i)[1]
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL_WIDTH}" y2="{y:.1f}" class="grid"/>')
        out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" class="end">{i}</text>')
    for tokens in sorted({tokens for points in engines.values() for tokens, _ in points})[1:]:
        x = place(tokens, 0)[0]
        out.append(f'<text x="{x:.1f}" y="{TOP + PANEL_HEIGHT + 20}" class="middle">{tokens:,}</text>')
    out.append(f'<text x="{left + PANEL_WIDTH / 2}" y="{TOP + PANEL_HEIGHT + 40}" class="middle">tokens</text>')
    for engine, points in engines.items():
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
        width = 3 if engine == "linformer" else 1.8
        out.append(f'<polyline points="{path}" fill="none" stroke="{colors[engine]}" stroke-width="{width}"/>')
        for point in points:
            x, y = place(*point)
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width}" fill="{colors[engine]}"/>')
        x, y = place(*points[-1])
        name = "linformer.cpp" if engine == "linformer" else engine
        weight = ' font-weight="600"' if engine == "linformer" else ""
        out.append(f'<text x="{x + 9:.1f}" y="{y + 4:.1f}" fill="{colors[engine]}"{weight}>{name} '
                   f'{points[-1][1]:.1f} s</text>')
    return out


def draw(times, colors):
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
           f'height="{HEIGHT}" role="img" font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
           'font-size="13">',
           f"<title>{MODEL}, base size: time by length of text, two threads</title>",
           f"<style>text {{ fill: {colors['text']} }} .head {{ font-weight: 600; font-size: 14px }} "
           ".end { text-anchor: end } .middle { text-anchor: middle } "
           f".grid {{ stroke: {colors['grid']}; stroke-width: 1 }}</style>"]
    for index, precision in enumerate(PANELS):
        out += draw_panel(index, precision, times[precision], colors)
    out.append("</svg>")
    # The style sheet's rule for text overrides attributes, so the engines' texts get their color as a style.
    svg = "\n".join(out) + "\n"
    return re.sub(r'(<text [^>]*)fill="(#[0-9a-f]+)"', r'\1style="fill: \2"', svg)


def main():
    parser = argparse.ArgumentParser(description="Draws the README's picture from the table of MEASUREMENTS.md.")
    parser.add_argument("--to", type=pathlib.Path, default=FOLDER, help="folder of the pictures (%(default)s)")
    folder = parser.parse_args().to
    times = read_times((FOLDER.parent / "MEASUREMENTS.md").read_text(encoding="utf-8"))
    for theme, colors in THEMES.items():
        (folder / f"times-{theme}.svg").write_text(draw(times, colors), encoding="utf-8")


if __name__ == "__main__":
    main()
