#!/usr/bin/env python3
"""The parts of tests/chapters/peers that need no GPU: which cases it draws, what it counts, how it merges."""

import contextlib
import importlib
import io
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

PEERS = pathlib.Path(__file__).resolve().parent / "peers"
sys.path.insert(0, str(PEERS))
sys.dont_write_bytecode = True

import chapter2  # noqa: E402
import chapter5  # noqa: E402
import library  # noqa: E402
import peers  # noqa: E402
from chapter3 import fixed_cases, is_prime, random_cases  # noqa: E402
from results import merge, slower, summarise, within  # noqa: E402


def spread(median, width=0.001):
    return {"median": median, "p25": median * (1 - width), "p75": median * (1 + width), "min": median * (1 - width)}


def row(number, ours, eager, compiled, group="random"):
    return {
        "number": number, "group": group, "case": f"shape={number},2 perm=1,0", "dtype": "half",
        "ours_seconds": ours, "eager_seconds": eager, "compiled_seconds": compiled,
        "spread": {"ours": spread(ours), "eager": spread(eager), "compiled": spread(compiled or 0.0)},
    }


class Cases(unittest.TestCase):
    def test_random_cases_are_what_the_chapter_says(self):
        cases = random_cases(200, 7)
        self.assertEqual(len(cases), 200)
        for case in cases:
            self.assertEqual(sorted(case.permutation), list(range(len(case.shape))))
            self.assertIn(len(case.shape), range(2, 9))
            self.assertGreaterEqual(case.tensor_bytes, 8 * 2**20)
            self.assertTrue(case.moves_data)
        self.assertGreaterEqual(sum(case.shape[-1] <= 8 for case in cases), 50)
        self.assertGreaterEqual(sum(all(map(is_prime, case.shape)) for case in cases), 50)
        self.assertEqual({len(case.shape) for case in cases}, set(range(2, 9)))

    def test_a_seed_gives_the_same_cases(self):
        self.assertEqual(random_cases(20, 3), random_cases(20, 3))
        self.assertNotEqual(random_cases(20, 3), random_cases(20, 4))

    def test_two_versions_share_no_variable(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.so"
            for option, shared in (("-fgnu-unique", 1), ("-fno-gnu-unique", 0)):
                subprocess.run(["g++", "-shared", "-fPIC", option, "-xc++", "-", "-o", str(path)], check=True, text=True,
                               input="namespace warpbook { inline int rules = 1; } int* at() { return &warpbook::rules; }")
                self.assertEqual(len(library.shared_names(path)), shared)

    def test_fixed_cases_are_all_different(self):
        self.assertEqual(len(set(fixed_cases())), len(fixed_cases()))


class Results(unittest.TestCase):
    def test_slower_needs_two_percent_and_quartiles_apart(self):
        self.assertTrue(slower(spread(1.03), spread(1.0)))
        self.assertFalse(slower(spread(1.01), spread(1.0)))
        self.assertFalse(slower(spread(1.03, width=0.05), spread(1.0)))

    def test_within_five_percent_is_meant_with_the_same_margin(self):
        self.assertTrue(within(spread(1.06), spread(1.0)))
        self.assertFalse(within(spread(1.08), spread(1.0)))
        self.assertTrue(within(spread(1.08, width=0.05), spread(1.0)))

    def test_summary_counts(self):
        rows = [row(0, 1.06, 2.0, 1.0), row(1, 1.0, 0.9, 0.9), row(2, 1.0, 1.0, None),
                {"number": 3, "group": "random", "case": "c", "dtype": "half", "error": "differs"}]
        self.assertEqual(
            summarise(rows),
            {"cases": 4, "failed": 1, "slower_than_eager": 1, "compared_with_compiled": 2,
             "slower_than_compiled": 2, "within_5_percent_of_compiled": 1},
        )

    def test_the_share_of_a_bound_is_summed_up(self):
        rows = [row(number, 2.0, 2.0, 1.0) | {"bound_seconds": bound} for number, bound in enumerate((0.5, 1.0, 2.2))]
        self.assertEqual(summarise(rows)["median_share_of_bound"], 0.5)

    def test_what_was_planned_is_counted_beside_ours(self):
        rows = [row(0, 1.2, 2.0, 1.0), row(1, 1.0, 2.0, 1.0), row(2, 1.0, 2.0, None)]
        self.assertNotIn("planned_otherwise", summarise(rows))
        for one, planned, kernel in zip(rows, (1.06, 1.08, 2.1), ("v7l", "v7i", None), strict=True):
            one |= {"planned_seconds": planned, "planned_kernel": kernel, "planning_seconds": planned / 10}
            one["spread"]["planned"] = spread(planned)
        summary = summarise(rows)
        self.assertEqual(summary["within_5_percent_of_compiled"], 1)
        self.assertEqual(summary["planned_within_5_percent_of_compiled"], 1)
        self.assertEqual(summary["planned_slower_than_eager"], 1)
        self.assertEqual(summary["planned_otherwise"], 2)
        self.assertAlmostEqual(summary["median_planning_seconds"], 0.108)

    def test_a_record_of_triton_keeps_other_chapters(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "triton.json"
            self.assertEqual(peers.others_in_triton(file, 3), [])
            file.write_text(json.dumps({"cases": [{"chapter": 2, "case": "a"}, {"chapter": 3, "case": "b"}]}))
            self.assertEqual(peers.others_in_triton(file, 3), [{"chapter": 2, "case": "a"}])

    def test_parts_are_merged_in_order(self):
        run = {"seed": 1, "random": 3, "commit": "c", "sources": "s", "driver": "d", "torch": "t", "part": "1/2"}
        with tempfile.TemporaryDirectory() as folder:
            parts = []
            for number, rows in enumerate(([row(0, 1, 2, 1), row(2, 1, 2, 1)], [row(1, 1, 2, 1)])):
                parts.append(pathlib.Path(folder) / f"{number}.json")
                document = {"device": "a device", "run": run, "cases": rows, "left_out": [], "partial": False}
                parts[-1].write_text(json.dumps(document), encoding="utf-8")
            output = pathlib.Path(folder) / "all" / "peers.json"
            merged = merge(output, parts)
            self.assertEqual([r["number"] for r in merged["cases"]], [0, 1, 2])
            self.assertFalse(merged["partial"])
            self.assertEqual(json.loads(output.read_text()), merged)

            whole = parts[0].read_text()
            for key, old, new in (("seed", "1", "2"), ("sources", '"s"', '"t"')):
                parts[0].write_text(whole.replace(f'"{key}": {old}', f'"{key}": {new}'), encoding="utf-8")
                with self.assertRaisesRegex(ValueError, f"the parts differ in {key}"):
                    merge(output, parts)


class Modules(unittest.TestCase):
    def test_each_chapter_says_what_peers_needs(self):
        self.assertIn(3, peers.chapters())
        for number in peers.chapters():
            with self.subTest(chapter=number):
                module = importlib.import_module(f"chapter{number}")
                source = (PEERS / f"{module.LIBRARY}_c.cu").read_text(encoding="utf-8")
                for function in module.FUNCTIONS:
                    self.assertIn(f"int {function}(", source)
                fixed = module.fixed_cases()
                names = [(c.name, c.dtype) for c in fixed]
                self.assertEqual(len(set(names)), len(names))  # By these, rows are told apart when parts are merged.
                self.assertEqual(module.random_cases(5, 3), module.random_cases(5, 3))
                self.assertNotEqual(module.random_cases(5, 3), module.random_cases(5, 4))
                for case in fixed + module.random_cases(5, 3):
                    self.assertGreater(case.bytes_moved, 0)
                    part, share = case.small_part()
                    if part is not None:  # What the compiler is judged by where a call of the case may take seconds.
                        self.assertIs(type(part), type(case))
                        self.assertEqual((part.dtype, part.count), (case.dtype, case.count // share))


class Views(unittest.TestCase):
    """Chapter 2's."""

    def test_random_views_are_what_the_chapter_says(self):
        for case in chapter2.random_cases(100, 7):
            self.assertFalse(case.is_contiguous)
            self.assertIn(case.result_bytes, range(2**23, 2**28 + 1))

    def test_touched_blocks_are_those_of_the_elements(self):
        generator = random.Random(5)
        for _ in range(3000):
            element_bytes = generator.choice((1, 2, 4, 8))
            steps = [(generator.randint(1, 7), element_bytes * generator.choice((0, 1, 2, 5, 16, 30, 100, 1000)))
                     for _ in range(generator.randint(0, 4))]
            first = element_bytes * generator.randint(0, 99)
            places = [first]
            for size, between in steps:
                places = [place + k * between for place in places for k in range(size)]
            self.assertEqual(chapter2.touched_blocks(steps, element_bytes, first), len({p // 64 for p in places}), steps)

    def test_the_least_traffic_of_a_step(self):
        view = chapter2.View((64, 1024, 64), (1 << 20, 1024, 16), 0, "float")  # Each element a block of its own.
        self.assertEqual(view.bytes_moved, 2**22 * 4 + 2**22 * 64)


class IndexAdds(unittest.TestCase):
    """Chapter 5's."""

    def test_random_cases_are_what_the_chapter_says(self):
        cases = chapter5.random_cases(1000, 7)
        for case in cases:
            self.assertTrue(2**20 <= case.bytes <= 2**32)
            self.assertTrue(1 <= case.count <= 2**24 and 1 <= case.row_elements <= 2**20)
            self.assertLess(8 * case.bytes, 40e9)
        self.assertEqual({(case.dtype, case.draw) for case in cases},
                         {(dtype, draw) for dtype in chapter5.TYPES for draw in chapter5.DRAWS})
        self.assertEqual({(len(case.shape), case.dim) for case in cases},
                         {(rank, dim) for rank in range(1, 6) for dim in range(rank)})
        self.assertGreaterEqual(sum(case.bytes > 2**31 for case in cases), 20)
        self.assertGreaterEqual(sum(case.count > 2**20 and len(case.shape) > 1 for case in cases), 20)

    def test_rows_that_are_named_are_counted(self):
        generator = random.Random(5)
        for rows, count in ((1, 5), (7, 3), (40, 3000), (1000, 100), (5000, 20000)):
            def distinct(draw, rows=rows, count=count):
                return chapter5.IndexAdd((rows, 2), 0, count, "float", draw).distinct_rows()

            chances = [math.log1p(1 / k) / math.log(rows + 1) for k in range(1, rows + 1)]
            exact = sum(1 - (1 - chance) ** count for chance in chances)
            self.assertAlmostEqual(distinct("zipf") / exact, 1, delta=1e-3)
            for draw in ("uniform", "sorted", "clustered"):
                drawn = 0
                for _ in range(50):
                    first = [generator.randrange(rows) for _ in range(-(-count // chapter5.CLUSTER))]
                    drawn += len({(first[i // chapter5.CLUSTER] + generator.randrange(min(chapter5.WINDOW, rows))) % rows
                                  if draw == "clustered" else generator.randrange(rows) for i in range(count)})
                self.assertAlmostEqual(distinct(draw) / (drawn / 50), 1, delta=0.1, msg=(draw, rows, count))

    def test_what_a_compiler_may_take_seconds_for(self):
        for draw in chapter5.DRAWS:
            for dtype in chapter5.TYPES:
                share = chapter5.IndexAdd((2, 64), 0, 2**20, dtype, draw).small_part()[1]
                self.assertEqual(share, 64 if dtype in ("half", "bfloat16") else 1)
            self.assertEqual(chapter5.IndexAdd((2**20, 64), 0, 2**12, "half", draw).small_part(), (None, 1))
            self.assertEqual(chapter5.IndexAdd((2,), 0, 2**22, "half", draw).small_part()[1], 4)  # What fills the device.

    def test_a_bound_has_bytes_and_atomics(self):
        rates = chapter5.additions_per_second()
        for dtype, shape, elements_per_second in (
            ("half", (64, 3), max(rates["half"], rates["half2"])), ("half", (64, 4), 2 * rates["half2"]),
            ("float", (64, 4), 4 * rates["float4"]), ("double", (64, 4), rates["double"]), ("int64", (64, 4), rates["uint64"]),
        ):
            case = chapter5.IndexAdd(shape, 0, 2**20, dtype)  # All rows are named.
            self.assertAlmostEqual(case.bound_seconds(0.0) * elements_per_second / math.prod(shape), 1)
            self.assertEqual(case.bound_seconds(1.0), 1.0)


def without_a_gpu():
    """PyTorch and what needs it, as far as the scripts look at them."""
    torch = unittest.mock.MagicMock(__version__="2.0", version=types.SimpleNamespace(cuda="13.0"))
    torch.cuda.get_device_name.return_value, torch.cuda.get_device_capability.return_value = "A Device", (9, 0)
    names = ("torch._inductor", "torch._inductor.config", "triton", "triton.language")
    others = {name: unittest.mock.MagicMock(__version__="3.0") for name in names}
    return unittest.mock.patch.dict(sys.modules, {"torch": torch} | others)


class Triton(unittest.TestCase):
    def test_each_chapter_has_two_versions(self):
        with without_a_gpu():
            module = importlib.import_module("triton_versions")
        for number in peers.chapters():
            found = module.versions(number)
            cases = importlib.import_module(f"chapter{number}").fixed_cases()
            self.assertGreaterEqual(len({case.name for case in found}), 2)
            self.assertEqual({case.dtype for case in found}, {"float", "half"})
            for case in found:
                self.assertIn(case, cases)


class Versions(unittest.TestCase):
    def test_parts_share_the_cases(self):
        with without_a_gpu(), unittest.mock.patch.dict(sys.modules, {"timing": unittest.mock.MagicMock()}):
            versions = importlib.import_module("versions")
            measured = []
            even = {"old": spread(1.0), "new": spread(1.0)}
            for part in ("1/3", "2/3", "3/3"):
                sys.argv = ["versions.py", "--chapter", "3", "--old", "a.so", "--new", "b.so", "--random", "4", "--part", part]
                with unittest.mock.patch.multiple(versions, load=unittest.mock.DEFAULT, shared_names=lambda _: []), contextlib.redirect_stdout(io.StringIO()), \
                        unittest.mock.patch.object(versions, "measure", lambda case, *_: measured.append(case) or even):
                    self.assertEqual(versions.main(), 0)
        self.assertCountEqual(measured, fixed_cases() + random_cases(4, 1))


class Timing(unittest.TestCase):
    def test_a_slow_call_is_sampled_five_times(self):
        with without_a_gpu():
            timing = importlib.import_module("timing")
        calls = []
        timer = timing.Timer.__new__(timing.Timer)
        timer.samples, timer.host_seconds = 31, lambda function: 0.0
        timer.sample = lambda function, _: function()
        times = timer.time({"fast": lambda: 0.049, "slow": lambda: calls.append(1) or 0.051})
        self.assertEqual({name: each["samples"] for name, each in times.items()}, {"fast": 31, "slow": 5})
        self.assertEqual((len(calls), times["slow"]["median"]), (6, 0.051))


class CommandLine(unittest.TestCase):
    def record(self, *arguments):
        """What peers.py prints and records of chapter 3, each case taking a second, and each other version, too."""

        def measure(case, library, timer, with_compiled, more):
            return row(0, 1.0, 1.0, 1.0) | {"case": case.name, "dtype": case.dtype} | {f"{name}_seconds": 1.0 for name in more}

        with tempfile.TemporaryDirectory() as folder, without_a_gpu(), contextlib.redirect_stdout(io.StringIO()) as printed, \
                unittest.mock.patch.dict(sys.modules, {"timing": unittest.mock.MagicMock()}), \
                unittest.mock.patch("library.load"), unittest.mock.patch("peers.measure", measure):
            output = pathlib.Path(folder) / "peers.json"
            sys.argv = ["peers.py", "--chapter", "3", "--library", "x.so", "--no-compiled", "--output", str(output), *arguments]
            self.assertEqual(peers.main(), 0)
            return printed.getvalue(), json.loads(output.read_text(encoding="utf-8"))

    def test_a_seed_is_drawn_told_and_recorded(self):
        random_only = ("--no-fixed", "--random", "3")
        printed, drawn = self.record(*random_only)
        seed = drawn["run"]["seed"]
        self.assertIn(f"--seed {seed}\n", printed)
        self.assertRegex(drawn["run"]["sources"], "^[0-9a-f]{12}$")
        _, again = self.record(*random_only, "--seed", str(seed))
        self.assertEqual([case["case"] for case in again["cases"]], [case["case"] for case in drawn["cases"]])
        self.assertNotEqual(self.record(*random_only)[1]["run"]["seed"], seed)

    def test_versions_in_triton_have_a_record_of_their_own(self):
        _, record = self.record("--triton")
        self.assertEqual(len(record["cases"]), 4)
        self.assertTrue(all(case["triton_seconds"] for case in record["cases"]))
        self.assertNotIn("triton_seconds", self.record("--begin", "25")[1]["cases"][0])

    def test_a_record_is_made_without_the_sources_too(self):
        with unittest.mock.patch("peers.ROOT", pathlib.Path("/nowhere")), unittest.mock.patch.dict(sys.modules):
            sys.modules.pop("record_times", None)
            self.assertEqual(peers.sources(3), "unknown")

    def test_bad_arguments(self):
        for arguments in (
            ["--chapter", "3", "--samples", "3"], ["--part", "3/2"], ["--merge", "only_one"], ["--nonsense"],
            ["--chapter", "99"], [], ["--chapter", "3", "--begin", "0"],
            ["--chapter", "3", "--random", "9", "--part", "2/3"], ["--chapter", "3", "--random", "9", "--begin", "2"],
            ["--chapter", "3", "--triton", "--random", "9"],
        ):
            result = subprocess.run(
                [sys.executable, "-B", str(PEERS / "peers.py"), *arguments], capture_output=True, text=True, check=False
            )
            self.assertEqual(result.returncode, 2)
            self.assertIn("error: ", result.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
