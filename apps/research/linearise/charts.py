"""Draws line charts as SVG for the report and the study. They have no scripts and can be read without colours."""
import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 320, 64, 16, 34, 52
COLOURS = ("#1b5e9e", "#c2571a", "#3b7d3b", "#7d3b78", "#5b5b5b", "#a88a1c", "#0f8a8a", "#b02a4a")
DASHES = ("", "7 4", "2 3", "9 3 2 3", "4 4", "12 4", "1 4", "6 2")


def ticks(low, high, log=False):
    """Returns about five round numbers between low and high, or powers of two if `log` and at least three lie there."""
    if log:
        first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
        step = max(1, math.ceil((last - first) / 7))
        powers = [2.0**i for i in range(first, last + 1, step) if low * 0.999 <= 2.0**i <= high * 1.001]
        if len(powers) > 2:
            return powers
    span = high - low or 1.0
    step = 10 ** math.floor(math.log10(span / 4))
    step *= min((1, 2, 5, 10), key=lambda m: abs(span / (step * m) - 5))
    first = math.ceil(low / step - 1e-9)
    return [round((first + i) * step, 12) for i in range(int(math.floor(high / step + 1e-9)) - first + 1)]


def number(value):
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.6g}" if abs(value) >= 0.001 else f"{value:.1e}"


def text(x, y, words, anchor="middle", size=12, extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {extra}>'
            f"{html.escape(str(words))}</text>")


class Axes:
    def __init__(self, x, y, log_x, log_y):
        self.log_x, self.log_y = log_x, log_y
        self.x_low, self.x_high = self.limits(x, log_x)
        self.y_low, self.y_high = self.limits(y, log_y)

    @staticmethod
    def limits(values, log):
        low, high = min(values), max(values)
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        if log:
            return low / 1.1, high * 1.1
        pad = (high - low) * 0.06
        return low - pad, high + pad

    @staticmethod
    def place(value, low, high, log):
        if log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return (value - low) / (high - low)

    def at(self, x, y):
        return (LEFT + self.place(x, self.x_low, self.x_high, self.log_x) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - self.place(y, self.y_low, self.y_high, self.log_y) * (HEIGHT - TOP - BOTTOM))


def line_chart(title, x_label, y_label, series, log_x=False, log_y=False):
    """Returns the SVG of a line chart. `series` is a list of (name, points). A point is (x, y) or (x, y, error), and an
    error is drawn as a bar from y - error to y + error."""
    points = [p for _, line in series for p in line]
    if not points:
        return ""
    spread = [(p[1] + sign * (p[2] if len(p) > 2 else 0)) for p in points for sign in (-1, 1)]
    if log_y:
        spread = [y for y in spread if y > 0]
    axes = Axes([p[0] for p in points], spread, log_x, log_y)
    base = HEIGHT - BOTTOM
    # A letter of the legend is about 6 wide, and 46 are for the sample of the line and the gaps.
    longest = max(len(name) for name, _ in series)
    columns = max(1, min(3, int((WIDTH - LEFT - RIGHT) / (6 * longest + 46))))
    legend = 18 * math.ceil(len(series) / columns) if len(series) > 1 else 0
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + legend}" width="{WIDTH}" '
             f'height="{HEIGHT + legend}" font-family="sans-serif" fill="#222">',
             f'<rect width="{WIDTH}" height="{HEIGHT + legend}" fill="#fff"/>',
             text(WIDTH / 2, 18, title, size=14, extra='font-weight="bold"')]
    for value in ticks(axes.y_low, axes.y_high, log_y):
        _, y = axes.at(points[0][0], value)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(text(LEFT - 6, y + 4, number(value), "end", 11))
    for value in ticks(axes.x_low, axes.x_high, log_x):
        x, _ = axes.at(value, points[0][1])
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}" stroke="#222"/>')
        parts.append(text(x, base + 17, number(value), size=11))
    parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}" stroke="#222"/>')
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, base + 36, x_label))
    parts.append(text(16, (TOP + base) / 2, y_label, extra=f'transform="rotate(-90 16 {(TOP + base) / 2:.1f})"'))
    for i, (name, line) in enumerate(series):
        colour, dash = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
        places = [axes.at(p[0], p[1]) for p in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
                     f'stroke-dasharray="{dash}"/>')
        for p, (x, y) in zip(line, places):
            if len(line) <= 40:
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
            if len(p) > 2 and p[2] > 0:
                (_, low), (_, high) = axes.at(p[0], p[1] - p[2]), axes.at(p[0], p[1] + p[2])
                parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{colour}"/>')
        if len(series) > 1:
            x, y = LEFT + (i % columns) * (WIDTH - LEFT - RIGHT) / columns, HEIGHT + 6 + 18 * (i // columns)
            parts.append(f'<line x1="{x:.1f}" x2="{x + 26:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2" '
                         f'stroke-dasharray="{dash}"/>')
            parts.append(text(x + 32, y + 4, name, "start", 11))
    return "\n".join(parts) + "\n</svg>\n"
