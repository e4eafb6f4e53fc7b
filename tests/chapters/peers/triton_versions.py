"""What someone who knows Triton writes for a case of each chapter: two kernels per chapter, for peers.py --triton. Chapters 2
and 3 share one, as do 4 and 5. Each is as short as Triton's tutorials are; nothing is tuned by hand."""

import torch
import triton
import triton.language as tl

from chapter1 import Elementwise
from chapter2 import View
from chapter3 import Permute
from chapter4 import Inner, Scatter
from chapter5 import IndexAdd
from chapter6 import Upsample

BLOCK = 1024


# Chapter 1.
@triton.jit
def _multiply(z, x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, tl.load(x + at, mask=inside) * tl.load(y + at, mask=inside), mask=inside)


def multiply(x, y):
    z = torch.empty_like(x)
    _multiply[(triton.cdiv(x.numel(), BLOCK),)](z, x, y, x.numel(), BLOCK=BLOCK)
    return z


@triton.jit
def _scale(z, x, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    scaled = tl.load(x + at, mask=inside).to(tl.float32) * tl.load(factor)
    tl.store(z + at, scaled.to(z.dtype.element_ty), mask=inside)


def scale(x, factor):
    z = torch.empty_like(x)
    _scale[(triton.cdiv(x.numel(), BLOCK),)](z, x, factor, x.numel(), BLOCK=BLOCK)
    return z


# Chapters 2 and 3: a view of three dimensions made contiguous. A program reads a tile in the view's order, and Triton turns it
# in shared memory where the result's order is another.
@triton.jit
def _copy_view(out, view, rows, columns, outer_stride, row_stride, column_stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    tile_columns, tile_rows = tl.cdiv(columns, COLUMNS), tl.cdiv(rows, ROWS)
    tile = tl.program_id(0)
    outer = (tile // (tile_columns * tile_rows)).to(tl.int64)
    row = (tile // tile_columns % tile_rows * ROWS + tl.arange(0, ROWS))[:, None]
    column = (tile % tile_columns * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    inside = (row < rows) & (column < columns)
    values = tl.load(view + outer * outer_stride + row * row_stride + column * column_stride, mask=inside)
    tl.store(out + outer * rows * columns + row * columns + column, values, mask=inside)


def copy_view(view):
    out = torch.empty(view.shape, dtype=view.dtype, device=view.device)
    outer, rows, columns = view.shape
    together = min(BLOCK, triton.next_power_of_2(columns))
    tile = (64, 64) if view.stride(1) < view.stride(2) else (BLOCK // together, together)
    grid = (outer * triton.cdiv(rows, tile[0]) * triton.cdiv(columns, tile[1]),)
    _copy_view[grid](out, view, rows, columns, *view.stride(), ROWS=tile[0], COLUMNS=tile[1])
    return out


# Chapters 4 and 5: one atomic addition per element; of index_add's entry, `width` elements, and 1 of scatter_add's.
@triton.jit
def _add_at(dst, index, src, n, width, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    row = tl.load(index + at // width, mask=inside)
    tl.atomic_add(dst + row * width + at % width, tl.load(src + at, mask=inside), mask=inside, sem="relaxed")


def index_add(dst, src, index):
    _add_at[(triton.cdiv(src.numel(), BLOCK),)](dst, index, src, src.numel(), src.numel() // index.numel(), BLOCK=BLOCK)
    return dst


def scatter_add(dst, index, value):
    return index_add(dst, value, index)


@triton.jit
def _inner_product(total, a, b, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    products = tl.load(a + at, mask=inside, other=0) * tl.load(b + at, mask=inside, other=0)
    tl.atomic_add(total, tl.sum(products, axis=0), sem="relaxed")


def inner_product(a, b):
    total = torch.zeros((), dtype=a.dtype, device=a.device)
    _inner_product[(triton.cdiv(a.numel(), 8 * BLOCK),)](total, a, b, a.numel(), BLOCK=8 * BLOCK)
    return total


# Chapter 6: images twice as wide and high. `n` elements of the small ones, in rows of `width`; a small row is two large ones.
@triton.jit
def _double(large, small, n, width, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    at = begin + tl.arange(0, BLOCK)
    values = tl.load(small + at, mask=at < n)
    pair = tl.interleave(values, values)
    at = 2 * begin + tl.arange(0, 2 * BLOCK)
    to = at // (2 * width) * (4 * width) + at % (2 * width)
    tl.store(large + to, pair, mask=at < 2 * n)
    tl.store(large + to + 2 * width, pair, mask=at < 2 * n)


def double(x):
    n, c, height, width = x.shape
    y = torch.empty((n, c, 2 * height, 2 * width), dtype=x.dtype, device=x.device)
    _double[(triton.cdiv(x.numel(), BLOCK),)](y, x, x.numel(), width, BLOCK=BLOCK)
    return y


@triton.jit
def _halve(small, large, n, width, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    at = 2 * begin + tl.arange(0, 2 * BLOCK)
    source = at // (2 * width) * (4 * width) + at % (2 * width)
    upper = tl.load(large + source, mask=at < 2 * n, other=0).to(tl.float32)
    lower = tl.load(large + source + 2 * width, mask=at < 2 * n, other=0).to(tl.float32)
    sums = tl.sum(tl.reshape(upper + lower, (BLOCK, 2)), axis=1)
    at = begin + tl.arange(0, BLOCK)
    tl.store(small + at, sums.to(small.dtype.element_ty), mask=at < n)


def halve(dy):
    n, c, height, width = dy.shape
    dx = torch.empty((n, c, height // 2, width // 2), dtype=dy.dtype, device=dy.device)
    _halve[(triton.cdiv(dx.numel(), BLOCK),)](dx, dy, dx.numel(), width // 2, BLOCK=BLOCK)
    return dx


def versions(chapter):
    """Case -> what computes it: a function of the case's inputs that returns the result."""
    images = (32, 64, 256, 256)
    found = {}
    for dtype in ("float", "half"):
        found |= {
            1: {Elementwise(2**25, "mul", dtype): multiply, Elementwise(2**25, "scale", dtype): scale},
            2: {
                View((64, 1024, 512), (1 << 20, 1024, 2), 0, dtype): copy_view,
                View((64, 1024, 1024), (1 << 20, 1, 1024), 0, dtype): copy_view,
            },
            3: {
                Permute((32, 1024, 1024), (0, 2, 1), dtype): lambda x: copy_view(x.permute(0, 2, 1)),
                Permute((32, 1024, 1024), (1, 0, 2), dtype): lambda x: copy_view(x.permute(1, 0, 2)),
            },
            4: {
                Scatter(2**24, 2**20, "uniform", dtype): scatter_add,
                Inner(2**25, "float"): inner_product,  # Triton adds halves to a place one by one.
            },
            5: {IndexAdd((32768, 1024), 0, 1024, dtype): index_add, IndexAdd((1048576, 64), 0, 1048576, dtype): index_add},
            6: {Upsample(images, dtype): double, Upsample(images, dtype, backward=True): halve},
        }[chapter]
    return found
