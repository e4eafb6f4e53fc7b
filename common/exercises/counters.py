"""The counters that a bar may be about, by the names that exercises.toml uses."""

# What a bar may be about: (counters whose sum is divided, counters whose sum divides or None).
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_SHARED = "l1tex__data_{}_mem_shared_op_{}.sum"
COUNTERS = {
    "sectors per load request": ([_GLOBAL.format("sectors", "ld")], [_GLOBAL.format("requests", "ld")]),
    "sectors per store request": ([_GLOBAL.format("sectors", "st")], [_GLOBAL.format("requests", "st")]),
    "load requests": ([_GLOBAL.format("requests", "ld")], None),
    # Of a block's round trips to global memory, one after another: how much is under way at a time.
    "load requests per wait": ([_GLOBAL.format("requests", "ld")], ["warpbook__global_round_trips.sum"]),
    "store requests": ([_GLOBAL.format("requests", "st")], None),
    "load sectors": ([_GLOBAL.format("sectors", "ld")], None),
    "store sectors": ([_GLOBAL.format("sectors", "st")], None),
    "bank conflicts of shared loads": ([_SHARED.format("bank_conflicts_pipe_lsu", "ld")], None),
    "bank conflicts of shared stores": ([_SHARED.format("bank_conflicts_pipe_lsu", "st")], None),
    "shared loads": (["smsp__inst_executed_op_shared_ld.sum"], None),
    "wavefronts per shared load": ([_SHARED.format("pipe_lsu_wavefronts", "ld")], ["smsp__inst_executed_op_shared_ld.sum"]),
    "shared wavefronts": ([_SHARED.format("pipe_lsu_wavefronts", kind) for kind in ("ld", "st", "atom")], None),
    "atomic requests": ([_GLOBAL.format("requests", "atom"), _GLOBAL.format("requests", "red")], None),
    "atomic sectors": ([_GLOBAL.format("sectors", "atom"), _GLOBAL.format("sectors", "red")], None),
    "atomic collisions": (["warpbook__atomic_collisions.sum"], None),  # Lanes that meet another of their request.
    "64-bit divisions": (["warpbook__integer_divisions_64bit.sum"], None),
    "32-bit divisions": (["warpbook__integer_divisions_32bit.sum"], None),
    "divisions": (["warpbook__integer_divisions_64bit.sum", "warpbook__integer_divisions_32bit.sum"], None),
    "divisions per store request": (["warpbook__integer_divisions_64bit.sum", "warpbook__integer_divisions_32bit.sum"], [_GLOBAL.format("requests", "st")]),
    "kernel launches": (None, None),
    "threads": (["threads_of_all_blocks"], None),  # Of the longest launch.
}  # fmt: skip

# What a counter of our own means.
EXPLAINED = {
    "threads": "of the longest launch; does each of them have too much to do, while most of the device idles?",
    "load requests per wait": "how many loads a block has under way before a warp waits for the first; one per warp, or several?",
}

# What a solution is compared with ours by, on a case of real size, and what more of it usually means.
COMPARED = {
    "load requests": "is an element loaded more than once, by single lanes, or in smaller pieces than it could be?",
    "load sectors": "is an element loaded more than once, or do a warp's lanes read places that lie apart?",
    "store requests": "is an element stored more than once, by single lanes, or in smaller pieces than it could be?",
    "store sectors": "is an element stored more than once, or do a warp's lanes write places that lie apart?",
    "atomic requests": "does every element take an atomic of its own?",
    "atomic sectors": "do a warp's lanes add to places that lie apart?",
    "shared wavefronts": "do lanes meet in a bank of shared memory?",
    "divisions": "is a division made where its result is known already?",
    "kernel launches": "could one launch do?",
}
