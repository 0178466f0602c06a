#!/usr/bin/env python3
"""Compares compile times and code sizes of the benchmarks' kernels with nvcc's.

    benches/compile.py measure BACKEND CUDA WORK  > benches/results/compile.json
    benches/compile.py page benches/results/compile.json  > benches/results/compile.md

BACKEND is the path that `./x build` prints, CUDA a toolkit with nvcc, WORK a directory for builds.
Each module of `benches/kernels` becomes two crates, with its safe and with its raw kernels.
Times are CPU times of a command and all its children, so other load on the machine matters little.
"""

import datetime
import json
import math
import os
import re
import resource
import shutil
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(ROOT, "benches/kernels/src")
ARCH = "sm_90"
RUNS = 3
FORMS = ("safe", "raw")
TARGET = "nvptx64-nvidia-cuda"
# The suffix of entries for ordinary launches.
ORDINARY = "$ordinary"


def toolchain():
    with open(os.path.join(ROOT, "rust-toolchain.toml")) as file:
        return re.search(r'channel = "(.*)"', file.read()).group(1)


def modules():
    """The modules that have a CUDA C++ version."""
    files = sorted(os.listdir(os.path.join(ROOT, "benches/cuda")))
    return [name[:-3] for name in files if name.endswith(".cu")]


def without_kernels(text, form):
    """Removes the kernels of a form from a module's text."""
    kernel = re.compile(
        r"^[ \t]*(?:///[^\n]*\n[ \t]*)*#\[kernel[^\n]*\]\n"
        r"(?:[ \t]*#\[[^\n]*\]\n)*[ \t]*pub (?:unsafe )?fn [\w$]*?(safe|raw)\b",
        re.MULTILINE,
    )
    out, end = "", 0
    for found in kernel.finditer(text):
        if found.group(1) == form and found.start() >= end:
            out += text[end : found.start()]
            end = end_of_body(text, found.end())
    return out + text[end:]


def with_change(text, number):
    """Changes the first kernel, without moving other lines."""
    kernel = re.compile(r"^[ \t]*pub (?:unsafe )?fn [\w$]*?(?:safe|raw)\b", re.MULTILINE)
    start = kernel.search(text, text.index("#[kernel")).end()
    end = end_of_body(text, start)
    depth, at = 0, end - 1
    while True:
        depth += (text[at] in ")}]") - (text[at] in "({[")
        if depth == 0:
            return text[: at + 1] + f" core::hint::black_box({number}u32);" + text[at + 1 :]
        at -= 1


