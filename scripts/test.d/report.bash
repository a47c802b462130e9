# shellcheck shell=bash
# Runs steps side by side, counts their tests and prints a line for each. scripts/test sources this
# file.

logs=target/test-logs
# The status of a step whose program is not available.
SKIPPED=77

# Prints the numbers of passed, failed, inconclusive and skipped tests in the output of cargo, of
# nextest, of a test without a harness, of run-tests.php, or of PHPUnit.
count() {
    awk '/^ *inconclusive: / { inconclusive++; failed-- }
        /^test result: / { passed += $4; failed += $6 }
        /^ +Summary \[/ {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) ~ /^passed/) passed += $i
                if ($(i + 1) ~ /^(failed|timed)/) failed += $i
            }
        }
        /^PASS / { own_passed++ }
        /^FAIL / { own_failed++ }
        /^Number of tests :/ { own_passed = own_failed = 0 }
        /^Tests passed +:/ { passed += $4 }
        /^Tests (failed|leaked|borked) +:/ { failed += $4 }
        /^Tests warned +:/ { inconclusive += $4 }
        /^Tests skipped +:/ { skipped += $4 }
        # PHPUnit
        /^OK \([0-9]+ tests?, / { sub("\\(", "", $2); passed += $2 }
        /^Tests: [0-9]+, Assertions: / {
            gsub("[.,]", "")
            passed += $2
            for (i = 5; i < NF; i++) {
                if ($i == "Errors:" || $i == "Failures:") { failed += $(i + 1); passed -= $(i + 1) }
                if ($i == "Incomplete:") { inconclusive += $(i + 1); passed -= $(i + 1) }
                if ($i == "Skipped:") { skipped += $(i + 1); passed -= $(i + 1) }
            }
        }
        /^Tried again: / { inconclusive -= $3 }
        END { print passed + own_passed, failed + own_failed, inconclusive + 0, skipped + 0 }' "$1"
}

# Prints what "count" counts in the output of a test or a step. One that exits with an error or runs
# no test counts as a failed test.
#   judge STATUS LOG
judge() {
    local counted
    read -ra counted < <(count "$2")
    if [[ ${counted[1]} -eq 0 && ($1 -ne 0 || $((counted[0] + counted[2])) -eq 0) ]]; then
        counted[1]=1
    fi
    echo "${counted[@]}"
}

# Prints the line of a test or a step.
#   print_line NAME PASSED FAILED INCONCLUSIVE SKIPPED SECONDS
print_line() {
    printf '%-16s %4d passed %3d failed %3d inconclusive %3d skipped %5d s\n' "$@"
}

# Runs a step and prints its line. If a test failed, also prints the names of failed tests in Rust
# and .phpt, and the end of the step's output.
run_step() {
    local name=$1 log=$logs/$1.log code ran_well broken unclear skipped
    SECONDS=0
    # Both compile for minutes. If they did not come first, they would still run after all others.
    [[ $name =~ ^(core|php)$ ]] || renice --priority 5 "$BASHPID" >/dev/null
    # The subshell is not part of a condition. Otherwise bash would continue after a command that
    # fails.
    set +e
    (set -e; "step_$name") >"$log" 2>&1 </dev/null
    code=$?
    set -e
    if [[ $code -eq $SKIPPED ]]; then
        printf '%-16s skipped: %s\n' "$name" "$(tail -n 1 "$log")"
        echo "0 0 0 0 1" >"$logs/$name.count"
        return
    fi
    read -r ran_well broken unclear skipped < <(judge "$code" "$log")
    echo "$ran_well $broken $unclear $skipped 0" >"$logs/$name.count"
    # One step prints at a time.
    {
        flock 9
        print_line "$name" "$ran_well" "$broken" "$unclear" "$skipped" "$SECONDS"
        grep -a ' is not available, so this step ' "$log" || true
        if [[ $((broken + unclear)) -ne 0 ]]; then
            grep -aE '^ *(FAIL|TIMEOUT|SIG[A-Z]+) ' "$log" | sort -u || true
            tail -n 60 "$log"
            echo "(full log: $log)"
        fi
    } 9>"$logs/.lock"
}

# Runs the named steps side by side and prints the sum. Fails if a test failed, and if
# FAIL_INCONCLUSIVE is set also if one stayed inconclusive.
run_steps() {
    local name at_once=${TEST_STEPS_AT_ONCE:-$(($(nproc) + 2))} passed=0 failed=0 inconclusive=0 skipped=0 without=0 counted
    mkdir -p "$logs"
    rm -f "$logs"/*.count
    prepare
    make_places
    for name in "$@"; do
        while [[ $(jobs -rp | wc -l) -ge $at_once ]]; do
            wait -n || true
        done
        run_step "$name" &
    done
    wait
    for name in "$@"; do
        read -ra counted <"$logs/$name.count" || counted=(0 1 0 0 0)
        passed=$((passed + counted[0])) failed=$((failed + counted[1]))
        inconclusive=$((inconclusive + counted[2]))
        skipped=$((skipped + counted[3])) without=$((without + counted[4]))
    done
    echo "$passed passed, $failed failed, $inconclusive inconclusive, $skipped skipped; $without of $# steps skipped"
    [[ $failed -eq 0 && (-z ${FAIL_INCONCLUSIVE:-} || $inconclusive -eq 0) ]]
}
