#!/usr/bin/env python3
"""The book: that it is built without a warning, that its figures are those of the records, and that every page works in a
real browser."""

import datetime
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock
import urllib.parse
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "docs" / "html"
sys.path.insert(0, str(ROOT / "docs" / "book"))

import access_drawings  # noqa: E402
import addresses  # noqa: E402
import blocks  # noqa: E402
import browser  # noqa: E402
import chapters  # noqa: E402
import clock_drawings  # noqa: E402
import drawings  # noqa: E402
import exercise_boxes  # noqa: E402
import explore  # noqa: E402
import figures  # noqa: E402
import front  # noqa: E402
import index_drawings  # noqa: E402
import ladder_pages  # noqa: E402
import limits  # noqa: E402
import listings  # noqa: E402
import lookup  # noqa: E402
import markdown  # noqa: E402
import memory_drawings  # noqa: E402
import order_drawings  # noqa: E402
import page  # noqa: E402
import piece_drawings  # noqa: E402
import queries  # noqa: E402
import readme_chart  # noqa: E402
import reading  # noqa: E402
import records  # noqa: E402
import sentences  # noqa: E402
import sidecar  # noqa: E402
import site_builder  # noqa: E402
import sketch  # noqa: E402
import slides  # noqa: E402
import tables  # noqa: E402
import texts  # noqa: E402
from records import Problem, seconds_of  # noqa: E402

HAS_DOXYGEN = shutil.which("doxygen") and pathlib.Path("/usr/share/doxygen-awesome-css").is_dir()
IN_CI = os.environ.get("CI")


