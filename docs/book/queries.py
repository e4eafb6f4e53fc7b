"""What a figure may ask of the records; docs/pages/figures.md describes it."""

import collections
import re

import aggregates
import clocks
from chapters import chapters
from records import EMULATED, MEASURED, RESULTS, Problem, Times, load, origin, seconds_of

Answer = collections.namedtuple("Answer", "text kind origin")

LOAD, STORE = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_{}_pipe_lsu_mem_global_op_st.sum"
COUNTERS = {
    "requests": LOAD.format("requests"),
    "store-requests": STORE.format("requests"),
    "sectors": LOAD.format("sectors"),
    "store-sectors": STORE.format("sectors"),
    "sectors/request": (LOAD.format("sectors"), LOAD.format("requests")),
    "store-sectors/request": (STORE.format("sectors"), STORE.format("requests")),
    "load/store-sectors": (LOAD.format("sectors"), STORE.format("sectors")),
    "reductions": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "reduction-sectors/request": ("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
    "atomics": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "shared-atomics": "smsp__inst_executed_op_shared_atom.sum",
    "shared-loads": "smsp__inst_executed_op_shared_ld.sum",
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared-stores": "smsp__inst_executed_op_shared_st.sum",
    "wavefronts/store": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "smsp__inst_executed_op_shared_st.sum"),
    "wavefronts/load": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "smsp__inst_executed_op_shared_ld.sum"),
    "instructions": "smsp__inst_executed.sum",
    "issue": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
    "l2-reads": "lts__t_sectors_op_read.sum",
    "l2-writes": "lts__t_sectors_op_write.sum",
    "l2-read/write": ("lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum"),
    "l1-hits": "l1tex__t_sector_hit_rate.pct",
    "l1-misses": "lts__t_sectors_srcunit_tex_op_read.sum",
    "dram-reads": "dram__bytes_read.sum",
    "dram-writes": "dram__bytes_write.sum",
    "divisions-32": "warpbook__integer_divisions_32bit.sum",
    "divisions-64": "warpbook__integer_divisions_64bit.sum",
}
# How tables call counters.
COUNTER_WORDS = {
    "requests": "load requests",
    "store-requests": "store requests",
    "sectors": "sectors loaded",
    "store-sectors": "sectors stored",
    "sectors/request": "sectors per load request",
    "store-sectors/request": "sectors per store request",
    "load/store-sectors": "sectors loaded per sector stored",
    "reductions": "reductions",
    "reduction-sectors/request": "sectors per reduction",
    "atomics": "atomics",
    "shared-atomics": "shared atomics",
    "shared-loads": "shared loads",
    "wavefronts": "turns of shared loads",
    "shared-stores": "shared stores",
    "wavefronts/store": "turns per shared store",
    "wavefronts/load": "turns per shared load",
    "instructions": "instructions",
    "issue": "issue slots busy",
    "warps": "warps resident",
    "registers": "registers per thread",
    "l2-reads": "sectors read at the L2",
    "l2-writes": "sectors written at the L2",
    "l2-read/write": "L2 reads per write",
    "l1-hits": "L1 hits",
    "l1-misses": "sectors missed in the L1",
    "dram-reads": "bytes read from DRAM",
    "dram-writes": "bytes written to DRAM",
    "divisions-32": "32-bit divisions",
    "divisions-64": "64-bit divisions",
}
UNITS = {"us": 1e6, "ms": 1e3, "ns": 1e9, "s": 1.0, "GB/s": 1e-9, "TB/s": 1e-12, "MB": 1e-6, "M": 1e-6, "%": 100.0, "x": 1.0}
PEERS = ("ours", "eager", "compiled", "call-ours", "call-eager", "call-compiled")


def formatted(value, shown, unit=None):
    """`value` in the form in which a number stands in the text: its unit, its decimals, its thousands' commas."""
    match = re.fullmatch(r"[-+]?([\d,]*)(?:\.(\d+))?( ?)(us|ms|ns|s|GB/s|TB/s|MB|M|x|%)?", shown)
    if not match:
        raise Problem("not a number")
    whole, decimals, space, suffix = match.groups()
    number = value * UNITS[suffix or unit or "x"]
    places = len(decimals or "")
    return (f"{number:,.{places}f}" if "," in whole else f"{number:.{places}f}") + (space + suffix if suffix else "")


