#!/bin/sh
# Runs every program of this folder on the GPU: device tests and examples. It needs a driver, and
# neither Rust nor CUDA. What the programs print and write goes to $OUT, or to ./out.
# CUST_DEVICE=emulator runs them without a GPU.
set -u

here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-$PWD/out}
mkdir -p "$out" && cd "$out" || exit 1
out=$PWD
CUST_DEVICE=${CUST_DEVICE:-gpu}
export CUST_DEVICE
RUST_BACKTRACE=1
export RUST_BACKTRACE
find "$here" -name "*.gz" -exec gunzip -f {} +
# Assembled already: the driver would take minutes for these.
DEVICE_TESTS_CUBINS=$here/ptx/tests
export DEVICE_TESTS_CUBINS

{
    echo "device: $CUST_DEVICE"
    uname -a
    nvidia-smi 2>&1
} >device.txt

passed=0
failed=0
: >summary.txt
for program in "$here"/tests/* "$here"/examples/*; do
    [ -x "$program" ] || continue
    name=$(basename "$(dirname "$program")")-$(basename "$program")
    # These are left out where there is no GPU.
    case $name in
    tests-interop-*) ignored=--include-ignored ;;
    *) ignored= ;;
    esac
    begin=$(date +%s)
    timeout "${LIMIT:-300}" "$program" $ignored >"$name.log" 2>&1 </dev/null
    status=$?
    seconds=$(($(date +%s) - begin))
    # A test program says itself how many passed and failed; anything else counts as one.
    counts=$(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed;.*/\1 \2/p' "$name.log" | tail -n 1)
    if [ -n "$counts" ]; then
        good=${counts% *}
        bad=${counts#* }
        [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    elif [ "$status" -eq 0 ]; then
        good=1
        bad=0
    else
        good=0
        bad=1
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    line="$name: $good passed, $bad failed, status $status, $seconds s"
    echo "$line"
    echo "$line" >>summary.txt
    if [ "$bad" -ne 0 ]; then
        tail -n 40 "$name.log"
    fi
done
echo "$passed passed, $failed failed" | tee -a summary.txt
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
