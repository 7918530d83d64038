#!/bin/sh
# Measures a scenario by two programs on this machine, in turns, and compares the runs: what a
# pipeline does with the program of a base and that of a change.
#
#   compare.sh SCENARIO BASE_PROGRAM PROGRAM FOLDER [CONDITION...]
#
# Both are measured here and now, because a ratio of runs of two hosts says nothing of the program.
# Ends as `plumbline report` does: with 5 if a condition such as 'capacity.function < 0.95' holds.
set -eu
if [ "$#" -lt 4 ]; then
    echo "usage: compare.sh SCENARIO BASE_PROGRAM PROGRAM FOLDER [CONDITION...]" >&2
    exit 2
fi
scenario=$1 base=$2 program=$3 folder=$4
shift 4
mkdir -p "$folder"

# The folder of the one run in a folder.
run_in() {
    set -- "$1"/*/run.json
    dirname "$1"
}

# A result that is not valid (3) is compared, too: the verdict tells it.
bench() {
    code=0
    "$1" bench "$scenario" --fresh --quiet --output-dir "$2" || code=$?
    if [ "$code" -ne 0 ] && [ "$code" -ne 3 ]; then
        exit "$code"
    fi
}

bench "$base" "$folder/base"
bench "$program" "$folder/change"
for condition; do
    shift
    set -- "$@" --fail-if "$condition"
done
exec "$program" report "$(run_in "$folder/base")" "$(run_in "$folder/change")" \
    --output "$folder/comparison.html" "$@"
