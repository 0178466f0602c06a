#!/bin/sh
# Runs the standard library's own tests on all GPUs of this machine: every part in this folder, or those
# that are named, as in `run.sh alloc_sort-O0 core_num-O3`. Where there are ptxas and nvlink (of a CUDA
# toolkit), they assemble the parts first, side by side: the driver takes many minutes for the largest.
# A test may take TIMEOUT seconds, or 600. Logs and results go to $OUT, or to ./out;
# `./x conformance --collect OUT/results` keeps the results. CUST_DEVICE=emulator needs no GPU.
set -u

here=$(cd "$(dirname "$0")" && pwd)
CUST_DEVICE=${CUST_DEVICE:-gpu}
export CUST_DEVICE
gpus() {
    nvidia-smi --query-gpu=index,memory.total,compute_cap --format=csv,noheader,nounits
}

if [ "${1:-}" = --assemble ]; then
    name=$2
    arch=sm_$(gpus | head -n 1 | sed 's/.*, //; s/\.//')
    file=$here/ptx/$name
    case $name in
    *-O0) level=-O0 ;;
    *) level=-O3 ;;
    esac
    begin=$(date +%s)
    # Of its own accord ptxas looks at a program as a whole, which takes it over 15 minutes for some; and
    # it crashes on some.
    if ptxas -c -arch "$arch" $level "$file.ptx" -o "$file.o" 2>"$file.err" ||
        ptxas -c -arch "$arch" -O0 "$file.ptx" -o "$file.o" 2>>"$file.err"; then
        nvlink -arch "$arch" "$file.o" -o "$file.cubin" 2>>"$file.err" || rm -f "$file.cubin"
    fi
    echo "$name: assembled in $(($(date +%s) - begin)) s"
    touch "$file.ready"
    exit
fi

out=${OUT:-$PWD/out}
mkdir -p "$out/results" && cd "$out" || exit 1
out=$PWD
rm -rf taken && mkdir taken
find "$here" -name "*.xz" -exec xz -d -f {} +
chmod +x "$here/conformance"
if [ $# -eq 0 ]; then
    # The largest first.
    set -- $(cd "$here/ptx" && ls -S ./*.ptx | sed 's|^\./||; s|\.ptx$||')
fi
for name in "$@"; do
    [ -f "$here/ptx/$name.ptx" ] && continue
    echo "there is no part $name" >&2
    exit 2
done

if [ "$CUST_DEVICE" = gpu ] && command -v ptxas >/dev/null && command -v nvlink >/dev/null; then
    rm -f "$here"/ptx/*.ready
    printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" "$here/run.sh" --assemble &
else
    for name in "$@"; do touch "$here/ptx/$name.ready"; done
fi

# Takes parts that are ready, until none is left: the GPU's number, and tests at once.
work() {
    gpu=$1
    jobs=$2
    shift 2
    while :; do
        left=0
        for name in "$@"; do
            [ -d "$out/taken/$name" ] && continue
            left=1
            [ -e "$here/ptx/$name.ready" ] && mkdir "$out/taken/$name" 2>/dev/null || continue
            where=--gpu
            [ "$CUST_DEVICE" = gpu ] || where=
            CUDA_VISIBLE_DEVICES=$gpu "$here/conformance" $where --level "${name##*-}" --jobs "$jobs" \
                --timeout "${TIMEOUT:-600}" --verbose --prebuilt "$here/ptx" --save "$out/results" \
                "${name%-*}" >"$out/$name.log" 2>&1
            grep "^$name: " "$out/$name.log" || echo "$name: did not run; see $name.log"
        done
        [ "$left" -eq 0 ] && return
        sleep 1
    done
}

if [ "$CUST_DEVICE" = gpu ]; then
    # Each test's process reserves 17 GB of stack on a GPU of 132 multiprocessors.
    gpus | sed 's/,//g' >gpus.txt
    while read -r index memory _; do
        jobs=$((memory / 18000))
        [ "$jobs" -ge 1 ] || jobs=1
        work "$index" "$jobs" "$@" &
    done <gpus.txt
else
    work "" "$(nproc)" "$@" &
fi
wait
for name in "$@"; do cat "$out/$name.log"; done | awk '
    /^[a-z0-9_]+-O[03]: [0-9]+ passed/ { passed += $2; failed += $4 }
    END { printf "%d passed, %d failed\n", passed, failed; exit !(passed > 0 && failed == 0) }'
