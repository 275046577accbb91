#!/usr/bin/env bash
# fetch.sh FOLDER: the pages of MiniWoB++ into FOLDER, from the package index, checked against requirements.txt.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -e "$1/miniwob-1.1.0-py3-none-any.whl" ] && exit 0
mkdir -p "$1"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --dest "$1" -r "$here/requirements.txt"
