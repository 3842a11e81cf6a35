"""python3 draw.py TITLE LINE... <screen >session.svg

Draws what "tmux capture-pane -e" printed: of its lines those that one of the regular
expressions LINE finds, with colours and bold type.
"""

import html
import re
import sys

WIDTH, HEIGHT, MARGIN = 8.4, 19, 16
COLOURS = "#616e88 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #eceff4".split()
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img">
<title>{2}</title>
<style>text {{ font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d8dee9; white-space: pre }}</style>
<rect width="100%" height="100%" rx="8" fill="#1f2430"/>"""


def select(style, codes):
    """The style after a sequence that selects colours ("1;32")."""
    codes = [int(c or 0) for c in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code == 1:
            style = {**style, "font-weight": "bold"}
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = {**style, "fill": COLOURS[code % 10]}
        elif code == 39:
            style = {k: v for k, v in style.items() if k != "fill"}
        elif code in (38, 48) and codes[:1] == [2]:
            if code == 38:
                style = {**style, "fill": "#%02x%02x%02x" % tuple(codes[1:4])}
            del codes[:4]
    return style


def lines(screen):
    """For each line its text, and its runs of one style. A style holds beyond the end of a line."""
    style = {}
    for line in screen.replace("⎿", "└").splitlines():  # which every font has
        runs = []
        for i, part in enumerate(re.split("\x1b\\[([0-9;]*)m", line)):
            if i % 2:
                style = select(style, part)
            elif part:
                runs.append((style, part))
        yield "".join(part for _, part in runs).rstrip(), runs


def draw(title, wanted, screen):
    chosen = [(text, runs) for text, runs in lines(screen) if re.search(wanted, text)]
    width = int(max(len(text) for text, _ in chosen) * WIDTH) + 2 * MARGIN
    yield HEAD.format(width, len(chosen) * HEIGHT + 2 * MARGIN, html.escape(title))
    for i, (_, runs) in enumerate(chosen):
        spans = ""
        for style, part in runs:
            part = html.escape(part, quote=False)
            css = ";".join(f"{k}:{v}" for k, v in style.items())
            spans += f'<tspan style="{css}">{part}</tspan>' if style else part
        yield f'<text x="{MARGIN}" y="{MARGIN + 14 + i * HEIGHT}" xml:space="preserve">{spans.rstrip()}</text>'
    yield "</svg>"


print("\n".join(draw(sys.argv[1], "|".join(sys.argv[2:]), sys.stdin.read())))
