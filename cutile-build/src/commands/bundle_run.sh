#!/bin/sh
# run.sh test|bench|example [NAME [ARGUMENT..]] - runs the programs of this bundle. They find their kernels in cutile/ beside this file.
# test without NAME runs all, each test in a process of its own; its last line sums them up. CUTILE_DEVICE=host|cuda chooses the device.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
kind=${1:-}
name=${2:-}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift

case $kind in
test | bench | example) ;;
*)
    sed -n '2,3s/^# //p' "$0"
    exit 2
    ;;
esac
cd "$here" || exit 1

if [ -n "$name" ] && [ ! -x "bin/$kind/$name" ]; then
    echo "there is no $kind \`$name\`; there are:" >&2
    ls "bin/$kind" >&2
    exit 1
fi

case $kind in
example | bench)
    if [ -z "$name" ]; then
        ls "bin/$kind"
        exit 0
    fi
    [ "$kind" = bench ] && set -- --bench "$@"
    exec "bin/$kind/$name" "$@"
    ;;
esac

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
passed=0
failed=0
for program in bin/test/*; do
    [ -x "$program" ] || continue
    [ -z "$name" ] || [ "$program" = "bin/test/$name" ] || continue
    echo "== ${program#bin/test/}"
    # A process a test, where the program can name its tests: a kernel's fault ends a GPU's context for the whole process.
    tests=
    [ $# -gt 0 ] || tests=$("$program" --list 2>/dev/null | sed -n 's/: test$//p')
    if [ -z "$tests" ]; then
        "$program" "$@" >"$log" 2>&1
        status=$?
    else
        status=0
        : >"$log"
        for test in $tests; do
            "$program" --exact "$test" >>"$log" 2>&1 || status=$?
        done
    fi
    grep -v -e '^$' -e '^running ' -e '; 0 failed; .* filtered out;' "$log"
    counts=$(awk '/^test result: / { for (i = 2; i <= NF; i++) { if ($i ~ /^passed/) p += $(i - 1); if ($i ~ /^failed/) f += $(i - 1) } } END { print p + 0, f + 0 }' "$log")
    ok=${counts% *}
    bad=${counts#* }
    # A program that dies without figures failed as well.
    [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    passed=$((passed + ok))
    failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
