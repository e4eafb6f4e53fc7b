"""What the tests of the operators share: the devices that are here, and a seed that is printed."""

import os
import pathlib
import random
import sys

import pytest

CHAPTER = pathlib.Path(__file__).resolve().parents[3] / "chapters/chapter7_torch_op"
sys.path.insert(0, str(CHAPTER))
sys.dont_write_bytecode = True

import torch  # noqa: E402
import warpbook_ops  # noqa: E402

SEED = int(os.environ.get("SEED") or 2026)
CASES = int(os.environ.get("CASES") or 200)

torch.set_num_threads(1)  # Tensors are small.


def pytest_report_header():
    return f"PyTorch {torch.__version__}, tensors on {' and '.join(warpbook_ops.DEVICES)}, SEED={SEED}"


@pytest.fixture(params=warpbook_ops.DEVICES)
def device(request):
    return request.param


@pytest.fixture
def draw(request):
    """A generator of its own for each test; PyTorch's is seeded by it."""
    generator = random.Random(f"{SEED} {request.node.name}")
    torch.manual_seed(generator.randrange(2**32))
    return generator
