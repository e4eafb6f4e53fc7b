"""A kernel that asks the L2 to keep what it reads, as the compiler's do."""

import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def _read_keeping(source, sums, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    values = tl.load(source + block * BLOCK + tl.arange(0, BLOCK), eviction_policy="evict_last")
    tl.store(sums + block, tl.sum(values))


def read_keeping(source, sums):
    """Sums each BLOCK of `source`, a multiple of it, into an element of `sums`."""
    _read_keeping[(source.numel() // BLOCK,)](source, sums, BLOCK=BLOCK)
