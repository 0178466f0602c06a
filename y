#!/bin/sh
# The project's one command: ./x run vecadd, ./x test, ./x doctor, ./x help.
# Makes sure that the pinned toolchain is there, then runs the xtask crate with it.
set -eu

root=$(cd "$(dirname "$0")" && pwd)

# rustup's usual place is not on the PATH of every shell.
PATH=$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin
export PATH
if ! command -v rustup >/dev/null 2>&1; then
    cat >&2 <<'END'
error: rustup was not found. The compiler backend works with one nightly of Rust, which rustup
installs. Get rustup from your distribution or with
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh
and run this command again.
END
    exit 1
fi

# rust-toolchain.toml names the toolchain and its components.
toolchain=$(sed -n 's/^channel *= *"\(.*\)".*/\1/p' "$root/rust-toolchain.toml")
components=$(sed -n 's/^components *= *\[\(.*\)\].*/\1/p' "$root/rust-toolchain.toml" | tr -d '" ')

# Whether all components are installed. Their names carry the host's after them.
complete() {
    installed=$(rustup component list --installed --toolchain "$toolchain" 2>/dev/null) || return 1
    for component in $(echo "$components" | tr , ' '); do
        case "
$installed" in
            *"
$component"*) ;;
            *) return 1 ;;
        esac
    done
}

# Nothing but the line below is to install toolchains.
RUSTUP_AUTO_INSTALL=0
export RUSTUP_AUTO_INSTALL
if ! complete; then
    echo "Installing the toolchain $toolchain (about 1.6 GB on disk)" >&2
    if ! rustup toolchain install "$toolchain" --profile minimal --no-self-update \
        --component "$components" >&2; then
        echo "error: the toolchain $toolchain could not be installed; rustup's message is above" >&2
        exit 1
    fi
fi

# The first build of xtask takes a while: show it.
quiet=
if [ -x "${CARGO_TARGET_DIR:-$root/target}/debug/xtask" ]; then
    quiet=--quiet
fi
# Its programs themselves come first: not every rustup has put its proxies on the PATH.
PATH=$(dirname "$(rustup which --toolchain "$toolchain" cargo)"):$PATH
RUSTUP_TOOLCHAIN=$toolchain
export PATH RUSTUP_TOOLCHAIN
exec cargo run $quiet --manifest-path "$root/Cargo.toml" --package xtask -- "$@"