def end_of_body(text, at):
    """The end of the first braces that are not inside the parameter list."""
    depth = 0
    # Comments, strings and characters may have braces without a counterpart.
    tokens = re.compile(
        r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\[^']+|\\'|[^\\'])'|[({\[]|[)}\]]""", re.DOTALL
    )
    for token in tokens.finditer(text, at):
        depth += token.group() in "({["
        if token.group() in ")}]":
            depth -= 1
            if depth == 0 and token.group() == "}":
                return token.end()
    raise ValueError("unbalanced braces")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def generate(work):
    for module in modules():
        with open(os.path.join(SOURCES, module + ".rs")) as file:
            text = file.read()
        for form, other in zip(FORMS, FORMS[::-1]):
            name = f"{module}_{form}"
            crates = os.path.join(ROOT, "crates")
            write(
                os.path.join(work, name, "Cargo.toml"),
                f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n\n'
                f'[lib]\ncrate-type = ["cdylib"]\n\n'
                f'[dependencies]\ncuda_std = {{ path = "{crates}/cuda_std" }}\n'
                f'cust_core = {{ path = "{crates}/cust_core" }}\n\n'
                # Cargo reads the manifests of all members of a workspace in each build.
                "[workspace]\n",
            )
            lib = f"#![no_std]\n#![allow(warnings)]\npub mod {module};\n"
            # Types of other modules, without their kernels.
            for used in sorted(set(re.findall(r"use crate::(\w+)::", text))):
                lib += f"pub mod {used};\n"
                with open(os.path.join(SOURCES, used + ".rs")) as file:
                    types = without_kernels(without_kernels(file.read(), "safe"), "raw")
                write(os.path.join(work, name, f"src/{used}.rs"), types)
            write(os.path.join(work, name, "src/lib.rs"), lib)
            own = without_kernels(text, other)
            write(os.path.join(work, name, f"src/{module}.rs"), own)


def seconds(command, **options):
    """The CPU time of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return spent, done.stdout + done.stderr


def text_bytes(cubin):
    """The sizes of a cubin's functions by name."""
    with open(cubin, "rb") as file:
        elf = file.read()
    (start,) = struct.unpack_from("<Q", elf, 0x28)
    count, names = struct.unpack_from("<HH", elf, 0x3C)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, start + 64 * i) for i in range(count)]
    strings = headers[names][4]
    sizes = {}
    for header in headers:
        at = strings + header[0]
        name = elf[at : elf.index(b"\0", at)].decode()
        if name.startswith(".text."):
            sizes[name[len(".text.") :]] = header[5]
    return sizes


def forget(release, crate):
    """Removes the PTX that the backend keeps, which an edited kernel makes useless."""
    for directory, _, files in os.walk(release):
        for file in files:
            if file.endswith(".nvvm-cache") and file.startswith(crate):
                os.remove(os.path.join(directory, file))


def sizes(ptx, cubin, form):
    functions, ordinary = {}, {}
    for symbol, size in text_bytes(cubin).items():
        # An instruction of these architectures has 16 bytes.
        kernel = symbol.removesuffix(ORDINARY)
        name = kernel.removesuffix("_" + form)
        functions[name] = functions.get(name, 0) + size // 16
        if kernel != symbol:
            ordinary[name] = size // 16
    return {
        "ptx_bytes": os.path.getsize(ptx),
        "cubin_bytes": os.path.getsize(cubin),
        "instructions": functions,
        "ordinary_instructions": ordinary,
    }


def measure(backend, cuda, work):
    generate(work)
    flags = (
        f"-Zcodegen-backend={os.path.abspath(backend)} -Ctarget-cpu={ARCH} -Zalways-encode-mir "
        "-Zmir-enable-passes=-JumpThreading -Csymbol-mangling-version=v0 "
        "-Cllvm-args=--ordinary-entries=on"
    )
    # The toolchain's programs, since rustup's proxies take time.
    sysroot = subprocess.run(
        ["rustc", "+" + toolchain(), "--print", "sysroot"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = dict(os.environ, RUSTFLAGS=flags, CUDA_HOME=cuda)
    environment["PATH"] = os.path.join(sysroot, "bin") + os.pathsep + environment["PATH"]
    environment["CARGO_TARGET_DIR"] = os.path.abspath(os.path.join(work, "target"))
    environment.pop("RUSTUP_TOOLCHAIN", None)
    ptxas = [os.path.join(cuda, "bin/ptxas"), "-O3", f"-arch={ARCH}"]
    nvcc = [os.path.join(cuda, "bin/nvcc"), "-O3", "-std=c++17", f"-arch={ARCH}"]
    # The first build is one without any output of earlier runs.
    shutil.rmtree(environment["CARGO_TARGET_DIR"], ignore_errors=True)
    results = {}
    cold = None
    for module in modules():
        results[module] = {}
        for form in FORMS:
            name = f"{module}_{form}"
            source = os.path.join(work, name, f"src/{module}.rs")
            ptx = os.path.join(work, "target", TARGET, "release", name + ".ptx")
            cubin = os.path.join(work, name + ".cubin")
            options = {"cwd": os.path.join(work, name), "env": environment}
            build = ["cargo", "rustc", "--release", "--lib", "--crate-type", "cdylib"]
            build += ["--target", TARGET, "-Zbuild-std=core,alloc"]
            first, _ = seconds(build, **options)
            cold = cold or first
            with open(source) as file:
                text = file.read()
            times = {"edit": [], "touch": [], "one": [], "ptxas": []}
            for run in range(RUNS):
                forget(os.path.join(work, "target", TARGET, "release"), name)
                os.utime(source)
                times["edit"].append(seconds(build, **options)[0])
                times["ptxas"].append(seconds(ptxas + [ptx, "-o", cubin])[0])
                os.utime(source)
                times["touch"].append(seconds(build, **options)[0])
                write(source, with_change(text, run))
                times["one"].append(seconds(build, **options)[0])
                write(source, text)
            forget(os.path.join(work, "target", TARGET, "release"), name)
            os.utime(source)
            _, log = seconds(build + ["--", "-Ztime-passes"], **options)
            phases = {}
            for time, phase in re.findall(r"^time: +([\d.]+);.*\t(\w+)$", log, re.MULTILINE):
                phases[phase] = phases.get(phase, 0) + float(time)
            results[module][form] = {name: round(min(runs), 3) for name, runs in times.items()}
            results[module][form] |= {"phases": phases} | sizes(ptx, cubin, form)
        source = os.path.join(ROOT, "benches/cuda", module + ".cu")
        ptx, cubin = (os.path.join(work, f"{module}.{kind}") for kind in ("ptx", "cubin"))
        runs = [seconds(nvcc + ["-cubin", source, "-o", cubin])[0] for _ in range(RUNS)]
        seconds(nvcc + ["-ptx", source, "-o", ptx])
        results[module]["nvcc"] = {"edit": round(min(runs), 3)} | sizes(ptx, cubin, "nvcc")
    commit = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    version = subprocess.run([nvcc[0], "--version"], capture_output=True, text=True).stdout
    print(
        json.dumps(
            {
                "date": datetime.date.today().isoformat(),
                "commit": commit,
                "arch": ARCH,
                "nvcc": re.search(r"release.*", version).group(0),
                "cold": round(cold, 1),
                "runs": RUNS,
                "modules": results,
            },
            indent=1,
        )
    )


def mean(values):
    """The geometric mean."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def page(path):
    with open(path) as file:
        data = json.load(file)
    rows = data["modules"]
    total = lambda row, kind="edit": row[kind] + row.get("ptxas", 0)
    code = lambda row: sum(row["instructions"].values())
    print(
        f"""# Compile time and code size

{data["date"]}, commit {data["commit"]}, nvcc {data["nvcc"]}, {data["arch"]}. Generated by
[`benches/compile.py`](../compile.py) from [`compile.json`](compile.json).

CPU time in milliseconds from a changed source to a cubin, minimum of {data["runs"]} runs:

- nvcc: `nvcc -O3 -cubin`.
- edit: the source is newer, and the PTX of the last build, which edited kernels make useless, is
  removed; `cargo rustc --release`, then `ptxas -O3`.
- one: the module's first kernel changes; the PTX of the others is used again if they are as many.
- touch: the source is newer with the same text.

`core`, `alloc` and `cuda_std` are compiled before; with them, the first build takes {data["cold"]} s.
Sizes are those of all kernels of a module; instructions are machine instructions with panic paths.

| module | nvcc | raw edit / one / touch | safe edit / one / touch | PTX KiB nvcc / raw / safe | cubin KiB | instructions |
|---|--:|--:|--:|--:|--:|--:|"""
    )
    for module, row in rows.items():
        cells = [f"{1000 * row['nvcc']['edit']:.0f}"]
        for form in FORMS[::-1]:
            own = row[form]
            times = [1000 * total(own, kind) for kind in ("edit", "one", "touch")]
            cells.append(" / ".join(f"{time:.0f}" for time in times))
        three = [row["nvcc"], row["raw"], row["safe"]]
        cells.append(" / ".join(f"{own['ptx_bytes'] / 1024:.0f}" for own in three))
        cells.append(" / ".join(f"{own['cubin_bytes'] / 1024:.0f}" for own in three))
        cells.append(" / ".join(str(code(own)) for own in three))
        print(f"| `{module}` | " + " | ".join(cells) + " |")
    print("\nRelative to nvcc, geometric means and the number of modules or kernels within the bar:\n")
    print("| | bar | raw | safe |\n|---|--:|--:|--:|")
    every = lambda value: [[value(row[form], row["nvcc"]) for row in rows.values()] for form in FORMS[::-1]]
    kernels = lambda entry: [
        [
            entry(row[form], name) / row["nvcc"]["instructions"][name]
            for row in rows.values()
            for name in row[form]["instructions"]
            if name in row["nvcc"]["instructions"]
        ]
        for form in FORMS[::-1]
    ]
    whole = lambda own, name: own["instructions"][name]
    launched = lambda own, name: own["ordinary_instructions"].get(name, whole(own, name))
    for what, bar, both in (
        ("time after an edit", 1.0, every(lambda own, other: total(own) / other["edit"])),
        ("time after an edit of one kernel", 1.0, every(lambda own, other: total(own, "one") / other["edit"])),
        ("time after a touch", 1.0, every(lambda own, other: total(own, "touch") / other["edit"])),
        ("PTX bytes of a module", None, every(lambda own, other: own["ptx_bytes"] / other["ptx_bytes"])),
        ("cubin bytes of a module", None, every(lambda own, other: own["cubin_bytes"] / other["cubin_bytes"])),
        ("instructions of a kernel, all entries", 1.5, kernels(whole)),
        ("instructions of the entry for ordinary launches", 1.5, kernels(launched)),
    ):
        cells = []
        for values in both:
            within = "" if bar is None else f" ({sum(v <= bar for v in values)} of {len(values)})"
            cells.append(f"{mean(values):.2f}{within}")
        print(f"| {what} | {'' if bar is None else bar} | " + " | ".join(cells) + " |")
    print("\nPhases of rustc after an edit (`-Ztime-passes`), in percent of its time, over all modules:\n")
    print("| | raw | safe |\n|---|--:|--:|")
    sums = {}
    for form in FORMS:
        sums[form] = {}
        for row in rows.values():
            for phase, time in row[form]["phases"].items():
                sums[form][phase] = sums[form].get(phase, 0) + time
    share = lambda form, *phases: sum(sums[form].get(p, 0) for p in phases) / sums[form]["total"]
    own = ("nvvm_lower", "nvvm_llvm", "libnvvm")
    for what, value in (
        ("front end", lambda form: 1 - share(form, "codegen_crate", "link")),
        ("lowering of MIR, with rustc's queries", lambda form: share(form, "nvvm_lower")),
        ("LLVM", lambda form: share(form, "nvvm_llvm")),
        ("libnvvm", lambda form: share(form, "libnvvm")),
        ("passes over PTX and the rest", lambda form: share(form, "codegen_crate") - share(form, *own)),
    ):
        print(f"| {what} | " + " | ".join(f"{100 * value(form):.0f}" for form in FORMS[::-1]) + " |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", backend, cuda, work]:
            measure(backend, cuda, work)
        case ["page", path]:
            page(path)
        case _:
            sys.exit(__doc__)
