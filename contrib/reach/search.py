# search.py ASKED FOUND: as root, where a text is in boxes, whose processes are in other PID namespaces than this one: in their
# memory, environments and command lines, and in files that they see and that are newer than this program. Each line of
# ASKED is answered by a line in FOUND: how many processes were searched, and where it was found.
import glob
import os
import stat
import sys
import time


def in_process(pid, text):
    for name in ("environ", "cmdline"):
        with open(f"/proc/{pid}/{name}", "rb") as f:
            if text in f.read():
                yield name
    with (
        open(f"/proc/{pid}/maps") as maps,
        open(f"/proc/{pid}/mem", "rb", buffering=0) as memory,
        open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pages,
    ):
        for line in maps:
            addresses, access = line.split()[:2]
            if "w" not in access:  # of a file, and as that is
                continue
            at, end = (int(a, 16) for a in addresses.split("-"))
            last = b""
            while at < end:
                size = min(1 << 20, end - at)
                try:
                    pages.seek(at >> 9)  # 8 bytes for each page of 4096
                    here = pages.read(size >> 9)
                    if not any(flags & 0xC0 for flags in here[7::8]):
                        last, at = b"", at + size  # neither in memory nor swapped out
                        continue
                    memory.seek(at)
                    part = memory.read(size)
                except OSError:
                    break
                if text in last + part:
                    yield "memory"
                    return
                last, at = part[-len(text) :], at + len(part)


def in_files(root, text):
    for folder, folders, files in os.walk(root):
        if folder == root:
            folders[:] = [f for f in folders if f not in ("proc", "sys", "dev")]
        for name in files:
            path = os.path.join(folder, name)
            try:
                info = os.lstat(path)
                if not stat.S_ISREG(info.st_mode) or info.st_mtime < begun or info.st_size > 64 << 20:
                    continue
                with open(path, "rb") as f:
                    if text in f.read():
                        yield path[len(root) :]
            except OSError:
                continue


begun, own = time.time(), os.readlink("/proc/self/ns/pid")
while True:
    with open(sys.argv[1]) as asked:
        text = asked.readline().strip().encode()
    count, found, seen = 0, set(), set()
    for where in glob.glob("/proc/[0-9]*"):
        try:
            if os.readlink(where + "/ns/pid") == own:
                continue
            with open(where + "/comm") as f:
                name = f.read().strip()
            found.update(f"{kind} of {name}" for kind in in_process(where[6:], text))
            count += 1
            root = os.readlink(where + "/ns/mnt")
            if root not in seen:
                seen.add(root)
                found.update(in_files(where + "/root", text))
        except OSError:
            continue
    with open(sys.argv[2], "w") as out:
        print(count, "processes:", ", ".join(sorted(found)), file=out)
