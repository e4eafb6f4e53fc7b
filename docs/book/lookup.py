"""Which kernel a take-away header runs for which input: the dispatch's table of rules, in words, beside what was recorded."""

import os
import re

from chapters import chapters
from records import Problem, seconds_of, time_text

STRING = r'"(?:[^"\\]|\\.)*"'
ROW = re.compile(rf"\{{(?:\w+::)*(\w+),\s*([\w:]+)(?:<\w+>)?,\s*((?:{STRING}\s*)+)\}},")
REST = "everything else"  # What `always` says of a table's last row.


def rules(source, name=""):
    """[(predicate, kernel, evidence)] of a source's table `kRules[]`, in order; with a name, of `kForwardRules[]`, say."""
    table = re.search(rf"\bk{name.capitalize()}Rules\[\] = \{{\n(.*?)\n\}};", source, re.S)
    found = [(condition, kernel, "".join(re.findall(r'"(.*?)"', told))) for condition, kernel, told in ROW.findall(table[1])] if table else []
    if not found or len(found) != table[1].count("{"):
        raise Problem(f"there is no table k{name.capitalize()}Rules[] that can be read")
    return found


def tables(chapter):
    """The names of the dispatch's tables: [""] of most, ["forward", "backward"] of chapter 6."""
    source = chapter.dispatched.path.read_text(encoding="utf-8")
    return [name.lower() for name in re.findall(r"\bk(\w*)Rules\[\] = \{", source)]


def told_of(source, kernel):
    """What the dispatch says of a kernel that a rule chooses, beside its name in the enumeration or above its `run_`, or ""."""
    found = re.search(rf"^\s*{kernel},\s*///< (.*)$|^/// ([^\n]*)\n[^\n/]*\brun_{kernel}\(", source, re.M)
    return found[1] or found[2] if found else ""


def kernel_cell(path, chapter, kernel, source):
    """A rule's kernel, with links to what tells of it. Where the kernel has another name than its step, a comment names the step."""
    def link(words, page):
        return f"[{words}]({os.path.relpath(page, path.parent)})"

    scope, _, name = kernel.rpartition("::")
    if scope in chapter.pages:
        return link(chapter.kernel(scope).title, chapter.pages[scope])
    name = scope if scope not in ("", "Kernel") else name.removeprefix("run_")
    other = next((other for other in chapters() if other.take_away() and other.take_away().stem == name), None)
    if other:
        return link(other.take_away().name, other.readme)
    shown, library = name.replace("_", " "), chapter.folder / "library"
    if (library / f"{name}.cuh").exists():
        return link(shown, library / "README.md")
    steps = [version for version in re.findall(r"\bv\d+[a-z]?\b", told_of(source, name)) if version in chapter.pages]
    if steps:
        return f"{shown} ({', '.join(link(version, chapter.pages[version]) for version in steps)})"
    return link(shown, library / "README.md")


def table(path, chapter, name=""):
    """The rules as a page shows them: the input in words ([rules] in book.toml), the kernel, the case that the rule names as its
    evidence, and how fast the finished operation was there."""
    source = chapter.dispatched.path.read_text(encoding="utf-8")
    words, times = chapter.book.get("rules", {}), chapter.times()
    out = ["| input | kernel | time | of a copy | for example |", "|---|---|--:|--:|---|"]
    for condition, kernel, evidence in rules(source, name):
        told = REST if condition == "always" else words.get(condition)
        if not told:
            raise Problem(f"{chapter.folder.name}/book.toml has no words for the rule {condition} under [rules]")
        case = next((case for case in times.cases if case["parameters"].split(" name=")[0] == evidence), None) if times else None
        seconds = seconds_of(case, chapter.dispatched.version) if case else None
        speed = [time_text(seconds), f"{100 * case['copy_seconds'] / seconds:.0f}%"] if seconds else ["-", "-"]
        cells = [told, kernel_cell(path, chapter, kernel, source), *speed, f"`{evidence}`" if evidence else "-"]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def call(name):
    """The declaration of a function of a take-away header, as a caller reads it."""
    declared = re.compile(rf"^((?:template <[^\n]*>\n?\s*)?(?:inline )?cudaError_t {re.escape(name)}\([^;{{]*\)) {{", re.M)
    for chapter in chapters():
        header = chapter.take_away()
        match = declared.search(header.read_text(encoding="utf-8")) if header else None
        if match:
            lines = (match[1] + ";").split("\n")
            return [lines[0].removeprefix("inline ")] + [re.sub("^ {7}", "", line) if lines[0].startswith("inline ") else line for line in lines[1:]]
    raise Problem(f"no take-away header declares {name}")