def book(*arguments):
    return subprocess.run([sys.executable, "docs/book", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def built():
    """Builds the book once for all tests."""
    if not hasattr(built, "result"):
        built.result = book("build")
    return built.result


class Page(html.parser.HTMLParser):
    """A page's names, and what it points to."""

    def __init__(self, path):
        super().__init__()
        self.names, self.links, self.outside = set(), [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        for key in ("id", "name"):
            if given.get(key):
                self.names.add(given[key])
        for key in ("href", "src"):
            if given.get(key):
                is_source = tag == "a" and given[key].startswith("https://")
                (self.outside.add if is_source else self.links.append)(given[key])


class Figures(unittest.TestCase):
    def test_numbers_are_those_of_the_records(self):
        result = book("check")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_chapter_links_its_sources(self):
        for chapter in chapters.chapters():
            self.assertIn("[Sources](../../docs/pages/references.md): ", chapter.readme.read_text(encoding="utf-8"), chapter.name)

    def test_what_was_tried_is_told_as_its_records_have_it(self):
        result = subprocess.run([sys.executable, "scripts/trust.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)

    PAGE = ROOT / "chapters" / "chapter3_permute" / "planted.md"  # Never written: its text is in the tests.
    FLOAT = "[shape=32,1024,1024 perm=0,2,1 dtype=float]"

    def resolved(self, text, *entries):
        return sidecar.resolve(self.PAGE, text, [{"sentence": sentence, "figures": figures} for sentence, figures in entries])

    def faults(self, text, *entries):
        return self.resolved(text, *entries)[1]

    def test_the_readmes_chart_is_drawn_from_the_record(self):
        drawing = readme_chart.drawn()
        bars = xml.etree.ElementTree.fromstring(drawing).findall(".//{*}rect[@class='bar']")
        chapter = chapters.chapters()[2]
        case = chapter.main_cases(chapter.times())[0][1]
        self.assertEqual(len(bars), sum(records.of_step(case, step.version) is not None for step in chapter.steps))
        self.assertIn("docs/ladder.svg", (ROOT / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(readme_chart.faults(), [])
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            planted = pathlib.Path(folder) / "ladder.svg"
            planted.write_text(drawing.replace("237", "137").replace("%", ""), encoding="utf-8")
            with unittest.mock.patch.object(readme_chart, "PATH", planted):
                self.assertIn("differs from the record", readme_chart.faults()[0])

    def test_queries_are_answered_or_refused(self):
        answer = queries.answer(self.PAGE, f"3: v1 {self.FLOAT}", "1.0 us")
        self.assertRegex(answer.text, r"^\d+\.\d us$")
        self.assertNotEqual(answer.text, "1.0 us")
        for query in (f"v99 {self.FLOAT}", "v1 [shape=1 perm=0 dtype=float]", "v1 nothing", "count nothing", "17: v1 float",
                      "no_such_file.txt: line (?P<n>1)", "in nvidia-h200/chapter3.json"):
            with self.assertRaises(Problem, msg=query):
                queries.answer(self.PAGE, query, "1.0 us")
        self.assertRegex(queries.answer(ROOT / "README.md", "exercises_time: max row seconds s", "1.0 s").text, r"^\d\.\d s$")
        with tempfile.TemporaryDirectory(dir=ROOT / "docs" / "results") as folder:
            record = pathlib.Path(folder) / "text.txt"
            record.write_text("alone 344033 us\ntwice 1\ntwice 2\n", encoding="utf-8")
            name = record.relative_to(ROOT / "docs" / "results")
            self.assertEqual(queries.answer(self.PAGE, f"{name}: line ^alone (?P<us>\\d+)", "1 ms").text, "344 ms")
            for pattern in ("^twice (?P<n>\\d)", "^never (?P<n>\\d)", "^alone \\d+"):
                with self.assertRaises(Problem, msg=pattern):
                    queries.answer(self.PAGE, f"{name}: line {pattern}", "1")

    def test_a_place_in_a_record(self):
        self.assertEqual(queries.answer(self.PAGE, "microbenchmarks: at memory.latency.dram.clocks", "1").text, "684")
        self.assertEqual(queries.answer(self.PAGE, "microbenchmarks: at memory.bandwidth[bytes=1073741824].copy_seconds", "1 us").text, "531 us")
        for place in ("memory.latency", "memory.latency.moon.clocks", "memory.bandwidth[bytes=7].copy_seconds", "memory.bandwidth.copy_seconds",
                      "memory.strides[where=dram].load_seconds"):
            with self.assertRaises(Problem, msg=place):
                queries.answer(self.PAGE, f"microbenchmarks: at {place}", "1")

    def test_numbers_that_need_a_source_are_seen(self):
        for text, figure in (("it takes 17.3 us", "17.3 us"), ("at 4.2 TB/s", "4.2 TB/s"), ("in 3.1 ms", "3.1 ms"), ("1.5x as fast", "1.5x"),
                             ("98% of a copy", "98%"), ("a gain of 3 %", "3 %"), ("takes 32.4 turns", "32.4"), ("in 32 turns", "32"),
                             ("107.0 M instructions", "107.0 M"), ("4 sectors per request", "4"), ("10-20% less", "20%"),
                             ("| 1 | 69.3 us |", "69.3 us"), ("a wait of 17.3\nus", "17.3\nus"), ("- 1,024.5 us", "1,024.5 us")):
            found = [f.text for s in sentences.sentences(text) for f in sentences.figures(text, s)]
            self.assertEqual(found, [figure], text)
        self.assertEqual([f.text for s in sentences.sentences("26 of 27 hold") for f in sentences.figures("26 of 27 hold", s)], ["26", "27"])
        for text in ("32x1024x1024", "64 x 128", "v4x", "(0,2,1)", "16 bytes", "sm_90", "2x2 tiles", "CUDA 13.0", "1,024 places", "`17.3 us`", "row 2x", "at word 66x",
                     "[page](a_1.5x.md)", "    17.3 us", "```\n17.3 us\n```", "<!-- table steps -->\n17.3 us\n<!-- end -->"):
            self.assertEqual([f.text for s in sentences.sentences(text) for f in sentences.figures(text, s)], [], text)

    def test_sentences_are_parted_as_a_reader_parts_them(self):
        text = ("# A title\n\nOne sentence, e.g. this\none. v6a begins another! Is it? (Yes.) G. Ruetsch wrote that.\n\n"
                "- an item\n- another\n  of two lines\n\n| a | b |\n|---|---|\n| `v1.5. x` | 2 |\n")
        found = [" ".join(text[s.start:s.end].split()) for s in sentences.sentences(text)]
        self.assertEqual(found, ["A title", "One sentence, e.g. this one.", "v6a begins another!", "Is it?", "(Yes.)", "G. Ruetsch wrote that.",
                                 "an item", "another of two lines", "a | b |", "---|---|", "`v1.5. x` | 2 |"])

    def test_a_figure_without_a_source_is_refused(self):
        self.assertIn("nothing says where '17.3 us' is from", self.faults("All is well. It takes 17.3 us here.")[0])
        self.assertEqual(self.faults("It takes 17.3 us.", ("It takes", "worked out")), [])

    def test_an_entry_has_to_name_one_sentence_and_all_its_figures(self):
        text = "It takes 17.3 us. It takes 18% less. Nothing here."
        self.assertIn("2 sentences begin so", self.faults(text, ("It takes", ["worked out"]))[0])
        self.assertIn("no sentence begins so", self.faults(text, ("It took", ["worked out"]))[0])
        self.assertIn("no sentence begins so", self.faults(text, ("takes 17.3", ["worked out"]))[0])
        self.assertIn("2 sources for the figures 17.3 us", self.faults(text, ("It takes {}.", ["worked out", "worked out"]))[0])
        self.assertIn("figures none", self.faults(text, ("Nothing", "worked out"))[0])
        twice = self.faults(text, ("It takes 17.3", "worked out"), ("It takes {} us", "worked out"))
        self.assertIn("has two entries", twice[0])
        self.assertTrue(any("18%" in fault for fault in twice))

    def test_an_entry_holds_whatever_the_numbers_are(self):
        text = "It takes 17.3 us on 53 cases. It takes 4 loads."
        for beginning in ("It takes 16.1 us", "It takes {} us", "It takes 17.3"):
            self.assertEqual(self.faults(text, (beginning, ["worked out", "worked out"])), [], beginning)
        sources, _ = self.resolved("Made from 5 files at 067baaf, v1.", ("Made from {} files at {},", ["quoted", "name"]))
        self.assertEqual([source.shown for source in sources], ["5", "067baaf"])

    def test_a_figure_is_compared_with_its_record(self):
        text = f"v1 takes 1.0 us,\nor\n2%, of 3 cases."
        query = f"v1 {self.FLOAT}"
        sources, faults = self.resolved(text, ("v1 takes", [query, query, "count cases"]))
        self.assertEqual(faults, [])
        self.assertEqual([source.shown for source in sources], ["1.0 us", "2%", "3"])
        for source in sources:
            self.assertNotEqual(source.answer.text, source.shown)
        renewed = texts.replaced(text, sources, lambda source: source.answer.text)
        self.assertRegex(renewed, r"^v1 takes \d\d+\.\d us,\nor\n\d\d%, of \d+ cases\.$")
        self.assertIn("`v1 nowhere`", self.faults(text, ("v1 takes", ["v1 nowhere", query, "count cases"]))[0])

    def test_comments_that_are_no_blocks_are_refused(self):
        for text in ("It is so.<!-- why --> Yes.", "<!-- measured v4b float -->\n", "<!-- end -->\n", "<!-- never\n\nends", "69 us<!--= v1 float-->"):
            self.assertTrue(texts.comments("page", text), text)
        for text in ("<!-- table steps -->\n| a |\n<!-- end -->\n", "<!-- diff v4b -->\n", "`<!-- end -->`", "    <!-- code -->\n"):
            self.assertEqual(texts.comments("page", text), [], text)

    def test_a_page_with_a_wrong_figure_fails(self):
        """The tree as it is but for one number."""
        path = ROOT / "chapters" / "chapter3_permute" / "README.md"
        text = path.read_text(encoding="utf-8")
        source = next(source for source in sidecar.resolve(path, text)[0] if source.answer.kind == "result")
        wrong = text[:source.start] + source.shown.replace(source.shown[0], "7" if source.shown[0] != "7" else "8", 1) + text[source.end:]
        self.assertEqual(texts.faults(path, text), [])
        self.assertEqual(len(texts.faults(path, wrong)), 1)
        for slip in ("<!-- measured v4b float -->", "[a page](no_such.md)", "It takes 1.5 us.", "<!-- table steps -->\n<!-- end -->"):
            self.assertEqual(len(texts.faults(path, f"{text}\n{slip}\n")), 1, slip)


class Limits(unittest.TestCase):
    """STYLE's limits, each broken by a page that is planted here and never written."""

    STEP = ROOT / "chapters" / "chapter3_permute" / "pages" / "v4b.md"
    CHAPTER = ROOT / "chapters" / "chapter3_permute" / "README.md"
    GOOD = """# v4b · One unused column

**Problem.** v4a reaches only 37% of a copy.

<!-- figure banks v4a: lane * 32 | v4b: lane * 33 -->
Each lane has a bank of its own.
<!-- end -->

**Predict.** How many turns? ▸ *One.*

**Change.** One more column:

<!-- diff v4b -->
```diff
- 1.5x 2.5x 3.5x
```
<!-- end -->

**Measure** (a case).

<!-- measure v4b float wavefronts/load -->
| | v4a | v4b | |
|---|--:|--:|---|
| turns per shared load | 32.4 | 1.1 | ▼ |
| time | 187.1 us | 111.1 us | 1.68x |
| of a copy | 37% | 62% | |
<!-- end -->

**Why not 100%?** One load at a time.

**Your turn** · 15 min · `padded_tile`
"""
    LEARNED = "\n## What we learned\n\nOne. Two. Three.\n"
    COUNT = "count cases"  # Of chapter 3's record, whatever it is: these tests are about how many figures there are.

    def faults(self, text, *entries, form=limits.step_page, path=STEP):
        return form(path, text, [{"sentence": sentence, "figures": figures} for sentence, figures in entries])

    def test_a_page_within_the_limits_passes(self):
        self.assertEqual(self.faults(self.GOOD, ("v4a reaches", [self.COUNT])), [])

    def test_parts_and_their_order(self):
        for wrong in (self.GOOD.replace("**Predict.**", "**Guess.**"), self.GOOD.replace("**Predict.**", "Predict."),
                      self.GOOD.replace("**Problem.**", "**X**").replace("**Predict.**", "**Problem.**").replace("**X**", "**Predict.**"),
                      self.GOOD + "\n**And more.** Text.\n"):
            self.assertIn("the parts are", " ".join(self.faults(wrong)))
        self.assertEqual(self.faults(self.GOOD.replace("**Your turn**", "Your turn")), [])
        aside = self.GOOD.replace("**Why not 100%?**", "**Why no gain?**")
        self.assertIn("the parts are", " ".join(self.faults(aside)))
        self.assertEqual(self.faults(aside.replace("# v4b", "# tma"), path=self.STEP.with_name("tma.md")), [])

    def test_title_names_the_step(self):
        self.assertIn("the first line", self.faults(self.GOOD.replace("# v4b", "# v4a"))[0])

    def test_words(self):
        length = limits.words(self.GOOD)
        self.assertEqual(limits.words(self.GOOD + "\n| a | table |\n\n    code\n"), length)
        fits = self.GOOD + "\n" + "word " * (limits.STEP_WORDS - length)
        self.assertEqual(self.faults(fits), [])
        self.assertIn("251 words", self.faults(fits + "word")[0])

    def test_figures_of_a_page(self):
        """Six stand in the table; what the text repeats counts once."""
        more = self.GOOD.replace("One load", "It takes 17.1 us. One load").replace("Each lane", "Or 18.1 us. Each lane")
        entries = [("v4a reaches", [self.COUNT]), ("It takes", [self.COUNT]), ("Or 18.1", [self.COUNT])]
        self.assertEqual(self.faults(more, *entries), [])
        more = more.replace("**Predict.** How", "**Predict.** It took 19.1 us. How")
        self.assertIn("9 measured figures", " ".join(self.faults(more, *entries, ("It took", [self.COUNT]))))
        self.assertEqual(self.faults(more, *entries, ("It took", "worked out")), [])

    def test_one_case(self):
        other = self.GOOD.replace("**Why", "<!-- measure v4b half -->\n<!-- end -->\n\n**Why")
        self.assertIn("several cases", self.faults(other)[0])

    def test_figures_of_a_sentence(self):
        text = self.GOOD.replace("One load at a time", "From 1.1 us to 2.2 us to 3.3 us")
        self.assertIn("has 3 measured figures", self.faults(text, ("From 1.1", [self.COUNT] * 3))[0])
        self.assertEqual(self.faults(text, ("From 1.1", "quoted")), [])

    def test_figures_in_a_hundred_words(self):
        def page(words):
            return "".join(f"Sentence {'word ' * (words // 5 - 4)}takes {i}.5 us. " for i in range(5)) + self.LEARNED

        entries = [(f"Sentence {'word ' * 19}takes {i}.5 us", [self.COUNT]) for i in range(5)]
        self.assertIn("5 measured figures in 121 words", self.faults(page(115), *entries, form=limits.chapter_page, path=self.CHAPTER)[0])
        entries = [(f"Sentence {'word ' * 22}takes {i}.5 us", [self.COUNT]) for i in range(5)]
        self.assertEqual(self.faults(page(130), *entries, form=limits.chapter_page, path=self.CHAPTER), [])

    def test_lines_of_a_chapters_page(self):
        self.assertEqual(self.faults("line\n" * 216 + self.LEARNED, form=limits.chapter_page, path=self.CHAPTER), [])
        self.assertIn("221 lines", self.faults("line\n" * 217 + self.LEARNED, form=limits.chapter_page, path=self.CHAPTER)[0])

    def test_what_was_learned_is_three_sentences(self):
        for text, count in ((self.LEARNED.replace("Two. ", ""), 2), (self.LEARNED.replace("Two.", "Two. Half."), 4), ("", 0)):
            self.assertIn(f"has {count} sentences", self.faults(text, form=limits.chapter_page, path=self.CHAPTER)[0])

    def test_which_pages_have_which_limits(self):
        crowd = "It takes 1.5 us, 2.5 us, or 3.5 us.\n"
        with unittest.mock.patch.object(sidecar, "read", lambda _: {"timing.md": [{"sentence": "It takes", "figures": ["3: v1 float"] * 3}]}):
            self.assertIn("3 measured figures", limits.faults(ROOT / "docs" / "pages" / "timing.md", crowd)[0])
        self.assertIn("the parts are", " ".join(limits.faults(self.STEP, "# v4b · x\n")))
        self.assertEqual(limits.faults(self.STEP.parent.parent / "evidence.md", "line\n" * 900), [])
        self.assertIn("900 lines", limits.faults(self.STEP.parent.parent / "README.md", "line\n" * 900)[0])
        self.assertEqual(limits.faults(self.STEP.parent.parent / "library" / "README.md", "line\n" * 900), [])


class Drawings(unittest.TestCase):
    """What drawings compute from what a page's marker says."""

    def drawn(self, name, arguments):
        return drawings.draw(name, arguments, ROOT / "chapters" / "chapter3_permute")

    def test_expressions(self):
        self.assertEqual(sketch.function_of("lane % 8 * 4 ^ part", "lane", "part")(9, 1), 5)
        for wrong in ("__import__('os')", "lane.real", "lanes", "lane lane", "lane / 2", "lane // 0", "other", "lane ** -1", "(", "lane 7"):
            with self.assertRaises(Problem, msg=wrong):
                sketch.function_of(wrong, "lane")

    def test_a_drawing_writes_a_division_as_its_reader_does(self):
        self.assertEqual(sketch.readable("(2 * lane * 66) // 2"), "floor(2 × lane × 66 / 2)")
        self.assertEqual(sketch.readable("(lane // 8 ^ 1) * 4"), "(floor(lane / 8) ^ 1) × 4")
        self.assertIn("reads word floor(lane × 32 / 2)", self.drawn("banks", "half: lane * 32 // 2"))

    def test_arguments_that_no_drawing_takes(self):
        for name, wrong in (("banks", "lane * 32"), ("sectors", "v1: lane * 4"), ("sectors", "v1: lane * 4, four"),
                            ("merging", "64x3 by 1,0"), ("rules", "nothing.cuh"), ("carried", "16 v3: thread, 2"), ("places", "8x8 out: lane, 0"),
                            ("places", "load: lane, 0"), ("chunks", "v6: lane, chunk // 2"), ("chunks", "v6: lane, chunk + row"), ("moved", "4x6 by 1,1"),
                            ("moved", "4x6"), ("merging", "N=4 C=3 by 0"), ("divided", "4x6 by 1,0"), ("divided", "4x6 by 1,0 at 24"),
                            ("located", "4x64x64 by 1,0,2 tile 64x64 block 0"), ("located", "4x64x64 by 0,2,1 tile 64x64 block 4"),
                            ("timeline", "4 v4b: S L"), ("timeline", "4 v4b: L X"), ("underway", "v4b: 4"), ("cached", "hint: rx"),
                            ("rules", "v1_naive.cuh"), ("machine", "copy: 100"), ("machine", "copy"), ("roofline", "3 nothing: 0"), ("roofline", "3 float"),
                            ("roofline", "17 float: 0"), ("explore", "row 1..8: banks a: lane * {row}"), ("explore", "row 1..8 at 9: banks a: lane * {row}"),
                            ("explore", "row 1..90 at 9: banks a: lane * {row}"), ("explore", "row 1..8 at 4: banks a: lane"),
                            ("explore", "row 1..8 at 4: nothing a: lane * {row}")):
            with self.assertRaises(Problem, msg=f"{name} {wrong}"):
                self.drawn(name, wrong)

    def test_each_has_words_for_those_who_cannot_see_it(self):
        shown = [(path, match["what"]) for path in texts.texts() for match in sentences.MARKER.finditer(path.read_text(encoding="utf-8"))
                 if match["kind"] == "figure" and match["what"].partition(" ")[0] in {*drawings.DRAWN, "explore"} and " rules " not in match["what"]]
        self.assertEqual({(re.match(r"explore .*? at \d+: (\w+)", what) or re.match(r"(\w+)", what))[1] for _, what in shown}, set(drawings.DRAWN))
        for path, what in shown:
            drawing = blocks.drawing(path, what)
            self.assertEqual(drawing.count("<svg"), len(re.findall(r"<title>[^<]+</title><desc>[^<]+</desc>", drawing)), what)

    def test_every_step_has_a_figure(self):
        for chapter in chapters.chapters():
            for step in chapter.steps:
                text = chapter.pages[step.version].read_text(encoding="utf-8")
                self.assertIn("<!-- figure ", text, f"chapter {chapter.number}, {step.version}")

    def test_every_step_of_the_first_chapters_has_a_control_that_counts(self):
        for chapter in chapters.chapters()[:4]:
            for step in chapter.steps:
                path = chapter.pages[step.version]
                figures = re.findall("^<!-- figure (explore .*?) -->", path.read_text(encoding="utf-8"), re.M)
                counts = [set(re.findall('data-counts="([^"]*)"', blocks.drawing(path, figure))) - {""} for figure in figures]
                self.assertGreater(max(map(len, counts), default=0), 1, f"chapter {chapter.number}, {step.version}")

    def test_a_page_of_no_chapter_has_drawings_too(self):
        self.assertEqual(blocks.drawing(ROOT / "docs" / "pages" / "planted.md", "banks a: lane * 33"), self.drawn("banks", "a: lane * 33"))

    def test_banks_are_those_of_the_expression(self):
        self.assertEqual(memory_drawings.turns_of(memory_drawings.words_of("lane * 32")), {0: 32})
        self.assertEqual(memory_drawings.turns_of(memory_drawings.words_of("lane * 33")), dict.fromkeys(range(32), 1))
        self.assertEqual(memory_drawings.words_of("(lane * 32) + (lane ^ 1)")[:4], [1, 32, 67, 98])
        self.assertEqual(memory_drawings.turns_of(memory_drawings.words_of("lane * 32 // 2")), {0: 16, 16: 16})
        self.assertEqual(memory_drawings.turns_of(memory_drawings.words_of("lane // 2")), dict.fromkeys(range(16), 1))  # A word is read once.
        drawn = self.drawn("banks", "v4a: lane * 32 | v4b: lane * 33")
        self.assertEqual((drawn.count('class="conflict"'), drawn.count('class="bar"')), (32, 32))
        self.assertIn("32 turns: 32 words of one bank are wanted", drawn)
        self.assertIn("1 turn: each lane has a bank of its own", drawn)

    def test_sectors_are_those_of_the_addresses(self):
        for what, words, used in (("lane * 4, 4", "4 sectors, side by side", "128 of 128"), ("lane * 4 + 4, 4", "5 sectors, side by side", "128 of 160"),
                                  ("lane * 2, 2", "2 sectors, side by side", "64 of 64"), ("lane * 12, 4", "12 sectors, side by side", "128 of 384"),
                                  ("lane * 4096, 4", "32 sectors, 4096 bytes apart", "128 of 1024"), ("lane * 16, 16", "16 sectors", "512 of 512"),
                                  ("lane * 4096 + 24, 16", "64 sectors, apart", "512 of 2048"), ("0, 4", ">1 sector<", "4 of 32")):
            drawn = self.drawn("sectors", f"one: {what}")
            self.assertIn(f"{words}", drawn, what)
            self.assertIn(f"{used} bytes are used", drawn, what)
        self.assertEqual(memory_drawings.touched("lane * 8", 4)[1], {0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27})

    def test_threads_that_carry_a_row(self):
        for what, words in (("thread * 2, 2", "16 threads of 2 bytes"), ("thread * 16, 16", "2 threads of 16 bytes"), ("thread * 12, 12", "2 threads of 12 bytes")):
            self.assertIn(words, self.drawn("carried", f"16x2 one: {what}"))

    def test_places_in_a_tile(self):
        drawn = self.drawn("places", "8x8 lanes 4 parts 2 in: 2, lane * 2 + part | out: lane * 2 + part, 5")
        self.assertEqual(drawn.count('class="mark"'), 16)
        for words in ("in: row 2", "out: column 5", "lane 0 is at [(2, 0), (2, 1)], lane 3 at [(2, 6), (2, 7)]"):
            self.assertIn(words, drawn)
        self.assertIn("32 rows", self.drawn("places", "32x32 across: lane, lane"))

    def test_chunks_take_turns(self):
        for what, turns in (("lane * 4, chunk", "8 turns"), ("lane * 4, chunk ^ row // 4 % 8", "1 turn"), ("lane * 4, chunk ^ row % 8", "4 turns"),
                            ("lane * 4 + lane // 2, chunk ^ row % 8", "1 turn")):
            self.assertIn(f"chunk 0 of these rows: {turns}", self.drawn("chunks", f"one: {what}"))
        self.assertEqual(memory_drawings.chunk_rows("lane * 4, chunk ^ row // 4 % 8")[2], (8, [2, 3, 0, 1, 6, 7, 4, 5]))

    def test_what_a_permutation_moves(self):
        self.assertEqual(order_drawings.offsets([2, 3], [1, 0]), [0, 3, 1, 4, 2, 5])
        self.assertEqual(order_drawings.offsets([2, 2, 2], [1, 2, 0]), [0, 4, 1, 5, 2, 6, 3, 7])
        self.assertEqual(self.drawn("moved", "4x6 by 1,0").count('class="flow"'), 6)

    def test_dimensions_that_merge(self):
        for shape, order, runs in (([64, 512, 512, 3], [0, 3, 1, 2], [[0], [3], [1, 2]]), ([2, 3, 4, 5], [2, 3, 0, 1], [[2, 3], [0, 1]]),
                                   ([2, 1, 4], [0, 1, 2], [[0, 2]]), ([2, 1, 4], [1, 2, 0], [[2], [0]]), ([2, 3, 4], [0, 2, 1], [[0], [2], [1]])):
            self.assertEqual(order_drawings.merged(shape, order), runs)
        drawn = self.drawn("merging", "N=64 H=512 W=512 C=3 by 0,3,1,2")
        self.assertIn("N x HW x C = 64 x 262144 x 3, permutation 0,2,1", drawn)
        self.assertEqual(drawn.count('class="limit"'), 2)

    def test_an_offset_becomes_an_index(self):
        drawn = self.drawn("divided", "3x5x7 by 1,0,2 at 50")  # The output is 5x3x7.
        self.assertIn("element 50 has the indices 2, 1, 1 and is input element 50", drawn)
        self.assertIn("element 22 has the indices 1, 0, 1 and is input element 8", self.drawn("divided", "3x5x7 by 1,0,2 at 22"))
        self.assertIn("2 divisions per element, then 3 products", drawn)
        self.assertIn("50 is 110010 in bits; the largest, 104, needs 7 bits.", drawn)
        self.assertEqual(re.findall('x="([^"]*)" y="30" width="[^"]*" height="22"', drawn.partition("</svg>")[0]),
                         [f"{54 + (340 - 54) / 64 * (63 - bit):g}" for bit in (5, 4, 1)])
        for place, comes in enumerate(order_drawings.offsets([3, 5, 7], [2, 0, 1])):
            self.assertIn(f"is input element {comes}.", self.drawn("divided", f"3x5x7 by 2,0,1 at {place}"))

    def test_where_a_block_finds_its_tile(self):
        # The input 2x130x64 as the output 64x2x130: 2 x 3 x 1 tiles. Block 5 has the last rows of the second matrix.
        drawn = self.drawn("located", "2x130x64 by 2,0,1 tile 64x64 block 5")
        self.assertIn("The tile spans dimensions 1 and 2. Block 5 begins at 1, 128, 0: input element 16512, output element 258.", drawn)
        self.assertIn("Tile 2, 0 of 3 x 1 in matrix 1 of 2.", drawn)
        self.assertIn("matrix 346 of 480", self.drawn("located", "6x128x8x10x192 by 4,2,0,3,1 tile 64x64 block 1999"))  # 4, 2, 6 of 6 x 8 x 10.

    def test_loads_under_way(self):
        done, flights = order_drawings.schedule("L S L S")
        late = order_drawings.ARRIVES + 1
        self.assertEqual(flights, [(0, late), (late + 1, 2 * late + 1)])
        self.assertEqual([begins for _, begins, _ in done], [0, late, late + 1, 2 * late + 1])
        self.assertEqual([begins for _, begins, _ in order_drawings.schedule("L L S S")[0]], [0, 1, late, late + 1])
        self.assertEqual(order_drawings.schedule("L " * 20 + "S S")[0][-2:], [("S", 20, 21), ("S", 21, 22)])  # They need not wait.
        drawn = self.drawn("timeline", "4 v4b: L S L S L S L S | v4c: L L L L S S S S")
        self.assertIn("v4b: 4 loads, at most 4 bytes under way", drawn)
        self.assertIn("v4c: 4 loads, at most 16 bytes under way", drawn)
        self.assertIn("v4c: 4 loads of 4 bytes, v3: 1 load of 16 bytes", self.drawn("underway", "v4c: 4x4 | v3: 1x16"))

    def test_the_order_in_which_lines_leave(self):
        self.assertEqual(order_drawings.leaving("rwrw"), [1, 2, 3, 4])
        self.assertEqual(order_drawings.leaving("kwkw"), [3, 1, 4, 2])
        drawn = self.drawn("cached", "2 leave without: rwrw | with: kwkw")
        self.assertEqual(re.findall('data-count="([^"]*)"', drawn), ["without|1 of 2 read lines left", "with|2 of 2 read lines left"])

    def test_what_a_clock_reads(self):
        call, way, warm, cold = clock_drawings.CALL, clock_drawings.WAY, clock_drawings.WARM, clock_drawings.COLD
        for program, read in (("wait clock launch wait clock", [call + way + warm + way]), ("wait clock launch clock", [call]),
                              ("wait event launch event", [call + warm]), ("wait hold event launch event release", [warm]),
                              ("wait flush hold event launch event release", [cold]), ("clock launch clock clock launch clock", [call, call]),
                              ("event graph4/1 event", [call + 4 * warm]), ("flush event graph4/2 event", [clock_drawings.EVENT + call - clock_drawings.FLUSH + 4 * cold])):
            self.assertEqual(clock_drawings.Timeline(program).read(), read, program)
        first, second = clock_drawings.Timeline("launch launch launch clock launch wait clock clock launch wait clock").read()
        self.assertEqual((first, second), (way + 4 * warm + way - 2 * call, call + way + warm + way))
        self.assertIn("v2: host wait from 0 to 1; host launch from 1 to 4; GPU warm kernel from 6 to 10; the clocks read 3.",
                      self.drawn("clocked", "v2: wait clock launch clock"))
        for wrong in ("hold wait release", "hold launch", "clock launch", "lunch"):
            with self.assertRaises(Problem, msg=wrong):
                clock_drawings.Timeline(wrong)

    def test_how_an_element_is_found(self):
        drawn = self.drawn("viewed", "2x4x2 by 16,4,2 at 11")
        self.assertIn("Element 11 has the indices 1, 1, 1; it lies at 1 x 16 + 1 x 4 + 1 x 2 = 22.", drawn)
        self.assertIn("Places 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30.", drawn)

    def test_runs_that_become_one_dimension(self):
        for sizes, steps, found in (([64, 1024, 512], [1048576, 1024, 2], [[0, 1, 2]]), ([64, 512, 1024], [1048576, 2048, 1], [[0, 1], [2]]),
                                    ([4, 1, 4], [4, 9, 1], [[0, 2]]), ([4, 4], [8, 1], [[0], [1]]), ([4, 4], [0, 0], [[0, 1]])):
            self.assertEqual(index_drawings.runs(sizes, steps), found)
        self.assertIn("becomes 2 dimensions: 32768 by 2048, 1024 by 1", self.drawn("collapsed", "x: 64x512x1024 by 1048576,2048,1"))

    def test_what_fits_into_32_bits(self):
        drawn = self.drawn("fitting", "a: 2 by 2147483647 | b: 2 by 2147483648 | c: 65536x32768 by 0,1")
        self.assertIn("a: elements 2, last offset 2147483647, 32 bits. b: elements 2, last offset 2147483648, 64 bits. "
                      "c: elements 2147483648, last offset 32767, 64 bits.", drawn)

    def test_quotients_without_a_division(self):
        drawn = self.drawn("quotients", "10 as 103 shift 10")
        self.assertIn("equal for all n below 179", drawn)
        self.assertEqual(drawn.count('class="conflict-mark"'), 1)

    def test_what_only_one_thread_does(self):
        self.assertIn("v1: load, %; v2: %. Only in one: load.", self.drawn("work", "v1: load % | v2: %"))
        self.assertIn("v1: load, %, load, %; v2: %, %. Only in one: load.", self.drawn("work", "v1: 2(load %) | v2: 2(%)"))

    def test_indices_that_carry(self):
        self.assertIn("0 5, 0 37, 1 29, 2 21, 3 13, 4 5, 4 37, 5 29; it runs over 5 times", self.drawn("carry", "40 from 5 by 32 times 8"))
        for wrong in ("viewed 2x4 by 8 at 1", "viewed 2x4 by 8,2", "viewed 2x4 by 8,2 at 8", "carry 40", "quotients 10"):
            with self.assertRaises(Problem, msg=wrong):
                self.drawn(*wrong.split(" ", 1))

    def test_blocks_and_warps(self):
        self.assertIn("A block of 96 threads is 3 warps of 32 lanes", self.drawn("machine", "copy: 96"))

    def test_what_the_microbenchmarks_measured(self):
        rows = [("shared memory", 29), ("L1", 43), ("L2", 288), ("DRAM", 684)]
        drawn = self.drawn("latencies", "")
        for name, clocks in rows:
            self.assertIn(f"{name}: {clocks} clocks", drawn)
        widths = [float(width) for width in re.findall(r'class="bar"[^>]*?width="([\d.]+)"', drawn)]
        self.assertEqual(len(widths), len(rows))
        self.assertAlmostEqual(widths[3] / widths[1], 684 / 43, delta=0.1)
        self.assertEqual(self.drawn("littles_law", "").count("<circle"), 28)
        self.assertIn(">32 KB<", self.drawn("littles_law", ""))

    def test_the_roofs_points_are_the_finished_kernels(self):
        drawn = self.drawn("roofline", "1 float: 1/12 | 3 float: 0")
        self.assertEqual(drawn.count("<circle"), 2)
        chapter = chapters.chapters()[2]
        case = chapter.times(records.MEASURED).case(chapter.book["case"]["float"])
        speed = case["bytes_moved"] / records.seconds_of(case, chapter.dispatched.version)
        self.assertIn(f"chapter 3: 0 operations per byte, {speed / 1e12:.2f} TB/s", drawn)

    def test_a_drawing_with_a_control(self):
        drawn = self.drawn("explore", "words_per_row 30..34 by 2 at 32: banks a column: lane * {words_per_row}")
        frames = re.findall(r'<div data-value="(\d+)" data-counts="([^"]*)"( hidden)?>', drawn)
        self.assertEqual(frames, [("30", "2 turns", " hidden"), ("32", "32 turns", ""), ("34", "2 turns", " hidden")])
        self.assertIn(self.drawn("banks", "a column: lane * 34"), drawn)
        self.assertIn('min="0" max="2" value="1" aria-label="words per row" aria-valuetext="32"', drawn)
        self.assertIn('<output class="count">32 turns</output>', drawn)
        self.assertIn("permutation 0,2,1", self.drawn("explore", "order 012,021 at 012: merging A=2 B=3 C=4 by {order}"))
        drawn = self.drawn("explore", "spare 0,1,2 at 0: banks float: lane * {32 + spare} | half: lane * {32 + spare} // 2")
        self.assertEqual(re.findall('data-counts="([^"]*)"', drawn),
                         ["float: 32 turns; half: 16 turns", "float: 1 turn; half: 1 turn", "float: 2 turns; half: 1 turn"])
        self.assertNotIn("count\"", self.drawn("explore", "warps 1..2 at 1: machine copy: {warps * 32}"))  # Nothing is counted.

    def test_a_warps_floats_in_memory(self):
        for what, told in (("lane", "4 sectors, outlined; 128 of 128"), ("lane * 4 + 3", "16 sectors, outlined; 128 of 512"), ("lane + 1", "5 sectors, outlined; 128 of 160")):
            self.assertIn(told, self.drawn("memory", f"128 one: {what}"))
        for wrong in ("128 one: lane * 5", "31 one: lane", "one: lane"):
            with self.assertRaises(Problem, msg=wrong):
                self.drawn("memory", wrong)

    def test_requests_that_move_the_same_bytes(self):
        drawn = self.drawn("requests", "512 v2: 2 | v3: 16")
        self.assertIn('data-count="v2|8 requests of 2 sectors"', drawn)
        self.assertIn('data-count="v3|1 request of 16 sectors"', drawn)
        with self.assertRaises(Problem):
            self.drawn("requests", "100 v2: 2")

    def test_a_pack_out_of_two_words(self):
        self.assertIn('data-count="|1 load"', self.drawn("shifted", "0 of 8"))
        for shift in range(1, 8):
            self.assertIn('data-count="|2 loads"', self.drawn("shifted", f"{shift} of 8"))
        with self.assertRaises(Problem):
            self.drawn("shifted", "8 of 8")

    def test_lanes_that_meet_at_a_word(self):
        for what, told in (("0", "32 rounds: 32 lanes want one word"), ("lane // 2", "2 rounds: 2 lanes"), ("lane", "1 round: no two lanes meet"),
                           ("place zipf 256", "5 rounds: 5 lanes"), ("place * 4 + lane % 4 zipf 256", "2 rounds: 2 lanes"),
                           ("place * 32 + lane zipf 256", "1 round: no two lanes meet")):
            self.assertIn(told, self.drawn("queued", f"round one: {what}"))
        places = access_drawings.zipf_places(256)
        self.assertEqual([places.count(place) for place in range(4)], [5, 3, 2, 1])
        self.assertEqual(access_drawings.zipf_places(1), [0] * 32)

    def test_lanes_of_one_place_add_up(self):
        for places, rounds in (([0] * 32, 5), ([lane % 2 for lane in range(32)], 4), (list(range(32)), 0), ([0] * 3 + list(range(1, 30)), 2)):
            found = access_drawings.group_rounds(places)
            self.assertEqual(len(found), rounds)
            held = {lane: {lane} for lane in range(32)}
            for pairs in found:
                for lane, giver in pairs:
                    held[lane] |= held.pop(giver)
            self.assertEqual(sorted(map(sorted, held.values())), sorted([lane for lane in range(32) if places[lane] == place] for place in set(places)))
        self.assertIn("5 rounds, then 1 addition in memory", self.drawn("grouped", "0"))

    def test_a_half_and_its_neighbour(self):
        told = [re.findall('data-count="[^|]*[|]([^"]*)"', self.drawn("paired", f"{place} of 3")) for place in range(3)]
        pair, loop = "one reduction of a pair", "no neighbour in the array: the loop"
        self.assertEqual(told, [[pair, loop], [pair, pair], [loop, pair]])

    def test_two_blocks_share_the_places(self):
        drawn = self.drawn("tiled", "4 blocks 8 bins block 3: value * 7 % 16")
        self.assertIn('data-count="|reads 8 values, adds 5: places 8 to 15"', drawn)
        self.assertIn("Block 0 reads values 0 to 7 and adds 0, 1, 3, 5, 7. Block 1 reads values 0 to 7 and adds 2, 4, 6.", drawn)

    def test_an_index_names_a_dimensions_entry(self):
        self.assertIn("Element 13 has the coordinates 1, 2, 1 and goes to 0, 2, 1: dst[5].", self.drawn("looked_up", "3x4x2 dim 0 index 5,0,5 at 13"))
        self.assertIn("goes to 1, 2, 0: dst[10].", self.drawn("looked_up", "3x4x2 dim 1 index 1,1,2,0 at 12"))
        for wrong in ("3x4 dim 0 index 1,2 at 0", "3x4 dim 2 index 1 at 0", "3x4 dim 0 index 0,1,2 at 12"):
            with self.assertRaises(Problem, msg=wrong):
                self.drawn("looked_up", wrong)

    def test_a_division_by_multiplying(self):
        for divisor in (1, 2, 3, 7, 10, 641, 2**20 + 1):
            multiplier, shift = access_drawings.fast_divisor(divisor)
            self.assertLess(multiplier, 2**32)
            for n in (0, 1, divisor - 1, divisor, 10**6 + 3, 2**31 - 1):
                self.assertEqual((n * multiplier >> 32) + n >> shift, n // divisor)
        self.assertIn("1000003 / 10 = 100000, remainder 3", self.drawn("multiplied", "1000003 by 10"))

    def test_a_tile_sorted_by_row(self):
        self.assertIn("Entries in the order 2, 6, 1, 4, 7, 0, 3, 5. Group 0 adds rows 0, 1. Group 1 adds rows 1, 3. 8 entries, 4 additions.",
                      self.drawn("sorted_tile", "3,1,0,3,1,3,0,1 by 2"))

    def test_threads_that_have_work(self):
        drawn = self.drawn("filling", "132x2048 15 entries of 270336 | 15 entries of 270335 | 17 entries of 270336")
        self.assertEqual(re.findall("v4 takes (v.)\\.", drawn), ["v2", "v3", "v3"])

    def test_which_input_an_output_shows(self):
        self.assertIn("output 13: row 1, column 5, so input 2; 4 outputs read it.", self.drawn("upsampled", "2x4 to 4x8 at 13"))
        self.assertIn("output 7: row 1, column 2, so input 1; 4 outputs read it.", self.drawn("upsampled", "2x3 to 3x5 at 7"))

    def test_what_each_cell_belongs_to(self):
        drawn = self.drawn("cells", "block 0: v1, 1x6: column | v2, 2x3: (row * 3 + column) % 4")
        self.assertEqual(re.findall('data-count="([^"]*)"', drawn), ["v1|6 blocks", "v2|4 blocks"])
        self.assertIn("row 0: 0 1 2; row 1: 3 0 1", drawn)
        self.assertEqual(drawn.count('class="mark"'), 3)
        for wrong in ("cells block 0: v1: column", "cells block: v1, 1x6: column", "running v3, 8 blocks at 4: 8", "owned 1,x", "scattered 1,2 to 0 of 1",
                      "scattered 1 to 1 of 1", "running v3 and v4, 8 blocks at 4000: 8"):
            with self.assertRaises(Problem, msg=wrong):
                self.drawn(*wrong.split(" ", 1))

    def test_where_blocks_of_different_speed_work(self):
        self.assertEqual(piece_drawings.at_work(2, lambda block: 2 + 2 * block, 3), ({2, 1}, {2, 1}))
        self.assertEqual(piece_drawings.at_work(2, lambda block: 2 + 2 * block, 8), ({8, 5}, {7, 6}))  # Block 0 made 0, 2, 3, 5, and now 6 or 7.
        self.assertIn("v3: within 8 pieces, v4: within 8 pieces", self.drawn("running", "v3 and v4, 8 blocks at 0: 8"))

    def test_the_first_entry_of_a_row_adds_all(self):
        self.assertIn("Entry 0 adds 0, 2. Entry 1 adds 1. Entry 3 adds 3.", self.drawn("owned", "3,1,3,0"))

    def test_what_is_added_to_a_place(self):
        drawn = self.drawn("scattered", "3,1,-2 to 2,0,2 of 3")
        self.assertIn("place 0 gets 1; place 1 gets nothing; place 2 gets 3 and -2", drawn)
        self.assertIn(">1</text>", drawn)
        self.assertIn(">a + c</text>", self.drawn("scattered", "a,b,c to 2,0,2 of 3"))
        rows = self.drawn("scattered", "a,b,c,d,e to 2,0,1,2,0 of 3 rows")
        self.assertIn("row 0 gets b and e; row 1 gets c", rows)
        self.assertEqual(rows.count("conflict-mark"), 2, "rows that are named equally often look the same")
        self.assertIn("Element 3 of z needs element 3 of x", self.drawn("elementwise", "8 at 3"))

    def test_programs_in_short(self):
        for short, long in (("4 by 1", "LSLSLSLS"), ("4 by 2", "LLSSLLSS"), ("4 by 4", "LLLLSSSS"), ("3 ahead 0", "LSLSLS"), ("4 ahead 1", "LLSLSLSS"), ("L S", "LS")):
            self.assertEqual("".join(order_drawings.instructions(short)), long)

    def test_rules_are_those_of_the_table(self):
        self.assertEqual(order_drawings.rules_of("kRules[] = {\n    {predicates::is_odd,\n     tiles::run_prepared, \"\"},\n    {always, run_permute, \"\"},\n};"),
                         [("is odd", "tiles", ""), ("always", "permute", "")])
        self.assertEqual(order_drawings.rules_of("kOther[] = {\n    {predicates::is_odd, v5::forward<W>, \"a\"},\n};", "kOther"), [("is odd", "v5", "a")])
        self.assertEqual(order_drawings.rules_of("x kRules[] = {\n    {is_small, Kernel::one, \"a\"},\n    {predicates::always, Kernel::all_others, \"\"},\n};"),
                         [("is small", "one", "a"), ("always", "all others", "")])
        source = (ROOT / "chapters" / "chapter3_permute" / "v9_dispatch.cuh").read_text(encoding="utf-8")
        self.assertEqual(len(order_drawings.rules_of(source)), source.count(", Kernel::"))

    def test_a_rules_case_and_what_the_dispatch_reaches_there(self):
        chapter = chapters.chapters()[2]
        case = chapter.times().case("shape=512,512,128 perm=2,1,0 dtype=float")
        drawn = drawings.draw("rules", "v9_dispatch.cuh at 2", chapter.folder)
        share = 100 * case["copy_seconds"] / records.seconds_of(case, "v9")
        self.assertIn(f'data-count="|1 rule refused, wide tiles runs: {share:.0f}% of a copy"', drawn)
        self.assertIn("shape=512,512,128 perm=2,1,0 dtype=float: 1 rule", drawn)
        for words in textwrap.wrap(chapter.book["rules_in_short"]["is_wide_transpose"], 30):
            self.assertIn(f">{words}<", drawn)
        self.assertIn(">everything else<", drawn)
        self.assertIn(">wide tiles: v8&#x27;s tiles, at any rank.<", drawn)
        for chapter in chapters.chapters():
            short = chapter.book.get("rules_in_short", {})
            self.assertLessEqual(set(short), set(chapter.book.get("rules", {})), chapter.name)
            self.assertTrue(all(len(words) < len(chapter.book["rules"][rule]) for rule, words in short.items()), chapter.name)
            if short:
                drawn = drawings.draw("rules", "v9_dispatch.cuh", chapter.folder)
                self.assertTrue(all(html.escape(line) in drawn for words in short.values() for line in textwrap.wrap(words, 30)), chapter.name)
        self.assertIn("%", drawings.share_in(chapters.chapters()[1].folder, "shape=64,512,1024 strides=1048576,2048,1 dtype=float"))
        for wrong in ("at 0", "at 99", "at x"):
            with self.assertRaises(Problem, msg=wrong):
                drawings.draw("rules", f"v9_dispatch.cuh {wrong}", chapter.folder)


V1 = """/// \\file
/// v1 plain: a story.
#pragma once

//! [kernel]
template <class W>
__global__ void kernel(W* dst) {  // v1's
  __shared__ W tile[32][32];
  //! [load]
  dst[0] = tile[1][0];
  //! [load]
}
//! [kernel]
"""
CHAPTER = """
C::step("v1", "plain", "", "Plain.", {"requests"}, v1::run),
C::preparing("v3: nothing", "v2", "padded", "v1", "A column "
             "more.", {}, v2::run),
C::aside("tma", "v2", "An engine.", {}, tma::run),
"""
STORY = "# Chapter 99 · Planted\n\n## The ladder\n\n<!-- table steps [a b] -->\n\n## More\n\n[v2](pages/v2.md), ▸ *yes.* No.\n"
PAGE = """# v2 · One unused column

**Problem.** See [v1](v1.md), [its file](../v1_plain.cuh), and [time](../../../../docs/pages/timing.md#a-cold-cache).

<!-- figure banks v4a: lane * 32 | v4b: lane * 33 -->
A caption.
<!-- end -->

- A question? ▸ *An answer
  of two lines.* Another.

<!-- diff v2 -->
<!-- measure v2 [a b] sectors/request -->

<!-- code v2 load -->
stale
<!-- end -->
"""


class Planted(unittest.TestCase):
    """A chapter of the new form, with two steps and an aside."""

    def setUp(self):
        (ROOT / "build").mkdir(exist_ok=True)
        folder = tempfile.TemporaryDirectory(dir=ROOT / "build")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "chapter99_planted"
        for name, text in {"README.md": STORY, "pages/v1.md": "# v1 · Plain\n", "pages/v2.md": PAGE, "pages/tma.md": "# tma · An engine\n",
                           "evidence.md": "# Evidence\n", "library/README.md": "# Library\n", "chapter.cu": CHAPTER, "v1_plain.cuh": V1,
                           "v2_padded.cuh": V1.replace("v1", "v2").replace("tile[32][32]", "tile[32][33]"), "asides/tma.cuh": V1}.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")
        self.chapter = chapters.Chapter(self.folder)
        self.page = self.folder / "pages" / "v2.md"
        for module in (addresses, blocks, queries, reading):
            patch = unittest.mock.patch.object(module, "chapters", lambda: [self.chapter])
            patch.start()
            self.addCleanup(patch.stop)
        addresses.pages.cache_clear()
        self.addCleanup(addresses.pages.cache_clear)

    def recorded(self):
        """A record of one case, "a b": v1 takes 4 us and v2 2 us, where a copy takes 1 us."""
        def row(version, name, seconds):
            return {"version": version, "name": name, "status": "pass", "seconds": {"median": seconds, "p25": seconds, "p75": seconds}}

        case = {"parameters": "a b", "name": "a b", "copy_seconds": 1e-6, "bytes_moved": 1, "steps": [row("v1", "plain", 4e-6), row("v2", "padded", 2e-6)]}
        counted = {"launches": [{"version": version, "case": "a b", "counters": {
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": sectors, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1}}
            for version, sectors in (("v1", 32), ("v2", 4))]}
        device = {"device": {"name": "a GPU"}, "run": {"commit": "here"}, "cases": [case]}
        for patch in (unittest.mock.patch.object(self.chapter, "times", lambda *_: records.Times(device, "planted.json")),
                      unittest.mock.patch.object(queries, "read", lambda name: (counted if name.endswith("counters") else device, name)),
                      unittest.mock.patch.object(tables, "load", lambda _: counted)):
            patch.start()
            self.addCleanup(patch.stop)

    def test_chapter_cu_names_idea_and_base(self):
        told = [(step.version, step.base, step.idea, step.prepares) for step in self.chapter.steps + self.chapter.asides]
        self.assertEqual(told, [("v1", "", "Plain.", ""), ("v2", "v1", "A column more.", "v3: nothing"), ("tma", "v2", "An engine.", "")])
        self.assertEqual([step.version for step in self.chapter.bases(self.chapter.kernel("tma"))], ["v2", "v1"])
        self.assertEqual(list(self.chapter.pages), ["v1", "v2", "tma"])

    def test_blocks_are_filled_and_ends_added(self):
        self.recorded()
        text = blocks.renewed(self.page, self.page.read_text(encoding="utf-8"))
        self.assertIn("<!-- diff v2 -->\n```diff\n", text)
        self.assertIn("-  __shared__ W tile[32][32];\n+  __shared__ W tile[32][33];\n", text)
        self.assertNotIn("// v1's", text)  # The steps' own names count as equal.
        self.assertIn("| | v1 | v2 | |\n|---|--:|--:|---|\n| sectors per load request | 32.0 | 4.0 | ▼ |\n| time | 4.00 us | 2.00 us | 2.00x |\n"
                      "| of a copy | 25% | 50% | |\n<!-- end -->\n", text)
        self.assertIn("<!-- code v2 load -->\n```cuda\ndst[0] = tile[1][0];\n```\n<!-- end -->\n", text)
        self.assertNotIn("stale", text)
        self.assertEqual(text.count("<!-- end -->"), 4)
        self.assertEqual(blocks.renewed(self.page, text), text)

    def test_a_step_without_a_base_stands_alone(self):
        self.recorded()
        self.assertIn("| | v1 |\n|---|--:|\n| sectors per load request | 32.0 |\n| load requests | 1 |\n| time | 4.00 us |\n| of a copy | 25% |\n",
                      blocks.renewed(self.page, "<!-- measure v1 [a b] sectors/request requests -->\n"))

    def test_a_difference_of_a_function_and_from_a_step_further_down(self):
        shown = blocks.renewed(self.page, "<!-- diff v2 kernel() -->\n")
        self.assertIn("+  __shared__ W tile[32][33];", shown)
        self.assertNotIn("//! [", shown)
        (self.folder / "v3_small.cuh").write_text("//! [kernel]\nstruct S {\n  int b;\n\n  // It is v3's.\n  void kernel(\n      int a) {\n#pragma unroll\n    a = 1;\n  }\n};\n"
                                                  "//! [kernel]\n", encoding="utf-8")
        (self.folder / "chapter.cu").write_text(CHAPTER + 'C::step("v3", "small", "v2", "Less.", {}, v3::run),\n', encoding="utf-8")
        self.chapter = chapters.Chapter(self.folder)
        self.assertEqual(self.chapter.kernel("v3").region("kernel()"), ["// It is v3's.", "void kernel(", "    int a) {", "#pragma unroll", "  a = 1;", "}"])
        self.assertIn("-dst[0] = tile[1][0];", blocks.renewed(self.page, "<!-- diff v3 kernel v1:load -->\n"))
        for wrong in ("diff v2 nothing()", "diff v2 kernel v3:kernel"):
            with self.assertRaises(Problem, msg=wrong):
                blocks.renewed(self.page, f"<!-- {wrong} -->\n")

    def test_every_step_with_a_base_shows_what_it_changes(self):
        self.doCleanups()
        for chapter in chapters.chapters():
            for step in chapter.steps:
                if step.base:
                    text = chapter.pages[step.version].read_text(encoding="utf-8")
                    self.assertIn(f"<!-- diff {step.version}", text, f"chapter {chapter.number}, {step.version}")

    def test_what_a_step_calls_of_its_base_is_not_shown_as_removed(self):
        self.doCleanups()

        def defined(lines, sign):
            return set(re.findall(rf"^{re.escape(sign)}(?! ).*?\b(?:struct (\w+) {{|(\w+)\([^;]*$)", lines, re.M))

        for chapter in chapters.chapters():
            for step in chapter.steps:
                taken = set(re.findall(rf"\b{step.base}::(\w+)", "\n".join(step.lines))) if step.base else set()
                for lines in re.findall(r"^```diff\n(.*?)^```", chapter.pages[step.version].read_text(encoding="utf-8"), re.M | re.S):
                    removed = {name for names in defined(lines, "-") - defined(lines, "+") for name in names}
                    self.assertEqual(removed & taken, set(), f"chapter {chapter.number}, {step.version}")

    def test_a_region_of_another_file(self):
        (self.folder / "plan.hpp").write_text("//! [load]\nint x;\n//! [load]\n", encoding="utf-8")
        self.assertIn("```cuda\nint x;\n```", blocks.renewed(self.page, "<!-- code v2 plan.hpp:load -->\n"))

    def test_a_region_inside_a_function_begins_at_the_margin(self):
        text = "  //! [load]\n  for (;;) {\n#pragma unroll\n    int x;\n  }\n  //! [load]\n"
        (self.folder / "plan.hpp").write_text(text, encoding="utf-8")
        self.assertIn("```cuda\nfor (;;) {\n#pragma unroll\n  int x;\n}\n```", blocks.renewed(self.page, "<!-- code v2 plan.hpp:load -->\n"))

    def test_a_region_of_common(self):
        """The lines that carry a step's idea, where these lie in a file that several chapters use."""
        shown = blocks.renewed(self.page, "<!-- code v2 common/cuda/fast_division.cuh:divide -->\n")
        self.assertIn("multiply_high(n, multiplier) + n) >> shift;", shown)
        for chapter, page in (("chapter2_strided", "v5"), ("chapter5_index_add", "v6"), ("chapter6_upsample_nearest", "v3")):
            self.assertIn(">> shift;", (ROOT / "chapters" / chapter / "pages" / f"{page}.md").read_text(encoding="utf-8"))

    def test_a_step_without_a_record_says_so(self):
        self.assertIn("*Not measured yet", blocks.renewed(self.page, "<!-- measure v2 [a b] -->\n"))

    def test_old_values_under_new_names_are_no_record(self):
        self.recorded()
        self.assertIn("2.00 us", blocks.renewed(self.page, "<!-- measure v2 [a b] -->\n"))
        self.assertEqual(queries.answer(self.page, "v2 [a b]", "1.0 us").text, "2.0 us")
        case = self.chapter.times().cases[0]
        case["steps"][0]["status"] = "fail"
        self.assertIn("| | v2 |\n", blocks.renewed(self.page, "<!-- measure v2 [a b] -->\n"))
        case["steps"][0]["status"], case["steps"][1]["name"] = "pass", "shared"
        self.assertIn("*Not measured yet", blocks.renewed(self.page, "<!-- measure v2 [a b] -->\n"))
        self.assertIn("| A column more (prepares v3) | v1 | - | | |\n", blocks.renewed(self.page, "<!-- table steps [a b] -->\n"))
        for query in ("v2 [a b]", "v1 over v2 [a b]", "v2 [a b] sectors"):
            with self.assertRaisesRegex(Problem, "v2 was shared when"):
                queries.answer(self.page, query, "1.0x")

    def test_the_ladders_table(self):
        self.recorded()
        table = blocks.renewed(self.folder / "README.md", "<!-- table steps [a b] -->\n")
        self.assertIn("| [v1](pages/v1.md) | Plain | | 4.00 us | 25% | |\n| [v2](pages/v2.md) | A column more | v1 | 2.00 us | 50% | 2.00x |\n", table)

    def test_the_ladders_table_tells_losses_and_other_bases(self):
        self.recorded()
        self.assertNotIn("prepares", blocks.renewed(self.folder / "README.md", "<!-- table steps [a b] -->\n"))
        rows = self.chapter.times().cases[0]["steps"]
        rows[1]["seconds"] = dict.fromkeys(rows[1]["seconds"], 8e-6)
        self.assertIn("| A column more (prepares v3) | v1 | 8.00 us | 12% | 0.50x |\n",
                      blocks.renewed(self.folder / "README.md", "<!-- table steps [a b] -->\n"))
        rows[1] |= {"status": "skipped", "seconds": None}
        rows.append(rows[0] | {"version": "v3", "name": "small", "seconds": dict.fromkeys(rows[0]["seconds"], 2e-6)})
        (self.folder / "chapter.cu").write_text(CHAPTER + 'C::step("v3", "small", "v2", "Less.", {}, v3::run),\n', encoding="utf-8")
        (self.folder / "v3_small.cuh").write_text(V1.replace("v1", "v3"), encoding="utf-8")
        self.chapter.steps = chapters.Chapter(self.folder).steps
        self.assertIn("| v3 | Less | v2 | 2.00 us | 50% | 2.00x over v1 |\n", blocks.renewed(self.folder / "README.md", "<!-- table steps [a b] -->\n"))

    def test_blocks_that_cannot_be_made(self):
        for wrong in ("diff v9", "diff v1", "diff v2 load", "diff v2 nothing", "measure v2 [a b] nothing", "code v2 nothing", "code v2",
                      "code v2 nothing.hpp:load", "figure banks v1: lane * 32", "table nothing"):
            with self.assertRaises(Problem, msg=wrong):
                blocks.renewed(self.page, f"<!-- {wrong} -->\n")
        for wrong in ("figure nothing", "figure rules v1_plain.cuh", "figure rules nothing.cuh"):
            with self.assertRaises(Problem, msg=wrong):
                blocks.renewed(self.page, f"<!-- {wrong} -->\ncaption\n<!-- end -->\n")

    def test_pages_of_the_book(self):
        self.recorded()
        for path in (self.page, self.folder / "README.md"):
            path.write_text(blocks.renewed(path, path.read_text(encoding="utf-8")), encoding="utf-8")
        made = ladder_pages.compose(self.chapter)
        self.assertEqual(list(made), [f"chapter99{part}" for part in ("", "-v1", "-v2", "-tma", "-evidence", "-library")])
        step = made["chapter99-v2"]
        self.assertTrue(step.startswith("# v2 · One unused column {#chapter99-v2}\n"))
        self.assertIn("[v1](#chapter99-v1), [its file](#chapter99-v1-file), and [time](#timing-a-cold-cache)", step)
        self.assertIn('<a rel="prev" href="chapter99-v1.html">&larr; v1 · Plain</a>', step)
        self.assertIn('<a rel="up" href="chapter99.html">Chapter 99 · Planted</a>', step)
        self.assertEqual(reading.heads()["chapter99-v1"], '<nav class="head" aria-label="the chapter"><a href="chapter99.html">Chapter 99 · Planted</a> '
                         '<a href="chapter99-v2.html" title="v2 · One unused column">v2 &rarr;</a></nav>')
        self.assertTrue(reading.heads()["chapter99-tma"].endswith("Planted</a></nav>"))
        self.assertNotIn("chapter99", reading.heads())
        self.assertNotIn('rel="next"', step)  # The last step of the last chapter: an aside lies beside the way.
        self.assertIn('<a rel="next" href="chapter99-v1.html">v1 · Plain &rarr;</a>', made["chapter99"])
        self.assertIn('<a rel="prev" href="memory.html">', made["chapter99"])
        self.assertIn('<a rel="next" href="chapter99-evidence.html">Evidence &rarr;</a>', made["chapter99-tma"])
        self.assertIn('<span class="ins">+  __shared__ W tile[32][33];</span>', step)
        self.assertIn('<summary>Answer</summary>\n  \\endhtmlonly\n\n  An answer of two lines.\n', step)
        self.assertIn("\n  Another.", step)
        self.assertIn("\\anchor chapter99-v2-file", step)
        self.assertIn("<svg", step)
        self.assertIn("[v2](#chapter99-v2)", made["chapter99"])
        self.assertLess(made["chapter99"].index("## The ladder"), made["chapter99"].index("<svg"))
        self.assertIn("All steps", made["chapter99-evidence"])
        self.assertNotIn("All steps", made["chapter99"])

    def test_exercises_stand_on_their_pages(self):
        item = {"name": "pad", "kind": "write", "step": "v2", "page": "v2", "minutes": 15, "difficulty": 2, "task": "Use `tile` <twice>.",
                "hints": ["one & only"], "learn": "A thing."}
        plain = blocks.renewed(self.page, PAGE)
        self.assertNotIn("exercises", plain)
        with unittest.mock.patch.object(self.chapter, "exercises", lambda: [item]):
            text = blocks.renewed(self.page, PAGE)
            self.assertTrue(text.endswith("\n\n<!-- exercises -->\n**Your turn** · 15 min · medium · `pad` · `make exercise99`\n<!-- end -->\n"), text)
            self.assertEqual(blocks.renewed(self.page, text), text)
            shown = blocks.published(self.page, text)
            for words in ("Your turn: <code>pad</code>", "15 min · medium · write", "Use <code>tile</code> &lt;twice&gt;.", "You learn: A thing.",
                          "<summary>Hint 1</summary><p>one &amp; only</p>", "make exercise99"):
                self.assertIn(words, shown)
            self.assertNotIn("Starting code", shown)
            self.assertIn('href="chapter99-v2.html#exercise-pad"', exercise_boxes.listed(self.chapter))
            self.assertIn("(15 min, medium, write, of v2)", exercise_boxes.listed(self.chapter))
            self.assertNotIn("Our answer", shown)
            question = item | {"kind": "explain", "answer": "So that `it` fits."}
            del question["step"]
            self.assertIn("<summary>Our answer</summary><p>So that <code>it</code> fits.</p>", exercise_boxes.box(self.chapter, question))
            self.assertEqual(exercise_boxes.page_of(question), "v2")
            item["page"] = "README"
            self.assertIn('href="#exercise-pad"', exercise_boxes.listed(self.chapter))
            self.assertIn("(15 min, medium, write)", exercise_boxes.listed(self.chapter))
            self.assertIn('id="exercise-pad"', exercise_boxes.listed(self.chapter))
            self.assertEqual(blocks.renewed(self.page, text), plain)  # It has moved away.

    def test_an_exercises_code_is_what_is_handed_out(self):
        chapter = chapters.chapters()[2]
        found = {item["name"]: exercise_boxes.starting_code(chapter, item) for item in chapter.exercises()}
        self.assertIn("// TODO: a tile in shared memory whose columns lie in different banks.", found["padded_tile"])
        for name, solution in (("padded_tile", "kTile + 1"), ("hasty_pairs", "__syncthreads"), ("swizzle", "/ T::kWords % 8")):
            self.assertNotIn(solution, found[name])
            self.assertNotIn("//! [", found[name])
            self.assertGreater(found[name].count("\n"), 5)

    def test_a_page_of_no_step_is_refused(self):
        (self.folder / "pages" / "v7.md").write_text("# v7 · Nothing\n", encoding="utf-8")
        with self.assertRaises(Problem):
            self.assertFalse(self.chapter.pages)

    def test_links_that_lead_nowhere(self):
        text = "[a](v1.md) [b](v9.md)\n[c](v1.md#nothing) [d](../v1_plain.cuh) `[e](v8.md)`\n[f](permute_8cuh.html)\n"
        self.assertEqual(markdown.broken_links(text.replace("`[e](v8.md)`", ""), self.page), [(1, "v9.md"), (2, "v1.md#nothing")])


class Ways(unittest.TestCase):
    """Chapter 7, whose steps are functions of one file."""
    CHAPTER = next(chapter for chapter in chapters.chapters() if chapter.number == 7)
    PAGE = CHAPTER.folder / "pages" / "v2.md"

    def test_a_way_is_a_function_between_marks_of_its_version(self):
        self.assertEqual([(way.version, way.name, way.base) for way in self.CHAPTER.steps[1:3]],
                         [("v2", "synchronize_before", "v1"), ("v3", "synchronize_after", "v1")])
        self.assertEqual(list(self.CHAPTER.pages), [way.version for way in self.CHAPTER.steps])
        shown = blocks.renewed(self.PAGE, "<!-- diff v2 -->\n")
        self.assertIn("-double synchronize_twice() {\n+double synchronize_before() {\n", shown)
        self.assertEqual(shown.count("\n-  "), 1)

    def test_readings_beside_the_kernels_own_time(self):
        table = blocks.renewed(self.PAGE, "<!-- table reads v2 million large -->\n").splitlines()
        self.assertEqual(table[1], "| | v1 | v2 | the kernel |")
        v1, v2, kernel = (float(cell.split()[0]) for cell in table[3].split("|")[2:5])
        shares = [float(cell.strip(" %")) for cell in table[4].split("|")[2:4]]
        self.assertAlmostEqual(shares[0], 100 * v1 / kernel, delta=2)
        self.assertAlmostEqual(shares[1], 100 * v2 / kernel, delta=2)
        self.assertEqual(blocks.renewed(self.PAGE, "<!-- table reads v1 million large -->\n").splitlines()[1], "| | v1 | the kernel |")
        self.assertEqual(blocks.renewed(self.PAGE, "<!-- table reads v7b million large -->\n").splitlines()[1], "| | v7a | v7b |")


class Pictures(unittest.TestCase):
    BUILD = pathlib.Path(os.environ.get("WARPBOOK_BUILD", ROOT / "build" / "emulator"))

    @unittest.skipUnless((BUILD / "chapter3" / "run_all").exists() and os.environ.get("WARPBOOK_DEVICE", "emulator") == "emulator",
                         "chapter 3 is not built for the emulator")
    def test_access_maps_are_what_the_emulator_draws_now(self):
        for chapter, program in figures.programs(self.BUILD):
            if chapter.number != 3 and not os.environ.get("WARPBOOK_NIGHTLY"):
                continue
            for version, case, path in figures.wanted(chapter):
                with self.subTest(picture=path.name):
                    self.assertTrue(figures.draw(program, version, case) == path.read_text(encoding="utf-8"),
                                    "what the step touches has changed: run `python3 docs/book maps`")


class Phone(unittest.TestCase):
    """What a phone leaves out of code: blanks that align, and of run_all's table the column of bases."""

    KEPT = staticmethod(lambda line: re.sub(r'<span class="spared">.*?</span>|<[^>]+>', "", line))

    def test_blanks_that_align_a_line(self):
        code = ["<b>void</b> f(int columns,", "              int rows) {", "              // so", "  if (a)", "          b();", "", "-"]
        self.assertEqual([self.KEPT(line) for line in site_builder.hanging(code)],
                         ["void f(int columns,", "    int rows) {", "    // so", "  if (a)", "      b();", "", "-"])
        self.assertEqual([self.KEPT(line) for line in site_builder.hanging(["-  f(a,", "-         b)", "+         c)", "   d"], 1)],
                         ["-  f(a,", "-      b)", "+      c)", "   d"])

    def test_the_table_of_a_run(self):
        lines = ["(0,1)  7x5  float      1/3", "step      built on     time   of limit", "a copy              67.1 us       100%", "v2  tile  v1         9.0 us        98%"]
        self.assertEqual(self.KEPT(site_builder.narrowed("\n".join(lines))).split("\n"),
                         ["(0,1)  7x5  float  1/3", "step        time of limit", "a copy   67.1 us     100%", "v2  tile  9.0 us      98%"])
        self.assertEqual(site_builder.narrowed("step  time"), "step  time")

    def test_a_figure_between_quotation_marks(self):
        source = lambda text, shown: unittest.mock.Mock(start=text.index(shown))  # noqa: E731
        text = '"a" and "within 5%" of `"b"`'
        self.assertEqual(texts.unquoted(text, [source(text, "5%")]), [(8, 9, "&quot;"), (18, 19, "&quot;")])


class Devices(unittest.TestCase):
    def test_a_second_gpu_stands_beside_the_first(self):
        """Here the same one twice: a row a case, a column a device."""
        shown = front.side_by_side(["nvidia-h200", "nvidia-h200"])
        for chapter in chapters.chapters():
            record = chapter.times()
            if record and any(seconds_of(case, chapter.dispatched.version) for case in record.cases):
                self.assertIn(f"### {chapter.title}", shown)
        self.assertIn('<th scope="col">NVIDIA H200</th><th scope="col">NVIDIA H200</th>', shown)
        self.assertEqual(front.side_by_side(["nvidia-h200"]), "")

    def test_a_course_has_every_exercise_once_and_fills_its_classes(self):
        of = {chapter.number: [item for item in chapter.exercises() if item["kind"] != "project"] for chapter in chapters.chapters()}
        named = [item["name"] for items in front.session_exercises().values() for item in items]
        self.assertEqual(sorted(named), sorted(item["name"] for items in of.values() for item in items))
        for number, items in of.items():
            if items:
                self.assertGreaterEqual(sum(item["minutes"] for item in items), 90, f"chapter {number}")
        rows = re.findall(r"^\| (\d+) \|", (records.ROOT / "docs/pages/teaching.md").read_text(encoding="utf-8"), re.M)
        self.assertEqual([int(row) for row in rows], list(front.SESSIONS))
        total = sum(item["minutes"] for item in front.session_exercises()[7])
        self.assertIn(f">{total}</td>", front.sessions())


class LookUp(unittest.TestCase):
    PAGE = ROOT / "docs" / "pages" / "lookup.md"
    TAKEN_AWAY = [chapter for chapter in chapters.chapters() if chapter.take_away()]

    def test_every_rule_of_every_header_has_a_row_in_words(self):
        text = self.PAGE.read_text(encoding="utf-8")
        self.assertEqual([chapter.number for chapter in self.TAKEN_AWAY], [1, 2, 3, 4, 5, 6])
        for chapter in self.TAKEN_AWAY:
            source, known = chapter.dispatched.path.read_text(encoding="utf-8"), set()
            for name in lookup.tables(chapter):
                rules = lookup.rules(source, name)
                known |= {condition for condition, _, _ in rules} - {"always"}
                self.assertEqual(len(lookup.table(self.PAGE, chapter, name).splitlines()), len(rules) + 2)
                self.assertIn(" ".join(["<!-- table", f"{chapter.number}: rules", *filter(None, [name]), "-->"]), text)
            self.assertEqual(set(chapter.book["rules"]), known, chapter.name)
            with unittest.mock.patch.dict(chapter.book, rules={}), self.assertRaisesRegex(Problem, "has no words for the rule"):
                lookup.table(self.PAGE, chapter, lookup.tables(chapter)[0])

    def test_a_kernel_that_a_row_sends_to_the_library_is_told_there(self):
        for shown, page in re.findall(r"\[([^]]*)\]\((\S*/library/README\.md)\)", self.PAGE.read_text(encoding="utf-8")):
            told = (self.PAGE.parent / page).read_text(encoding="utf-8").replace("_", " ").replace("-", " ")
            self.assertTrue(shown.removesuffix("s") in told.lower(), f"{page} does not tell of {shown}")

    def test_a_row_that_cannot_be_read_is_refused(self):
        row = '    {predicates::is_odd, Kernel::tiles, "a "\n     "b"},\n'
        self.assertEqual(lookup.rules(f"kRules[] = {{\n{row}}};"), [("is_odd", "Kernel::tiles", "a b")])
        for wrong in ("kRules[] = {\n" + row + "    {is_even, Kernel::rows},\n};", "kRules[] = {\n};", "kForwardRules[] = {\n" + row + "};"):
            with self.assertRaises(Problem, msg=wrong):
                lookup.rules(wrong)

    def test_calls_are_the_headers(self):
        self.assertEqual(lookup.call("permute")[0], "cudaError_t permute(void* dst, const void* src, int rank, const std::int64_t* shape, const int* permutation,")
        self.assertEqual(lookup.call("upsample_nearest_backward")[0], "template <class T>")
        with self.assertRaises(Problem):
            lookup.call("upsample")


class MachineCode(unittest.TestCase):
    CHAPTER = next(chapter for chapter in chapters.chapters() if chapter.number == 3)

    def test_as_many_loads_are_under_way_as_the_profiling_page_says(self):
        for name, loads in (("v4b_padded_tile_float", 1), ("v4c_unrolled_tile_float", 4)):
            memory = [re.search(r"\b(LDG|STS)\b", line)[1] for line in listings.listings(self.CHAPTER)[name][1] if re.search(r"\b(LDG|STS)\b", line)]
            self.assertEqual(memory.index("STS"), loads, name)

    def test_a_part_is_between_two_addresses(self):
        lines = listings.part(self.CHAPTER, "v4b_padded_tile_float", "03f0", "0400")
        self.assertEqual(lines, ["  03f0  BSYNC B0", "> 0400  BAR.SYNC.DEFER_BLOCKING 0x0"])
        for wrong in (("v4b", "03f0", "0400"), ("v4b_padded_tile_float", "0400", "03f0"), ("v4b_padded_tile_float", "03f1", "0400")):
            with self.assertRaises(Problem, msg=wrong):
                listings.part(self.CHAPTER, *wrong)


class Slides(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.written = slides.write(pathlib.Path(folder.name))

    def test_every_step_has_its_slide(self):
        for chapter, path in zip(chapters.chapters(), self.written[1:], strict=True):
            titles = re.findall(r"<h2>(.*?)</h2>", path.read_text(encoding="utf-8"))
            steps = [slides.inline(reading.title_of(chapter.pages[step.version])) for step in chapter.steps]
            self.assertEqual(titles, ["The operation", "How fast can it be?", *steps, "The ladder", "What we learned", "Questions"])

    def test_every_section_of_chapter_0_has_its_slide(self):
        text = self.written[0].read_text(encoding="utf-8")
        sections = re.findall(r"^## (.+)$", (ROOT / "docs" / "pages" / "memory.md").read_text(encoding="utf-8"), re.M)
        self.assertEqual(re.findall(r"<h2>(.*?)</h2>", text), sections)
        self.assertEqual(text.count("<b>Question.</b>"), len(sections))
        self.assertEqual(text.count("<figure") + text.count("<pre>"), len(sections))

    def test_what_a_slide_shows_of_a_page(self):
        self.assertEqual(slides.inline("a *b* `c*d*<e` [f](g.md) **h** 2*i*j"), "a <i>b</i> <code>c*d*&lt;e</code> f <b>h</b> 2*i*j")
        self.assertEqual(slides.prose("Why?\nSo. ▸ *Yes.*\n\n- a\n  b\n- c\n\n<!-- figure x -->\nd\n<!-- end -->\n"),
                         "<p>Why? So.</p>\n<ul><li>a b</li><li>c</li></ul>")
        step = next(chapter for chapter in chapters.chapters() if chapter.number == 3).kernel("v4b")
        page = "**Measure** (a case).\n\n<!-- measure v4b float -->\n| | v4a | v4b | |\n|---|--:|--:|---|\n| time | 4 us | 2 us | 2.00x |\n| of a copy | 25% | 50% | |\n<!-- end -->\n"
        self.assertEqual(slides.gain(step, page), '<p class="gain"><b>2.00x</b> over v4a: 4 us before, 2 us now, 50% of a copy</p><p class="case">a case</p>')
        prepares = next(chapter for chapter in chapters.chapters() if chapter.number == 3).kernel("v2b")
        self.assertRegex(slides.gain(prepares, page), r'<p class="case">a case\. It prepares v\w+\.</p>$')

    @unittest.skipUnless(browser.find() or IN_CI, "no Chromium here: run `make deps docs`")
    def test_slides_overflow_nowhere_turn_by_keys_and_print(self):
        with browser.Browser() as window:
            window.window(1280, 720)
            for path in self.written:
                window.open(path.as_uri())
                self.assertEqual(window.run("""slides.map((slide, number) => {
                    show(number);
                    const edge = slide.getBoundingClientRect();
                    const seen = [...slide.querySelectorAll("*")].filter((part) => !part.closest("svg") || part.tagName === "svg");
                    return seen.map((part) => part.getBoundingClientRect()).some((box) => box.width && (box.bottom > edge.bottom - 8 ||
                      box.right > edge.right - 8)) || [...slide.querySelectorAll("figcaption")].some((caption) =>
                      [...slide.querySelectorAll("figure svg")].some((drawing) => drawing.getBoundingClientRect().bottom > caption.getBoundingClientRect().top + 1))
                      || [...slide.querySelectorAll("svg")].some((drawing) => drawing.getBoundingClientRect().height < 100)
                      ? `${number + 1} ${slide.querySelector("h1, h2").textContent}` : null; }).filter(Boolean)"""), [], path.name)
                self.assertEqual(window.errors, [])
            shown = '[...document.querySelectorAll("section.shown")].map((slide) => slide.dataset.number).join()'
            count = window.run("slides.length")
            for key, number in (("Home", 1), ("ArrowRight", 2), (" ", 3), ("ArrowLeft", 2), ("End", count), ("PageDown", count)):
                window.run(f'document.dispatchEvent(new KeyboardEvent("keydown", {{key: "{key}"}}))')
                self.assertEqual(window.run(shown), f"{number} / {count}")
            window.open(self.written[3].as_uri())
            window.run('show(slides.findIndex((slide) => slide.textContent.startsWith("v4b")))')
            before = window.run(shown)
            window.run('document.querySelector("section.shown input").focus()')
            for kind in ("keyDown", "keyUp"):
                window.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
            self.assertEqual(window.run('document.querySelector("section.shown .count").textContent'), "float: 1 turn; half: 1 turn")
            self.assertEqual(window.run(shown), before)  # The key was the control's.
            count = window.run("slides.length")
            window.call("Emulation.setEmulatedMedia", media="print")
            self.assertEqual(window.run("slides.filter((slide) => slide.offsetHeight === 720).length"), count)


class Spelling(unittest.TestCase):
    @unittest.skipUnless(shutil.which("codespell") or IN_CI, "codespell is not here: run `make deps docs`")
    def test_no_misspelt_word(self):
        pages = [str(path) for path in texts.texts()]
        more = ["docs/book", "docs/theme", "chapters", "common", "scripts", "tests", "Makefile", "CMakeLists.txt"]
        result = subprocess.run(["codespell", "--ignore-words", "docs/spelling.txt", *pages, *more], cwd=ROOT, capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.stdout.strip(), "")


@unittest.skipUnless(HAS_DOXYGEN or IN_CI, "Doxygen or its theme is not here: run `make deps docs`")
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if built().returncode != 0:
            raise AssertionError(built().stderr)
        cls.pages = {path.name: Page(path) for path in sorted(SITE.glob("*.html"))}

    def test_every_link_anchor_and_image_is_there(self):
        broken = []
        for name, page in self.pages.items():
            for link in page.links:
                address = urllib.parse.urlsplit(link)
                if address.scheme in ("data", "mailto", "javascript"):
                    continue
                if address.scheme or address.netloc:
                    broken.append(f"{name}: {link} leads out of the book, which is to work offline")
                    continue
                target = urllib.parse.unquote(address.path) or name
                if not (SITE / target).exists():
                    broken.append(f"{name}: {link}: no such file")
                elif address.fragment and target.endswith(".html") and \
                        urllib.parse.unquote(address.fragment) not in self.pages[target].names:
                    broken.append(f"{name}: {link}: no such anchor")
        self.assertEqual(broken, [])

    def test_code_in_sentences_is_shown_as_it_is_written(self):
        words = lambda code: " ".join(html.unescape(re.sub(r"<[^>]+>", "", code)).split())  # noqa: E731
        for path in sorted((ROOT / "docs/pages").glob("*.md")):
            lines = markdown.lines_outside_code(path.read_text(encoding="utf-8").splitlines())
            written = {" ".join(code.split()) for _, code in markdown.CODE.findall("\n".join(line for _, line, is_code in lines if not is_code))}
            shown = set(map(words, re.findall(r"<code>(.*?)</code>", (SITE / f"{path.stem}.html").read_text(encoding="utf-8"), re.S)))
            self.assertEqual(sorted(written - shown), [], path.name)

    def test_sources_have_addresses_and_nothing_else_leads_out_of_the_book(self):
        self.assertEqual({name for name, page in self.pages.items() if page.outside}, {"references.html"})
        self.assertGreater(len(self.pages["references.html"].outside), 20)
        with self.assertRaises(Problem):
            front.linked("A book, 1999.", {"B. Author": "https://example.org"})
        self.assertEqual(front.linked("B. Author, <1999>.", {"B. Author": "https://example.org"}), '<a href="https://example.org">B. Author</a>, &lt;1999&gt;.')

    # A host by its name, and a path of characters that need no quoting. A file of a repository is named at a commit, as files
    # move; PyTorch's main branch is the exception.
    OUTSIDE = re.compile(r"https://(?:(?!github\.com)[a-z0-9-]+(?:\.[a-z0-9-]+)+/[\w./~-]*[\w/]"
                         r"|github\.com/[\w-]+/[\w-]+(?:/(?:blob|tree)/[0-9a-f]{40}/[\w./-]*\w)?"
                         r"|github\.com/pytorch/pytorch/blob/main/[\w./-]*\w)")

    def test_addresses_outside_are_well_formed(self):
        outside = self.pages["references.html"].outside
        self.assertEqual([address for address in outside if not self.OUTSIDE.fullmatch(address)], [])
        for slip in ("http://example.org/a", "https://example/a", "https://example.org/a b", "https://example.org/a.pdf,", "https://github.com/a",
                     "https://github.com/a/b/blob/master/c.cu", "https://github.com/a/b/blob/main/c.cu", "https://github.com/a/b)"):
            self.assertIsNone(self.OUTSIDE.fullmatch(slip), slip)
        print(f"{len(outside)} links lead out of the book. Their form is right; none was opened.", file=sys.stderr)

    def test_a_word_of_the_glossary_is_explained_where_it_is_linked(self):
        text = (SITE / "chapter3-v4b.html").read_text(encoding="utf-8")
        told = re.search(r'<a class="term" title="([^"]*)" href="glossary.html#glossary-bank-conflict">', text)
        self.assertIn("different words of the same bank", told[1])
        definitions = site_builder.glossary()
        self.assertGreater(len(definitions), 20)
        for name in self.pages:
            left = re.findall(r'class="el" href="glossary\.html#([\w-]+)"', (SITE / name).read_text(encoding="utf-8"))
            self.assertEqual(set(left) & set(definitions), set(), name)

    def test_a_page_that_teaches_links_the_words_that_it_uses(self):
        for name in (name for name in self.pages if re.fullmatch(r"(memory|chapter\d(-v\w+)?)\.html", name)):
            text = (SITE / name).read_text(encoding="utf-8")
            prose = " ".join(re.findall(r"<p[ >](.*?)</p>", text, re.S))
            for word in ("warp", "sector", "register", "tile", "block", "bank", "multiprocessor", "l1", "l2", "plane", "of a copy"):
                if re.search(rf"(?i)\b{word}s?\b", re.sub(r"<(code|a)\b.*?</\1>|<[^>]+>", " ", prose)):
                    self.assertIn(f"glossary.html#glossary-{word.replace(' ', '-')}", text, name)

    def test_the_front_page_begins_with_its_doors_and_leads_where_it_says(self):
        text = (SITE / "index.html").read_text(encoding="utf-8")
        for door in ("learn", "look-up", "teach"):
            self.assertLess(text.index(f'href="#mainpage-{door}"' if f'href="#mainpage-{door}"' in text else f'href="index.html#mainpage-{door}"'),
                            text.index('class="fragment'))
        self.assertEqual(list(reading.way())[1:3], ["memory", "chapter3"])

    def test_code_has_its_comments(self):
        self.assertIn("/// The same movement of data with the fewest dimensions", (SITE / "chapter3-v2b.html").read_text(encoding="utf-8"))
        for name in self.pages:
            text = (SITE / name).read_text(encoding="utf-8")
            self.assertIsNone(re.search(r'<div class="fragment">\s*<div class="line">(<a [^>]*></a><span class="lineno">[ \d]*</span>)?\s*</div>', text), name)

    def test_a_steps_page_names_its_chapter_above_its_title(self):
        for chapter in chapters.chapters():
            for name in list(addresses.of_chapter(chapter))[1:]:
                text = (SITE / f"{name}.html").read_text(encoding="utf-8")
                self.assertRegex(text, rf'<nav class="head"[^>]*><a href="chapter{chapter.number}.html">[^\n]*</nav><h1', name)

    def test_what_shows_on_hovering_is_escaped_once(self):
        def twice(text):
            return re.findall(r'(?:title|alt|aria-label)="[^"]*&amp;(?:amp|gt|lt|quot|apos|#\w+);[^"]*"', text)

        self.assertTrue(twice('<span title="(0,1)-&amp;gt;(1,0)">'))
        self.assertEqual(twice('<span title="a & b -&gt; c &amp; d">'), [])
        self.assertEqual({name: found for name in self.pages if (found := twice((SITE / name).read_text(encoding="utf-8")))}, {})

    def test_pages_are_light(self):
        """With all that they load, as far as they name it; the search's index comes when somebody searches."""
        heavy = {}
        for name, page in self.pages.items():
            files = {urllib.parse.urlsplit(link).path for link in page.links if re.search(r"\.(css|js|png|svg)$", link)}
            size = (SITE / name).stat().st_size + sum((SITE / file).stat().st_size for file in files)
            if size >= 1_000_000:
                heavy[name] = size
        self.assertEqual(heavy, {})

    # What Doxygen left as it stood: emphasis that it did not take, code whose end it missed, and a tag.
    MARKS = re.compile(r"\*\*|`|\w\*\w+\*|\]\(|&lt;span\b")

    def marks(self, text):
        """Those in what a reader sees of a page, outside code and drawings."""
        text = text[max(text.find("<main"), 0):]
        text = re.sub(r'(?s)<(script|style|code|pre|svg|summary)\b.*?</\1>|<div class="fragment.*?<!-- fragment -->', " ", text)
        return [text[max(found.start() - 40, 0):found.end() + 20] for text in re.sub(r"<[^>]+>", "\n", text).split("\n")
                for found in self.MARKS.finditer(text)]

    def test_no_mark_of_markdown_is_left_in_a_text(self):
        self.assertTrue(all(map(self.marks, ("rows 4*k* to", "**<code>x</code> as", "so: \u2018x'`.", 'a "&lt;span>5%'))))
        self.assertEqual(self.marks("<p>a * b <code>a**b</code> 4<em>k</em></p>"), [])
        told = {name for name in self.pages if "_8" not in name and not re.match(r"(class|struct|dir_|globals|namespace)", name)}
        self.assertEqual({name: found for name in sorted(told) if (found := self.marks((SITE / name).read_text(encoding="utf-8")))}, {})

    def test_every_step_has_its_code_and_no_page_a_raw_mark(self):
        for chapter in chapters.chapters():
            told = {name: (SITE / f"{name}.html").read_text(encoding="utf-8") for name in addresses.of_chapter(chapter)}
            for step in chapter.steps:
                name = f"chapter{chapter.number}-{step.version}"
                self.assertIn(name, told)
                self.assertIn(step.file, told[name])
            for text in told.values():
                self.assertNotIn("&lt;!--", text)
                self.assertNotIn("//! [", text)
                self.assertNotIn("[[book", text)
                self.assertNotIn("▸", text)


# What a reader sees of text on its background, by the WCAG's formula: 4.5 for text, 3 for large text.
WIDTH = "Math.max(document.documentElement.scrollWidth, innerWidth)"
LADDERS = """[...document.querySelectorAll("svg.wide, svg.narrow")].map((drawing) =>
  drawing.matches(".narrow") ? drawing.getBoundingClientRect().right <= 390 && drawing.getBoundingClientRect().width > 300
                             : drawing.getBoundingClientRect().width === 0)"""
# Of each figure with a control: how many states are seen, which is named, which is shown, whether the counter is that one's.
CONTROLS = """[...document.querySelectorAll(".explore")].map((figure) => {
  const shown = [...figure.querySelectorAll(".frames > div")].filter((frame) => !frame.hidden), outputs = figure.querySelectorAll("output");
  return [shown.length, outputs[0].textContent, shown[0]?.dataset.value, !outputs[1] || outputs[1].textContent === shown[0]?.dataset.counts]; })"""
NEXT = '(() => { const link = document.querySelector("a[rel=next]"); return link && [link.href, link.getClientRects().length > 0]; })()'
# The page hears of the system's preference with one of the next frames.
IS_DARK = """new Promise((done) => { const look = (left) => { const is = document.documentElement.classList.contains("dark-mode");
  if (is !== matchMedia("(prefers-color-scheme: dark)").matches && left) setTimeout(look, 20, left - 1);
  else { document.getAnimations().forEach((each) => each.finish()); done(is); } }; look(250); })"""
UNFOLDED = 'document.querySelectorAll("details").forEach((part) => { part.dataset.folded = !part.open; part.open = true; })'
FOLDED = 'document.querySelectorAll("details").forEach((part) => { part.open = part.dataset.folded === "false"; })'
CUT = """[...document.querySelectorAll(".contents pre, .contents div.fragment")].filter((part) => part.scrollWidth > part.clientWidth + 1)
  .filter((part) => innerWidth > 390 || !(part.matches(".columns") && getComputedStyle(part).overflowX === "auto") || /built on/.test(part.textContent))
  .map((part) => part.className + ": " + part.textContent.slice(0, 40))"""
SHOWN = """(() => { const all = (what) => [...document.querySelectorAll(what)]; return {
  rows: all("table.steps tbody tr").length,
  fragments: all("details.code .fragment").filter((part) => part.offsetHeight > 20 && part.textContent.length > 60).length,
  buttons: all("doxygen-awesome-fragment-copy-button").length,
  bars: all("svg.chart rect.bar").filter((bar) => bar.getBoundingClientRect().width > 0).length,
  most: Math.max(0, ...all("svg.chart:not(.panel)").map((chart) => chart.querySelectorAll("rect.bar").length)),
  unnamed: all("svg").filter((drawing) => !drawing.querySelector("title") && !drawing.closest("[title]")).length}; })()"""
PRINTED = """({wide: [...document.querySelectorAll(".contents *")].filter((part) => !part.closest("svg") && part.getBoundingClientRect().right > 719)
    .map((part) => part.tagName + " " + part.textContent.slice(0, 40)).slice(0, 5),
  navigation: ["#top", "#side-nav", "#nav-path", "div.toc", "span.lineno"].filter((name) =>
    [...document.querySelectorAll(name)].some((part) => part.offsetHeight > 0))})"""
# The tables that scroll on a phone, and the ladders with their ideas, which need that room.
OFF_SCREEN = """[...document.querySelectorAll(".contents table.markdownTable, .contents table.book")].filter((table) =>
  [table.closest(".scroll") || table, ...table.tBodies].some((part) => part.scrollWidth > part.clientWidth + 1)
  || table.matches(".ladder") && table.rows[0].cells[1].offsetWidth).map((table) => table.rows[0].innerText)"""
# What a reader with a phone cannot read of a page's figures: what has to be scrolled, what leads out of its drawing, small letters.
UNREADABLE = """(() => { const bad = [], shown = (box) => box.width > 0;
  for (const box of document.querySelectorAll(".contents figure, .contents figure div")) {
    if (box.scrollWidth > box.clientWidth + 1) bad.push("scrolls: " + box.textContent.slice(0, 60)); }
  for (const drawing of document.querySelectorAll(`.contents img[src$=".svg"], .contents svg.chart`)) {
    const edge = drawing.getBoundingClientRect(), name = drawing.getAttribute("src") || drawing.querySelector("title").textContent;
    if (!shown(edge)) continue;
    if (edge.right > innerWidth) bad.push("too wide: " + name);
    if (drawing.matches("img")) bad.push("letters of unknown size: " + name);
    for (const words of drawing.querySelectorAll("text")) {
      const box = words.getBoundingClientRect(), size = parseFloat(getComputedStyle(words).fontSize) * words.getScreenCTM().a;
      if (size < 9) bad.push(`${size.toFixed(1)} pixels: ${name}: ${words.textContent}`);
      if (shown(box) && (box.left < edge.left - 1 || box.right > edge.right + 1)) bad.push(`cut: ${name}: ${words.textContent}`); } }
  return bad.slice(0, 10); })()"""
CONTRAST = """(() => {
  const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); };
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1]; };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat([1]);
  const known = new Map();
  const background = (element) => {
    if (!element) return [255, 255, 255, 1];
    if (!known.has(element)) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      known.set(element, colour[3] === 1 ? colour : over(colour, background(element.parentElement)));
    }
    return known.get(element);
  };
  const bad = new Map();
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (seen.has(element) || !walker.currentNode.textContent.trim() || element.closest("script,style,title,desc,noscript")) continue;
    seen.add(element);
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    if (box.width === 0 || style.visibility === "hidden" || Number(style.opacity) === 0) continue;
    const behind = background(element);
    const front = over(parse(element.closest("svg") ? style.fill : style.color), behind);
    const [low, high] = [luminance(front), luminance(behind)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < least) {
      bad.set(element.tagName + "." + element.getAttribute("class") + " " + front.slice(0, 3).map(Math.round) + " on " +
              behind.slice(0, 3).map(Math.round), ratio.toFixed(2) + ": " + walker.currentNode.textContent.trim().slice(0, 40));
    }
  }
  return [...bad].slice(0, 20).map(([where, what]) => where + " " + what);
})()"""


AXE = next(ROOT.glob(".venv/lib/python3*/site-packages/axe_core_python/axe.min.js"), None)


@unittest.skipUnless((HAS_DOXYGEN and browser.find()) or IN_CI, "no Chromium or no Doxygen here: run `make deps docs`")
class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if built().returncode != 0:
            raise AssertionError(built().stderr)
        cls.window = browser.Browser()
        cls.addClassCleanup(cls.window.close)
        pages = sorted(path.name for path in SITE.glob("*.html"))
        api = [name for name in pages if "_8" in name or re.match(r"(class|struct|dir_|globals|namespace)", name)]
        cls.told = [name for name in pages if name not in api]
        # What Doxygen makes is alike: `make nightly` looks at all of it.
        looked_at = api if os.environ.get("WARPBOOK_NIGHTLY") else [*api[::8], "launch_8cuh.html", "permute_8cuh.html"]
        cls.pages = sorted({*cls.told, *looked_at})
        # All pages are seen on a phone; at a desk, in the dark and on paper the third whose turn the date says it is.
        turn, of = (0, 1) if os.environ.get("WARPBOOK_NIGHTLY") else (datetime.date.today().toordinal() % 3, 3)
        cls.whole = {*cls.told[turn::of], "chapter3.html", "chapter3-v4b.html", "launch_8cuh.html", "permute_8cuh.html"}

    def open(self, name):
        self.window.errors.clear()
        self.window.open((SITE / name).as_uri())

    @classmethod
    def every_page(cls):
        """{page: what was seen of it}, of one load of each page for all the tests that look at every page."""
        if not hasattr(cls, "seen"):
            cls.seen = {name: cls.looked_at(name) for name in cls.pages}
            cls.window.window(1280, 900)
            cls.window.dark(False)
        return cls.seen

    @classmethod
    def looked_at(cls, name):
        """A page on a phone, and where it is its turn at a desk, in light and dark, and a chapter's on paper."""
        window = cls.window
        window.errors.clear()
        window.dark(False)
        window.window(390, 844, mobile=True)
        window.open((SITE / name).as_uri())
        found = window.run(f"({{width: {WIDTH}, ladders: {LADDERS}, controls: {CONTROLS}, next: [{NEXT}]}})")
        window.run(UNFOLDED)
        found |= window.run(f"({{unreadable: {UNREADABLE}, cut: [{CUT}], hidden: {OFF_SCREEN}}})")
        if name in cls.whole:
            window.window(1400, 900)
            found["cut"] += window.run(f"[{CUT}]")
            found["next"] += window.run(f"[{NEXT}]")
        if name.startswith("chapter"):
            found |= window.run(SHOWN)
        if name in cls.whole:
            found["dark"], found["contrast"] = [], []
            for dark in (False, True):
                window.dark(dark)
                found["dark"].append(window.run(IS_DARK))
                found["contrast"].append(window.run(CONTRAST))
        if name in cls.whole and name.startswith("chapter"):
            window.run(FOLDED)
            window.dark(False)
            window.window(718, 1000)
            window.call("Emulation.setEmulatedMedia", media="print")
            found |= window.run(PRINTED)
        found["errors"] = list(window.errors)
        return found

    def test_every_page_loads_without_an_error_and_fits_a_phone(self):
        for name, seen in self.every_page().items():
            with self.subTest(page=name):
                self.assertEqual(seen["errors"], [])
                self.assertLessEqual(seen["width"], 390)
                self.assertEqual(set(seen["ladders"]) - {True}, set())
                self.assertEqual(seen["unreadable"], [])
                self.assertEqual(seen["hidden"], [])

    @unittest.skipUnless(AXE or IN_CI, "axe-core is not here: run `make deps docs`")
    def test_pages_of_each_kind_are_accessible(self):
        self.assertTrue(AXE, "axe-core is not here: run `make deps docs`")
        self.window.window(1280, 900)
        self.addCleanup(self.window.dark, False)
        axe = AXE.read_text(encoding="utf-8")
        dark = ("chapter3-v4b.html",)
        for name, is_dark in [(name, True) for name in dark] + [(name, False) for name in ("index.html", "memory.html", "chapter3.html", "chapter3-v4b.html", "chapter3-evidence.html", "lookup.html",
                     "profiling.html", "permute_8cuh.html", "slides/chapter3.html", "figures.html", "making.html", "result_emulator_bugs.html")]:
            self.window.dark(is_dark)
            with self.subTest(page=name, dark=is_dark):
                self.open(name)
                self.window.run('document.querySelectorAll("details").forEach((part) => { part.open = true; })')
                self.window.run(f"{axe};0")
                self.assertEqual(self.window.run('axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map('
                                                 "(fault) => [fault.id, fault.impact, ...fault.nodes.slice(0, 3).map((node) => node.html.slice(0, 120))]))"), [])
                self.assertEqual(self.window.run('document.querySelectorAll("main").length'), 1)

    def test_no_line_of_code_is_cut(self):
        """What is wider than its box is cut on the screen. On a phone that is allowed to columns that were printed, which scroll."""
        for name in self.told:
            with self.subTest(page=name):
                self.assertEqual(sum(self.every_page()[name]["cut"], []), [])

    def test_the_menu_opens(self):
        """On a phone by a tap on its button, which nothing may cover; at a desk the tree of pages is there."""
        def settled(script):
            return f"new Promise((done) => setTimeout(() => done({script}), 600))"

        items = """[...document.querySelectorAll("#main-menu > li > a")].filter((item) => { const box = item.getBoundingClientRect();
          return box.height > 0 && item.contains(document.elementFromPoint(box.left + 5, box.top + box.height / 2)); }).length"""
        self.window.window(390, 844, mobile=True)
        self.open("chapter3-v4b.html")
        self.assertEqual(self.window.run(settled(items)), 0)
        x, y = self.window.run('(() => { const box = document.querySelector(".main-menu-btn").getBoundingClientRect();'
                               "return [box.left + box.width / 2, box.top + box.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.window.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.assertGreater(self.window.run(settled(items)), 3)
        self.assertEqual(self.window.errors, [])
        self.window.window(1400, 900)
        self.open("chapter3-v4b.html")
        seen = '[...document.querySelectorAll("#side-nav a")].filter((item) => item.offsetHeight > 0 && item.textContent.includes("v4b")).length'
        self.assertEqual(self.window.run(settled(seen)), 1)
        cut = """[...document.querySelectorAll("#nav-tree .item")].map((item) => [item, item.querySelector(".label a")]).filter(([item, label]) => {
          const box = label.getBoundingClientRect(), row = item.getBoundingClientRect();
          return box.width > 0 && (box.right > document.querySelector("#side-nav").getBoundingClientRect().right || box.bottom > row.bottom + 1); })
          .map(([, label]) => label.textContent)"""
        self.assertEqual(self.window.run(cut), [])
        self.window.window(1280, 900)

    def test_what_is_printed_and_listed_is_seen_where_it_stands(self):
        """On a phone the sample's times, shares and gains; on both, the whole tables of chapters and of a course's exercises."""
        self.addCleanup(self.window.window, 1280, 900)
        self.window.window(390, 844, mobile=True)
        for name in ("index.html", "memory.html"):
            self.open(name)
            share = """[...document.querySelectorAll(".columns")].map((part) => part.scrollWidth <= part.clientWidth
              && /^v1 .*28%/m.test(part.innerText) && /1\\.49x +3\\.27x$/m.test(part.innerText))"""
            self.assertEqual(self.window.run(share), [True], name)
        for name, table in (("index.html", "chapters"), ("teaching.html", "sessions")):
            for width in (390, 1400):
                self.window.window(width, 900, mobile=width < 500)
                self.open(name)
                fits = f'[...document.querySelectorAll(".scroll:has(table.{table})")].map((part) => part.scrollWidth <= part.clientWidth)'
                self.assertEqual(self.window.run(fits), [True], (name, width))

    def test_an_error_on_a_page_is_seen(self):
        self.open("index.html")
        self.window.run("setTimeout(() => { noSuchFunction(); }, 0)")
        self.window.run("new Promise((done) => setTimeout(done, 50))")
        self.assertTrue(self.window.errors)

    def test_a_control_changes_its_drawing(self):
        for _ in self.widths():
            self.open("chapter3-v4b.html")
            seen = """(() => { const figure = document.querySelector(".explore"), shown = [...figure.querySelectorAll(".frames > div")].filter((frame) => !frame.hidden);
              return [...figure.querySelectorAll("output")].map((output) => output.textContent).concat(shown.map((frame) => frame.innerText.match(/\\d+ turns?/)[0])); })()"""
            self.assertEqual(self.window.run(seen), ["0", "float: 32 turns; half: 16 turns", "32 turns"])
            self.window.run('document.querySelector(".explore input").focus()')
            for told in (["1", "float: 1 turn; half: 1 turn", "1 turn"], ["2", "float: 2 turns; half: 1 turn", "2 turns"]):
                self.press("ArrowRight", "ArrowRight", 39)
                self.assertEqual(self.window.run(seen), told)
                self.assertEqual(self.window.run('document.querySelector(".explore input").getAttribute("aria-valuetext")'), told[0])
            self.assertEqual(self.window.errors, [])

    def press(self, key, code, number):
        for kind in ("keyDown", "keyUp"):
            self.window.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number)

    def test_the_keyboard_reaches_what_is_seen_above_the_pages(self):
        """Title, search, the switch between light and dark, and nothing that is not seen."""
        self.window.window(1280, 900)
        self.open("chapter3-v4b.html")
        self.window.run("""new Promise((done) => {  // The switch is made once the page is there.
            const look = () => document.querySelector("doxygen-awesome-dark-mode-toggle") ? done(true) : setTimeout(look, 20);
            look(); })""")
        stops = []
        for _ in range(3):
            self.press("Tab", "Tab", 9)
            stops.append(self.window.run("document.activeElement.tagName.toLowerCase()"))
        self.assertEqual(stops, ["a", "input", "doxygen-awesome-dark-mode-toggle"])
        for dark in (True, False):
            self.press("Enter", "Enter", 13)
            self.assertEqual(self.window.run('document.documentElement.classList.contains("dark-mode")'), dark)

    def test_every_control_begins_with_what_its_page_says(self):
        """One state is seen, the one that the page names, and the counter beside the control is that state's."""
        found = 0
        for name in self.told:
            begins = re.findall(r'class="control"><label><span>[^<]*<output>(\d+)</output>', (SITE / name).read_text(encoding="utf-8"))
            figures = self.every_page()[name]["controls"]
            self.assertEqual(figures, [[1, value, value, True] for value in begins], name)
            found += len(figures)
        self.assertGreater(found, 25)

    def widths(self):
        """At a desk and on a phone."""
        self.addCleanup(self.window.window, 1280, 900)
        for width in (1400, 390):
            self.window.window(width, 844, mobile=width < 500)
            yield width

    def test_from_the_front_page_to_the_last_step_of_the_last_chapter(self):
        """By the link to the next page, which a phone shows, and a desk where it is the page's turn."""
        last = reading.ladder(chapters.chapters()[-1])[-1]
        walked = ["index"]
        while walked[-1] != last and len(walked) < 200:
            seen = self.every_page()[f"{walked[-1]}.html"]
            self.assertTrue(all(shown for _, shown in seen["next"]), f"{walked[-1]}: the link to the next page is not seen")
            phone = seen["next"][0][0]
            self.assertEqual({address for address, _ in seen["next"]}, {phone})
            self.assertEqual(seen["errors"], [])
            walked.append(phone.rpartition("/")[2].replace(".html", ""))
        self.assertEqual(walked, list(reading.way()))
        self.assertEqual(self.every_page()[f"{last}.html"]["errors"], [])

    def found(self, words):
        """The addresses that the search lists for these words, best first."""
        return self.window.run("""((words) => { const field = document.getElementById("BookSearch"); field.value = words;
            document.querySelector("#BookResults")?.remove();
            field.dispatchEvent(new Event("input", {bubbles: true}));
            return new Promise((done) => {
              const look = (left) => { const links = [...document.querySelectorAll("#BookResults a")];
                if (links.length || !left) done(links.map((a) => a.getAttribute("href"))); else setTimeout(look, 50, left - 1); };
              look(200); }); })""" + f"({words!r})")

    def test_search_finds_the_words_of_the_glossary(self):
        wanted = ["coalescing", "coalesced", "occupancy", "vectorised load", "vectorized load", "roofline", "bank conflict", "race",
                      *(heading.lower() for heading in re.findall(r"^### (.+)$", (ROOT / "docs/pages/glossary.md").read_text("utf-8"), re.M))]
        for _ in self.widths():
            self.open("index.html")
            for words in wanted:
                self.assertTrue(any(address.startswith("glossary.html#") for address in self.found(words)[:5]), words)

    def test_search_ranks_the_book_before_the_api_and_leaves_the_emulators_insides_out(self):
        self.open("index.html")
        self.assertIn("lookup.html#lookup-permutations", self.found("which kernel permute"))
        self.assertEqual(self.found("RaceShadow"), [])
        self.assertTrue(self.found("judge_arguments")[0].startswith("permute_8cuh.html"))
        for words in ("grid", "stream", "launch", "pack"):
            api = [bool(re.match(r"(class|struct|namespace)|.*_8(cuh|hpp)", address)) for address in self.found(words)]
            self.assertEqual(api, sorted(api), words)

    def test_search_finds_bank_conflicts(self):
        self.open("index.html")
        found = self.found("bank conflict")
        self.assertTrue(found)
        self.assertEqual(found[0], "counters.html#counters-bank-conflict")
        self.assertTrue(any(re.match(r"chapter3\b", address) for address in found), found)

    def test_chapters_show_chart_table_and_code(self):
        for chapter in chapters.chapters():
            with self.subTest(chapter=chapter.number):
                rows = code = 0
                for name in addresses.of_chapter(chapter):
                    seen = self.every_page()[f"{name}.html"]
                    rows, code = rows + seen["rows"], code + seen["fragments"]
                    self.assertGreaterEqual(seen["buttons"], seen["fragments"])
                    if chapter.times() and name == f"chapter{chapter.number}":
                        self.assertGreater(seen["bars"], 0)
                    self.assertLessEqual(seen["most"], 12, name)
                    self.assertEqual(seen["unnamed"], 0)
                self.assertEqual(rows, len(chapter.steps))
                self.assertEqual(code, len(chapter.pages))

    def test_chapters_fit_on_paper(self):
        """An A4 page between its margins: nothing wider than it, which would shrink the text, and no navigation on it."""
        for name in sorted(name for name in self.whole if name.startswith("chapter")):
            with self.subTest(page=name):
                seen = self.every_page()[name]
                self.assertEqual(seen["wide"], [])
                self.assertEqual(seen["navigation"], [])

    def test_contrast_is_readable_in_light_and_dark(self):
        for name in sorted(self.whole):
            with self.subTest(page=name):
                seen = self.every_page()[name]
                self.assertEqual(seen["dark"], [False, True])
                self.assertEqual(seen["contrast"], [[], []])
                self.assertEqual(seen["errors"], [])


if __name__ == "__main__":
    unittest.main()