def chapter_of(path, words):
    """The chapter that a query is about: `3:` at its beginning, or the one in whose folder the text is."""
    if re.fullmatch(r"\d+:", words[0]):
        number = int(words.pop(0)[:-1])
    else:
        match = re.search(r"chapter(\d+)_", str(path))
        if not match:
            raise Problem("which chapter? begin the query with its number: `3: v9 float`")
        number = int(match.group(1))
    for chapter in chapters():
        if chapter.number == number:
            return chapter
    raise Problem(f"there is no chapter {number}")


def read(name):
    """A record of the GPU's folder, of docs/results/ itself, or by its path from there."""
    for path in [name] if "/" in name else [f"{MEASURED}/{name}", name]:
        record = load(path)
        if record is not None:
            return record, f"{path}.json"
    raise Problem(f"there is no docs/results/{name if '/' in name else MEASURED + '/' + name}.json")


def case_named(chapter, name):
    """A case's parameters: by its short name in book.toml, or as they are, in brackets."""
    if name.startswith("["):
        return name[1:-1]
    names = chapter.book.get("case", {})
    if name not in names:
        raise Problem(f"book.toml calls no case {name}")
    return names[name]


def split(query):
    return re.findall(r"\[[^\]]*\]|\w+='[^']*'|\S+", query)


def answer(path, query, shown):
    """What a query's number is now, in the form in which `shown` stands in the text."""
    lined = re.fullmatch(r"(\S+): line (.+)", query)
    if lined:
        return line(*lined.groups(), shown)
    words = split(query)
    if words[1:2] == ["at"]:
        return at(words.pop(0)[:-1], words, shown)
    if len(words) > 1 and (words[1] == "row" or words[2:3] == ["row"]) and not re.fullmatch(r"\d+:", words[0]):
        return row(words.pop(0)[:-1], words, shown)  # Of no chapter.
    chapter = chapter_of(path, words)
    name = words.pop(0)[:-1] if words[0].endswith(":") else None
    if words[0] in ("commit", "toolkit", "driver", "date", "device", "torch", "triton", "seed"):
        return about(chapter, name, words[0])
    if words[0] == "count":
        return count(chapter, name, words[1], shown)
    if words[0] == "row" or words[1:2] == ["row"]:
        return row(name, words, shown)
    if words[0] == "way":
        record, file = record_of(chapter, name)
        return Answer(formatted(clocks.way(record, words, case_named(chapter, words[2])), shown, "us"), "result",
                      origin(record, file))
    if words[0] == "call":
        record, file = record_of(chapter, name, "_calls")
        return Answer(formatted(clocks.call(record, words), shown, "us"), "result", origin(record, file))
    if words[0] == "near":
        record, file = record_of(chapter, name)
        number = aggregates.near(Times(record, file), words[1], float(words[2].rstrip("%")))
        return Answer(formatted(number, shown), "result", origin(record, file))
    if words[0] == "model":
        return Answer(formatted(aggregates.model(chapter.number, words[1]), shown), "result",
                      f"{EMULATED}/chapter{chapter.number}.json beside {MEASURED}/chapter{chapter.number}.json")
    if words[0] == "peers":
        record, file = record_of(chapter, name, "_peers")
        return Answer(formatted(aggregates.peers(record, words[1], words[2]), shown), "result", origin(record, file))
    if words[0] == "trial":
        return peers(chapter, name, words[1:], shown)
    if words[0] in ("min", "max", "median") or "/" in words[0] or words[0] in PEERS:
        return peers(chapter, name, words, shown)
    if any(word in COUNTERS for word in words[2:]):
        return counter(chapter, name, words, shown)
    return timed(chapter, name, words, shown)


def line(name, pattern, shown):
    """`FILE: line PATTERN`: of a record that is a text, the one line in which the pattern is found. Its group is the number;
    the group's name the number's unit there (`(?P<us>...)`), or `n`."""
    file = RESULTS / name
    if not file.exists():
        raise Problem(f"there is no docs/results/{name}")
    found = [match for text in file.read_text(encoding="utf-8").splitlines() if (match := re.search(pattern, text))]
    if len(found) != 1 or len(found[0].groupdict()) != 1:
        raise Problem(f"{name} has {len(found)} such lines; one is to be there, with one named group")
    [(unit, number)] = found[0].groupdict().items()
    value = float(number.replace(",", ""))
    suffix = re.search(r"[A-Za-z%/]*$", shown).group() or "x"
    return Answer(formatted(value / UNITS[suffix if unit == "n" else unit], shown), "result", f"docs/results/{name}")


