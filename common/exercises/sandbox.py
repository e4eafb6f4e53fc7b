"""Runs a program that nobody trusts: with limits on time, memory, files and processes; without a network where the
system can take it away; and with no file to write but its scratch folder's where the kernel has Landlock.

As a script it is the last thing that runs before the program: `sandbox.py POLICY COMMAND...`, POLICY as JSON.
"""

import ctypes
import dataclasses
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading
import time

MOST_OUTPUT = 256 * 1024  # Bytes of each stream that are kept.
MOST_PATIENCE = 6  # Times a limit on the clock.

CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
PR_SET_NO_NEW_PRIVS = 38
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # The same on every architecture.
READ = (1 << 0) | (1 << 2) | (1 << 3)  # Execute, read a file, read a folder.
FILE_RIGHTS = (1 << 0) | (1 << 1) | (1 << 2) | (1 << 14) | (1 << 15)  # Those that a file, not a folder, can have.
SYSTEM_FOLDERS = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/sys", "/opt")
SYSTEM_FILES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


@dataclasses.dataclass
class Limits:
    """What a program may use."""

    seconds: float = 20  # On the clock; of processor time the same on each core.
    memory_bytes: int = 2 << 30  # Memory of its own.
    file_bytes: int = 64 << 20  # Of each file; of all in the scratch folder together four times as much.
    processes: int = 64
    readable: tuple = ()  # Folders that may be read beside the system's.


@dataclasses.dataclass
class Finished:
    returncode: int
    stdout: str
    stderr: str
    timed_out: bool = False
    seconds: float = 0.0


def drain(stream, kept):
    """Reads a pipe to its end, and keeps the first MOST_OUTPUT bytes: a program that prints forever fills no memory."""
    size = 0
    while chunk := os.read(stream.fileno(), 65536):
        if size < MOST_OUTPUT:
            kept.append(chunk[: MOST_OUTPUT - size])
        size += len(chunk)


