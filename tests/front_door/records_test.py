"""The recorded results as a whole: how large they are, and that each names a commit of the history."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMIT = re.compile(r'(?:"commit": ?"|\bcommit )([0-9a-f]{7,40})(-dirty)?')


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)


@unittest.skipIf(git("rev-parse").returncode != 0, "not a git checkout")
class Records(unittest.TestCase):
    def files(self):
        return [ROOT / name for name in git("ls-files", "docs/results").stdout.splitlines() if (ROOT / name).exists()]

    def test_they_stay_small(self):
        self.assertLess(sum(path.stat().st_size for path in self.files()), 6_000_000)
        self.assertLess(len(self.files()), 110)

    @unittest.skipIf(git("rev-parse", "--is-shallow-repository").stdout.strip() == "true", "a shallow clone has no history")
    def test_their_commits_are_in_the_history(self):
        history = git("rev-list", "HEAD").stdout.split()
        named = {(path.name, *found) for path in self.files() for found in COMMIT.findall(path.read_text(encoding="utf-8"))}
        self.assertGreater(len(named), 30)
        for name, commit, behind in sorted(named):
            with self.subTest(name):
                self.assertEqual(behind, "", f"{commit}{behind}")
                self.assertTrue(any(known.startswith(commit) for known in history), commit)


if __name__ == "__main__":
    unittest.main()