def record_of(chapter, name, suffix=""):
    return read(name or chapter.book.get("records", f"chapter{chapter.number}") + suffix)


def about(chapter, name, what):
    record, file = record_of(chapter, name)
    value = record["device"]["name"].removeprefix("NVIDIA ") if what == "device" else str(record["run"][what])
    if what in ("torch", "triton"):
        value = value.split("+")[0]
    if what == "commit" and re.fullmatch(r"[0-9a-f]{8,}", value):
        value = value[:7]
    return Answer(value if what != "date" else value[:10], "result", origin(record, file))


def count(chapter, name, what, shown):
    record, file = record_of(chapter, name)
    if what == "cases":
        number = len(record["cases"])
    elif what in ("pass", "fail", "skipped"):
        number = sum(1 for case in record["cases"] for step in case["steps"] if step["status"] == what)
    else:
        raise Problem(f"cases, pass, fail and skipped can be counted, not {what}")
    return Answer(formatted(number, shown), "result", origin(record, file))


def at(name, words, shown):
    """`RECORD: at a.b[key=value,key=value].c [UNIT]`: the number at this place of a record, in the one entry of a list that has the
    values."""
    record, file = read(name)
    value = record
    for key, wanted in re.findall(r"(\w+)(?:\[([^\]]*)\])?", words[1]):
        value = value.get(key) if isinstance(value, dict) else None
        if wanted:
            pairs = [pair.split("=") for pair in wanted.split(",")]
            value = [entry for entry in value or [] if all(str(entry.get(k)) == v for k, v in pairs)]
            value = value[0] if len(value) == 1 else None
    if not isinstance(value, (int, float)):
        raise Problem(f"{file} has no one number at {words[1]}")
    return Answer(formatted(value, shown, words[2] if len(words) > 2 else None), "result", origin(record, file))


def row(name, words, shown):
    """`RECORD: row KEY=VALUE ... WHAT [UNIT]`: the one entry of a record's "rows" that has these values; `min row`, `max row`:
    of all that have."""
    how = words.pop(0) if words[0] in ("min", "max") else None
    record, file = read(name)
    wanted = {key: value.strip("'") for key, value in (word.split("=", 1) for word in words[1:] if "=" in word)}
    rest = [word for word in words[1:] if "=" not in word]
    found = [entry for entry in record["rows"] if all(str(entry.get(key)) == value for key, value in wanted.items())]
    if not found or (len(found) != 1 and not how):
        raise Problem(f"{file} has {len(found)} such rows")
    values = sorted(entry[rest[0]]["median"] if isinstance(entry[rest[0]], dict) else entry[rest[0]] for entry in found)
    value = values[-1] if how == "max" else values[0]
    return Answer(formatted(value, shown, rest[1] if len(rest) > 1 else None), "result", origin(record, file))


def refuse_renamed(chapter, name, versions):
    """Old values under new names are no record."""
    for version in versions if name is None and "version" not in chapter.book else ():
        if chapter.renamed(version):
            raise Problem(f"{version} was {chapter.renamed(version)} when chapter {chapter.number} was recorded, and is another now")


def timed(chapter, name, words, shown):
    """`STEP CASE [UNIT]`: a median, a share of the copy (%), or bytes a second; `STEP over STEP CASE`: a gain."""
    record, file = record_of(chapter, name)
    refuse_renamed(chapter, name, [words[0], words[2]] if words[1:2] in (["over"], ["slower"]) else words[:1])
    times = Times(record, file)
    slower = words[1:2] == ["slower"]  # By how much, in per cent, where "over" says how many times as fast.
    if words[1:2] in (["over"], ["slower"]):
        step, before, rest = words[0], words[2], words[3:]
    else:
        step, before, rest = words[0], None, words[1:]
    renamed = chapter.book.get("version", {}) if name is None else {}  # Of a record that calls steps otherwise.
    step, before = renamed.get(step, step), renamed.get(before, before)
    parameters = case_named(chapter, rest[0])
    case = times.case(parameters)
    if not case:
        raise Problem(f"{file} has no case {parameters}")
    unit = rest[1] if len(rest) > 1 else None
    seconds = case["copy"][step[5:]] if step in ("copy-p25", "copy-p75") else seconds_of(case, step)
    if seconds is None:
        raise Problem(f"{step} did not run on {parameters} in {file}")
    where = f"{step}, {case['name']}: {times.origin()}"
    if before:
        other = seconds_of(case, before)
        if other is None:
            raise Problem(f"{before} did not run on {parameters} in {file}")
        value = seconds / other - 1 if slower else other / seconds
        return Answer(formatted(value, shown, unit), "result", f"{step} and {before}, {case['name']}: {times.origin()}")
    suffix = re.search(r"[A-Za-z%/]*$", shown).group() or unit
    if suffix == "%":
        value = case["copy_seconds"] / seconds
    elif suffix in ("GB/s", "TB/s"):
        value = case["bytes_moved"] / seconds
    elif suffix in ("us", "ms", "ns", "s"):
        value = seconds
    else:
        raise Problem("of what unit? us, %, GB/s, TB/s, a gain (`v2 over v1`), or a counter's name")
    return Answer(formatted(value, shown, unit), "result", where)