def bytes_below(folder):
    """What the files in a folder take; what goes away meanwhile counts nothing."""
    total, folders = 0, [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            pass
    return total


def resident_bytes(process):
    """The memory that a process takes at the moment."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return 0


def waited_seconds(process):
    """How long a process was ready and got no processor: its thread that waited longest."""
    try:
        longest = 0
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/schedstat", encoding="ascii") as file:
                longest = max(longest, int(file.read().split()[1]))
        return longest * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


running = set()  # The groups of processes that are under way.
ended = threading.Event()  # Set: nothing begins any more.


def end_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def end_all():
    """Ends what runs, and lets nothing begin."""
    ended.set()
    for group in list(running):
        end_group(group)


def run_limited(command, cwd=None, seconds=60, environment=None, folder=None, folder_bytes=0, resident=0):
    """Runs a command with a limit on the clock, one on what it leaves in a folder, and one on the memory that it takes, and
    ends the whole group of processes that it began. On a busy machine it has as much longer as it waits for a processor, up
    to MOST_PATIENCE times the limit."""
    if ended.is_set():
        return Finished(-signal.SIGKILL, "", "")
    start = time.monotonic()
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    running.add(process.pid)
    kept = ([], [])
    readers = [threading.Thread(target=drain, args=(s, k), daemon=True) for s, k in zip((process.stdout, process.stderr), kept)]
    for reader in readers:
        reader.start()
    waiting = threading.Thread(target=process.wait, daemon=True)  # With a limit, wait() looks only now and then.
    waiting.start()
    timed_out = filled = fat = False
    try:
        while not timed_out and not filled and not fat:
            left = start + seconds - time.monotonic()
            waiting.join(min(left, 0.25) if left > 0 else 0.25)
            if not waiting.is_alive():
                break
            took = time.monotonic() - start
            timed_out = took >= seconds and took >= min(seconds + waited_seconds(process.pid), MOST_PATIENCE * seconds)
            filled = folder is not None and bytes_below(folder) > folder_bytes
            fat = resident > 0 and resident_bytes(process.pid) > resident
    finally:
        end_group(process.pid)  # What it left running, too.
        waiting.join()
        running.discard(process.pid)
    for reader, stream in zip(readers, (process.stdout, process.stderr)):
        reader.join(timeout=2)
        if not reader.is_alive():
            stream.close()
    out, err = (b"".join(k).decode("utf-8", "replace") for k in kept)
    if filled:
        err += f"sandbox: it wrote more than {folder_bytes >> 20} MiB of files\n"
    if fat:
        err += f"sandbox: it used more than {resident >> 20} MiB of memory\n"
    return Finished(process.returncode, out, err, timed_out, time.monotonic() - start)


class Sandbox:
    """Runs commands under limits, with what isolation this system offers; `isolation` says which that is."""

    def __init__(self, limits=None):
        self.limits = limits or Limits()
        self.isolation = probe()

    def __call__(self, command, cwd, scratch, seconds=None, environment=None, reserves=False):
        """`reserves`: the program reserves more addresses than it uses, as the emulator does; then what counts is the memory
        that it takes, looked at every now and then."""
        limits = self.limits
        seconds = seconds or limits.seconds
        policy = {
            "cpu_seconds": int(seconds * (os.cpu_count() or 1)) + 5,
            "memory_bytes": resource.RLIM_INFINITY if reserves else limits.memory_bytes,
            "file_bytes": limits.file_bytes,
            "processes": limits.processes,
            "scratch": str(scratch),
            "readable": [str(p) for p in limits.readable],
            "network": self.isolation["network"] != "cut",
            "landlock": self.isolation["files"] == "landlock",
        }
        clean = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "HOME")}
        clean |= {"TMPDIR": str(scratch)} | (environment or {})
        words = [sys.executable, "-I", str(pathlib.Path(__file__).resolve()), json.dumps(policy), *(str(w) for w in command)]
        return run_limited(words, cwd=cwd, seconds=seconds, environment=clean, folder=scratch, folder_bytes=4 * limits.file_bytes,
                           resident=limits.memory_bytes)  # fmt: skip


def landlock_version():
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(LANDLOCK_CREATE, None, 0, 1))


def probe():
    """What this system can take away from a program: {"network": "cut"|"open", "files": "landlock"|"open"}."""
    tried = subprocess.run(
        [sys.executable, "-I", "-c", f"import ctypes; raise SystemExit(0 if {NEW_NETWORK} else 1)"], check=False,
        capture_output=True,
    )  # fmt: skip
    return {
        "network": "cut" if tried.returncode == 0 else "open",
        "files": "landlock" if landlock_version() > 0 else "open",
    }


# Root may make a network namespace; others need a user namespace around it.
NEW_NETWORK = f"ctypes.CDLL(None).unshare({CLONE_NEWNET}) == 0 or ctypes.CDLL(None).unshare({CLONE_NEWUSER | CLONE_NEWNET}) == 0"


def restrict_files(scratch, readable):
    """From here on, the process reads the system and the readable folders, and writes to the scratch folder alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = landlock_version()
    rights = (1 << 13) - 1
    rights |= (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0) | (1 << 15 if version >= 5 else 0)
    attributes = (ctypes.c_uint64 * 1)(rights)
    ruleset = libc.syscall(LANDLOCK_CREATE, attributes, ctypes.sizeof(attributes), 0)
    if ruleset < 0:
        raise OSError("Landlock refuses")

    class Beneath(ctypes.Structure):
        _pack_ = 1
        _fields_ = [("rights", ctypes.c_uint64), ("parent", ctypes.c_int32)]

    def allow(path, access):
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        if not os.path.isdir(path):
            access &= FILE_RIGHTS
        rule = Beneath(access & rights, descriptor)
        if libc.syscall(LANDLOCK_ADD, ruleset, 1, ctypes.byref(rule), 0) != 0:
            raise OSError(f"Landlock refuses {path}")
        os.close(descriptor)

    for folder in (*SYSTEM_FOLDERS, *readable):
        allow(folder, READ)
    for file in SYSTEM_FILES:
        allow(file, READ | (1 << 1))
    allow(scratch, rights)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.syscall(LANDLOCK_RESTRICT, ruleset, 0) != 0:
        raise OSError("Landlock refuses")
    os.close(ruleset)


def enter(policy):
    """Takes away what the policy says, from this very process."""
    limits = [
        (resource.RLIMIT_CPU, policy["cpu_seconds"]),
        (resource.RLIMIT_DATA, policy["memory_bytes"]),
        (resource.RLIMIT_FSIZE, policy["file_bytes"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ]
    if os.getuid() != 0:  # Counted for all of a user's processes: a margin for those that are there.
        limits.append((resource.RLIMIT_NPROC, policy["processes"] + user_processes()))
    for which, value in limits:
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
    if not policy["network"]:
        libc = ctypes.CDLL(None)
        if libc.unshare(CLONE_NEWNET) != 0 and libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            raise OSError("the network cannot be taken away")
    if policy["landlock"]:
        restrict_files(policy["scratch"], policy["readable"])


def user_processes():
    count = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == os.getuid():
                    count += len(os.listdir(f"/proc/{entry.name}/task"))
            except OSError:
                pass
    return count


def main():
    policy, command = json.loads(sys.argv[1]), sys.argv[2:]
    try:
        enter(policy)
    except (OSError, ValueError) as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 125
    os.execvp(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
