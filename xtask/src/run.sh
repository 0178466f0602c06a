#!/bin/sh
# Runs every program of this directory on the GPU and on the emulator: tests and examples. It needs
# a driver, and neither Rust nor CUDA. Logs and a summary go to $OUT, or to ./out; the last line is
# `N passed, N failed, N skipped`. CUST_DEVICE=gpu or CUST_DEVICE=emulator leaves the other device
# out, LIMIT=SECONDS bounds the time of the whole run.
set -u

here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-$PWD/out}
export OUT
mkdir -p "$OUT" || exit 1
if [ ! -e "$here/bundle-runner" ]; then
    for archive in "$here"/*.tar.xz; do
        tar --extract --xz --file "$archive" --directory "$here" || exit 1
    done
fi
{
    uname -a
    nvidia-smi 2>&1
} >"$OUT/device.txt"
exec "$here/bundle-runner"
