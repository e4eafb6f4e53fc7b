#!/usr/bin/env python3
"""scripts/record_times.py with a stand-in for run_all: records that are made in parts."""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import record_times  # noqa: E402

# Does each case that it is asked for; before the one that the file `stop` names it waits for a signal, as half a case.
STAND_IN = r'''#!/usr/bin/env python3
import json, pathlib, signal, sys
here = pathlib.Path(__file__).parent
cases = ["n=1 dtype=half", "n=2 dtype=half", "n=3 dtype=half"]
if "--list" in sys.argv:
    print("Cases\n" + "\n".join(f"   title\n            --case '{case}'" for case in cases))
    sys.exit()
if "--device-info" in sys.argv:
    sys.exit(print("device   NVIDIA Test"))
wanted = [b for a, b in zip(sys.argv, sys.argv[1:]) if a == "--case"] or (cases if "--full" in sys.argv else cases[:1])
with open(here / "asked", "a") as asked:
    asked.write(";".join(wanted) + "\n")
done, partial = [], False
def stop(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, stop)
for case in wanted:
    words = case.split()
    done.append({"name": case, "parameters": " ".join([words[1], words[0], "follows=1"]), "steps": []})
    if (here / "stop").exists() and case == (here / "stop").read_text():
        try:
            (here / "waiting").touch()
            signal.pause()
        except KeyboardInterrupt:
            partial = True
            break
    done[-1]["steps"] = [{"version": version} for version in (["v2"] if "--step" in sys.argv else ["v1", "v2"])]
path = sys.argv[sys.argv.index("--json") + 1]
pathlib.Path(path).write_text(json.dumps({"chapter": 1, "partial": partial, "run": {"commit": (here / "commit").read_text(), "date": "today"},
                                          "device": {"name": "NVIDIA Test"}, "cases": done}))
sys.exit(130 if partial else 0)
'''


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        chapter = self.folder / "chapters/chapter1_test"
        chapter.mkdir(parents=True)
        (chapter / "chapter.cu").write_text('#include "chapters/chapter1_test/v1.cuh"\n')
        self.kernel = chapter / "v1.cuh"
        self.kernel.write_text("// v1\nint v1;\n")
        self.program, self.output = self.folder / "run_all", self.folder / "out/chapter1.json"
        self.program.write_text(STAND_IN)
        self.program.chmod(0o755)
        (self.folder / "commit").write_text("first")
        root, record_times.ROOT = record_times.ROOT, self.folder
        self.addCleanup(setattr, record_times, "ROOT", root)

    def record(self, *more):
        arguments, sys.argv = sys.argv, ["record_times", "1", "--program", str(self.program), "--output", str(self.output), *more]
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                return record_times.main(), said.getvalue()
        finally:
            sys.argv = arguments

    def asked(self):
        return (self.folder / "asked").read_text().splitlines()

    def test_what_is_recorded_is_not_measured_again(self):
        self.assertEqual(self.record()[0], 0)
        self.assertEqual(self.record()[0], 0)
        self.assertEqual(len(self.asked()), 1)
        self.assertIn("the sources as they are", self.record("--state")[1])

    def test_other_sources_begin_anew(self):
        self.record()
        self.kernel.write_text("// the first one\nint v1;\n")
        self.assertIn("the sources as they are", self.record("--state")[1])
        self.kernel.write_text("int v1 = 1;\n")
        self.assertIn("other sources", self.record("--state")[1])
        self.record()
        self.assertEqual(len(self.asked()), 2)

    def test_a_chapter_without_steps(self):
        (self.kernel.parent / "chapter.cu").unlink()
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
            self.record("--state")
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("1: no chapter of steps has this number", said.getvalue())

    def test_some_cases_of_all(self):
        self.assertEqual(self.record("--case", "n=[13]")[0], 0)
        self.assertEqual(self.record()[0], 0)
        self.assertEqual(self.asked(), ["n=1 dtype=half;n=3 dtype=half", "n=2 dtype=half"])
        self.assertEqual([case["name"][:3] for case in json.loads(self.output.read_text())["cases"]], ["n=1", "n=2", "n=3"])

    def test_in_brief(self):
        self.assertEqual(self.record("--brief")[0], 0)
        record = json.loads(self.output.read_text())
        self.assertEqual([len(case["steps"]) for case in record["cases"]], [2, 1, 1])
        self.assertFalse(record["partial"])
        self.assertEqual(self.record("--brief")[1], "chapter 1: all 3 cases are recorded of these sources\n")

    def test_a_run_that_was_stopped_goes_on(self):
        (self.folder / "stop").write_text("n=2 dtype=half")
        code = (f"import sys, pathlib; sys.path.insert(0, {str(pathlib.Path(record_times.__file__).parent)!r}); import record_times; "
                f"record_times.ROOT = pathlib.Path({str(self.folder)!r}); sys.exit(record_times.main())")
        child = subprocess.Popen([sys.executable, "-c", code, "1", "--program", self.program, "--output", self.output],
                                 stdout=subprocess.DEVNULL)
        while not (self.folder / "waiting").exists():
            self.assertIsNone(child.poll())
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGTERM)
        self.assertEqual(child.wait(), 130)
        record = json.loads(self.output.read_text())
        self.assertEqual((record["partial"], [case["name"] for case in record["cases"]]), (True, ["n=1 dtype=half"]))

        (self.folder / "stop").unlink()
        (self.folder / "commit").write_text("second")
        self.assertEqual(self.record()[0], 0)
        self.assertEqual(self.asked()[1], "n=2 dtype=half;n=3 dtype=half")
        record = json.loads(self.output.read_text())
        self.assertFalse(record["partial"])
        self.assertEqual([len(case["steps"]) for case in record["cases"]], [2, 2, 2])
        self.assertEqual([(part["commit"], part["cases"]) for part in record["run"]["parts"]], [("first", 1), ("second", 2)])


if __name__ == "__main__":
    unittest.main()
