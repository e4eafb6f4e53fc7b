"""Drawings of ideas, made from the expressions that they are about. Charts of what was measured are in charts.py."""

import functools

import access_drawings
import clock_drawings
import explore
import index_drawings
import machine_drawings
import memory_drawings
import order_drawings
import piece_drawings
from chapters import chapters
from records import Problem, of_step

DRAWN = {  # Each function says what its arguments are.
    "banks": memory_drawings.banks,
    "sectors": memory_drawings.sectors,
    "carried": memory_drawings.carried,
    "places": memory_drawings.places,
    "chunks": memory_drawings.chunks,
    "memory": access_drawings.memory,
    "requests": access_drawings.requests,
    "shifted": access_drawings.shifted,
    "queued": access_drawings.queued,
    "grouped": access_drawings.grouped,
    "paired": access_drawings.paired,
    "tiled": access_drawings.tiled,
    "looked_up": access_drawings.looked_up,
    "multiplied": access_drawings.multiplied,
    "sorted_tile": access_drawings.sorted_tile,
    "filling": access_drawings.filling,
    "upsampled": access_drawings.upsampled,
    "cells": piece_drawings.cells,
    "running": piece_drawings.running,
    "owned": piece_drawings.owned,
    "scattered": piece_drawings.scattered,
    "elementwise": piece_drawings.elementwise,
    "moved": order_drawings.moved,
    "merging": order_drawings.merging,
    "divided": order_drawings.divided,
    "located": order_drawings.located,
    "timeline": order_drawings.timeline,
    "underway": order_drawings.underway,
    "cached": order_drawings.cached,
    "clocked": clock_drawings.clocked,
    "viewed": index_drawings.viewed,
    "collapsed": index_drawings.collapsed,
    "fitting": index_drawings.fitting,
    "quotients": index_drawings.quotients,
    "work": index_drawings.work,
    "carry": index_drawings.carry,
    "machine": machine_drawings.machine,
    "latencies": machine_drawings.latencies,
    "littles_law": machine_drawings.littles_law,
}


def share_in(folder, parameters):
    """The share of a copy's speed that a chapter's dispatch reaches in a case, or "" where no record has it. A case may have a name, too."""
    [chapter] = [chapter for chapter in chapters() if chapter.folder == folder]
    times = chapter.times()
    found = next((case for case in (times.cases if times else []) if case["parameters"].partition(" name=")[0] == parameters), None)
    row = of_step(found, chapter.dispatched.version) if found else None
    return f"{100 * found['copy_seconds'] / row['seconds']['median']:.0f}%" if row else ""


def draw(name, arguments, folder):
    """The drawing of that name; `folder` is the chapter's, or where the page is if it belongs to none."""
    try:
        if name == "rules":
            return order_drawings.rules(arguments, folder, functools.partial(share_in, folder))
        if name == "explore":
            return explore.explore(arguments, lambda *inner: draw(*inner, folder))
        if name == "roofline":
            return machine_drawings.roofline(arguments, {chapter.number: chapter for chapter in chapters()}.__getitem__)
        if name not in DRAWN:
            raise Problem(f"there is no drawing {name} in docs/book/drawings.py")
        return DRAWN[name](arguments)
    except (ValueError, KeyError, OSError) as error:  # A number that is none, one too few, or no such file.
        raise Problem(f"{name} {arguments}: {error}") from None