def counter(chapter, name, words, shown):
    """`STEP CASE COUNTER [UNIT]`: what Nsight Compute counted; all launches of the step together. `STEP over STEP CASE COUNTER`:
    how many times as much."""
    if words[1] == "over":
        parts = [counted(chapter, name, [step, *words[3:]]) for step in (words[0], words[2])]
        return Answer(formatted(parts[0][0] / parts[1][0], shown), "result", f"{words[4]} of {words[0]} and {words[2]}: {parts[0][1]}")
    value, where = counted(chapter, name, words)
    if "pct" in COUNTERS[words[2]] and shown.endswith("%"):
        value /= 100
    return Answer(formatted(value, shown, words[3] if len(words) > 3 else None), "result", f"{words[2]} of {words[0]}: {where}")


def counted(chapter, name, words):
    """A counter's value, and where it is from."""
    refuse_renamed(chapter, name, words[:1])
    record, file = record_of(chapter, name, "" if name else "_counters")
    step, case, what = words[0], case_named(chapter, words[1]), COUNTERS[words[2]]
    try:
        return counted_in(record, case, step, what), origin(record, file)
    except Problem:
        raise Problem(f"{file} has no counters of {step} on {case}") from None


def counted_in(record, case, step, what):
    """A counter, or the ratio of two, of a step on a case in a record of Nsight Compute's or of the emulator's. Case names, which only
    times have, do not matter."""
    case = case.split(" name=")[0]
    if "launches" in record:
        launches = [entry["counters"] for entry in record["launches"] if entry["version"] == step and entry["case"] == case]
    else:  # The emulator's, in what run_all wrote.
        launches = [row["counters"] for entry in record["cases"] if entry["parameters"].split(" name=")[0] == case
                    for row in entry["steps"] if row["version"] == step and row.get("counters")]
    if not launches:
        raise Problem(f"no counters of {step} on {case}")
    if isinstance(what, tuple):
        return sum(c[what[0]] for c in launches) / sum(c[what[1]] for c in launches)
    if "pct" in what or "per_thread" in what:
        return max(c[what] for c in launches)
    return sum(c[what] for c in launches)


def peers(chapter, name, words, shown):
    """`eager/ours CASE`, `ours CASE`; `min eager/ours SET` over the cases of a set of book.toml."""
    record, file = record_of(chapter, name, "_peers")
    how = words.pop(0) if words[0] in ("min", "max", "median") else None
    top, _, bottom = words[0].partition("/")
    patterns = chapter.book.get("set", {}).get(words[1]) if how else [re.escape(case_named(chapter, words[1]))]
    if patterns is None:
        raise Problem(f"no set is called {words[1]} in book.toml")
    values = []
    for case in record["cases"]:
        parameters = f"{case['case']} dtype={case['dtype']}"
        if f"{top}_seconds" not in case and not top.startswith("call-"):
            continue
        if (how is None or case["group"] == "fixed") and any(re.fullmatch(p, parameters) for p in patterns):
            if top.startswith("call-"):
                values.append(case["call_seconds"][top[5:]]["median"])
            else:
                values.append(case[f"{top}_seconds"] / (case[f"{bottom}_seconds"] if bottom else 1.0))
    if not values:
        raise Problem(f"{file} has no such case")
    values.sort()
    value = {"min": values[0], "max": values[-1], None: values[0], "median": values[len(values) // 2]}[how]
    return Answer(formatted(value, shown, words[2] if len(words) > 2 else None), "result", f"{words[0]}: {origin(record, file)}")
