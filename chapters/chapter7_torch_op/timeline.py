"""What the host and the GPU do while add2 is timed, as torch.profiler saw it, drawn as SVG.

Two of the chapter's ways: with the host waiting before and after each launch, and without any waiting. The first leaves gaps
on the GPU's lane, the second none, and its host is done long before the GPU is. Then the second once more with less work a
launch than a launch takes: gaps again, since now the GPU waits for the host.
"""

import html
import json
import pathlib
import tempfile

import torch
import warpbook_ops

CALLS = 5
WARM_UPS = 3  # Inside the profile: its first calls take a millisecond.
LARGE, SMALL = 1 << 24, 1 << 20
LANES = (("samples", "what is timed"), ("CUDA calls", "on the host"), ("kernels", "on the GPU"))
COLORS = {"samples": "#8c8c8c", "CUDA calls": "#c77700", "wait": "#d9b26a", "kernels": "#2a78b8"}
WIDTH, MARGIN, LANE = 1120, 150, 34


def run(wait, count):
    """The calls of one way, each between marks that the profiler notes."""
    out, a, b = (torch.rand(count, device="cuda") for _ in range(3))
    warpbook_ops.add2(out, a, b)
    torch.cuda.synchronize()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    ) as profiler:
        for i in range(-WARM_UPS, CALLS):
            if wait or i == 0:
                torch.cuda.synchronize()
            with torch.profiler.record_function(f"sample {i + 1}" if i >= 0 else "warm-up"):
                warpbook_ops.add2(out, a, b)
                if wait:
                    torch.cuda.synchronize()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return spans(json.loads(path.read_text(encoding="utf-8"))["traceEvents"])


def spans(events):
    """[{"lane", "name", "begin", "end"}] in us from the first sample on."""
    lanes = {"user_annotation": "samples", "cuda_runtime": "CUDA calls", "cuda_driver": "CUDA calls", "kernel": "kernels"}
    found = [
        {"lane": lanes[e["cat"]], "name": e["name"], "begin": float(e["ts"]), "end": float(e["ts"]) + float(e["dur"])}
        for e in events
        if e.get("ph") == "X" and e.get("cat") in lanes and not e["name"].startswith(("ProfilerStep", "cudaDeviceGet"))
    ]
    samples = [s for s in found if s["name"].startswith("sample")]
    zero = min(s["begin"] for s in samples)
    found = [s | {"begin": s["begin"] - zero, "end": s["end"] - zero} for s in found]
    return sorted((s for s in found if s["begin"] >= -0.5), key=lambda s: s["begin"])


def panel(title, found, top, scale):
    parts = [f'<text class="title" x="10" y="{top}">{title}</text>']
    for number, (lane, where) in enumerate(LANES):
        y = top + 12 + number * LANE
        parts.append(f'<text x="10" y="{y + 14}">{lane}</text><text class="muted" x="10" y="{y + 26}">{where}</text>')
        parts.append(f'<line class="axis" x1="{MARGIN}" x2="{WIDTH - 10}" y1="{y + LANE - 5}" y2="{y + LANE - 5}"/>')
        for s in found:
            if s["lane"] != lane:
                continue
            x, w = MARGIN + s["begin"] * scale, max(0.8, (s["end"] - s["begin"]) * scale)
            color = COLORS["wait"] if "Synchronize" in s["name"] else COLORS[lane]
            parts.append(f'<rect x="{x:.1f}" y="{y + 4}" width="{w:.1f}" height="{LANE - 12}" fill="{color}">'
                         f'<title>{html.escape(s["name"][:60])}: {s["end"] - s["begin"]:.1f} us</title></rect>')
    return parts


def draw(runs):
    height = len(runs) * (3 * LANE + 50) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        "<style>text{font:12px sans-serif;fill:#888}.title{font-weight:bold;font-size:13px}.muted{font-size:9px}"
        ".axis{stroke:#888;stroke-width:.5}</style>",
    ]
    top = 20
    for title, found in runs:
        end = max(s["end"] for s in found)
        scale = (WIDTH - MARGIN - 20) / end
        parts += panel(title, found, top, scale)
        step = next(s for s in (5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if end / s <= 14)
        for tick in range(0, int(end) + 1, step):
            parts.append(f'<text class="muted" x="{MARGIN + tick * scale:.0f}" y="{top + 3 * LANE + 20}">{tick} us</text>')
        top += 3 * LANE + 50
    parts.append(f'<text class="muted" x="10" y="{top + 14}">orange: launches; pale: waiting for the GPU. '
                 "The profiler itself makes every call some microseconds longer.</text></svg>")
    return "\n".join(parts) + "\n"


def record(svg, json_path):
    """Draws both ways into `svg`, and writes what was drawn."""
    run(True, SMALL)  # The profiler's first use is slow.
    runs = [
        (f"{LARGE:,} elements, waiting before and after each launch (v1)", run(True, LARGE)),
        (f"{LARGE:,} elements, without waiting (v4)", run(False, LARGE)),
        (f"{SMALL:,} elements, without waiting (v4)", run(False, SMALL)),
    ]
    svg.write_text(draw(runs), encoding="utf-8")
    json_path.write_text(json.dumps({"timeline": [{"way": title, "spans": found} for title, found in runs]}),
                         encoding="utf-8")
    print(f"drawn: {svg}")
