"""The counters that a bar may be about, by the names that exercises.toml uses."""

# What a bar may be about: (counters whose sum is divided, counters whose sum divides or None).
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_SHARED = "l1tex__data_{}_mem_shared_op_{}.sum"
COUNTERS = {
    "sectors a load request": ([_GLOBAL.format("sectors", "ld")], [_GLOBAL.format("requests", "ld")]),
    "sectors a store request": ([_GLOBAL.format("sectors", "st")], [_GLOBAL.format("requests", "st")]),
    "load requests": ([_GLOBAL.format("requests", "ld")], None),
    "store requests": ([_GLOBAL.format("requests", "st")], None),
    "load sectors": ([_GLOBAL.format("sectors", "ld")], None),
    "store sectors": ([_GLOBAL.format("sectors", "st")], None),
    "bank conflicts of shared loads": ([_SHARED.format("bank_conflicts_pipe_lsu", "ld")], None),
    "bank conflicts of shared stores": ([_SHARED.format("bank_conflicts_pipe_lsu", "st")], None),
    "shared loads": (["smsp__inst_executed_op_shared_ld.sum"], None),
    "wavefronts a shared load": ([_SHARED.format("pipe_lsu_wavefronts", "ld")], ["smsp__inst_executed_op_shared_ld.sum"]),
    "atomic requests": ([_GLOBAL.format("requests", "atom"), _GLOBAL.format("requests", "red")], None),
    "atomic sectors": ([_GLOBAL.format("sectors", "atom"), _GLOBAL.format("sectors", "red")], None),
    "64-bit divisions": (["warpbook__integer_divisions_64bit.sum"], None),
    "32-bit divisions": (["warpbook__integer_divisions_32bit.sum"], None),
    "divisions": (["warpbook__integer_divisions_64bit.sum", "warpbook__integer_divisions_32bit.sum"], None),
    "kernel launches": (None, None),
}  # fmt: skip
