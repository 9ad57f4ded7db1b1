#!/bin/bash
# e2e_install.sh: what `make install` puts into a root works from there, and goes again.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"

root=$work/root tree=$PWD install=$PWD/ci/packaging/install hangar=$work/root/opt/h/bin/hangar
place() { BUILD=$BUILD DESTDIR=$root PREFIX=/opt/h "$install" "$@" >"$work/said" 2>&1; }
check "refuses a relative PREFIX" [ "$(BUILD=$BUILD DESTDIR=$root PREFIX=opt "$install" >/dev/null 2>&1; echo $?)" = 2 ]
check "says what is not built" [ "$(BUILD=$work/none DESTDIR=$root PREFIX=/opt/h "$install" 2>&1; echo $?)" = "install: $work/none/hangar_run is not there: make all
1" ]
check "installs: $(cat "$work/said" 2>/dev/null)" place
cp "$work/said" "$work/installed"
mkdir "$work/elsewhere" && cd "$work/elsewhere" || exit 1
unset HANGAR_SPECS
run "$hangar" predict -t dgx-h100 -b 1G -e 1G
expect_rc 0 'hangar predict'
check "a spec is found" grep -q '^# dgx-h100: 1 node of 8 x H100' "$work/out"
run "$hangar" all_gather --backend mpi -g 3 --fault=drop-rank
expect_rc 10 'hangar all_gather'
check "evidence goes to hangar-runs: $(grep verdict "$work/out")" grep -q '^# verdict: .* ranks=2 .* evidence=hangar-runs/' "$work/out"
check "nothing else is left there: $(ls)" [ "$(ls)" = hangar-runs ]
run "$hangar" diagnose hangar-runs/last
expect_rc 10 'hangar diagnose'
run "$hangar" nightly --help
expect_rc 0 'hangar nightly'
run "$hangar" plot hangar-runs/last
[ "$rc" -eq 77 ] || expect_rc 0 'hangar plot'
run env -u BUILD "$hangar" demo --out "$work/demo" # the installed programs alone
expect_rc 0 'hangar demo'
expect_out 'class=host-blocked ranks=3 '
run "$hangar" nonsense
expect_rc 2 "hangar: no command 'nonsense'"
check "says what it installed: $(cat "$work/installed")" grep -qE '^installed: .*/opt/h/bin/hangar \(with.*, [0-9]+ files' "$work/installed"
run "$hangar"
expect_rc 2 'hangar alone'
check "hangar alone takes more than a screen" [ "$(wc -l <"$work/err") $(awk 'length > 79' "$work/err" | wc -l)" = "$(awk 'END { print (NR <= 24 ? NR : 24) }' "$work/err") 0" ]
run "$hangar" help json
expect_rc 0 'hangar help json'
expect_out 'hang_diagnose --json DIR'
for command in run diagnose verify schedule log predict preflight health reconcile all_reduce step recover pairs demo sweep plot page halves gpu_check compare tune scaling hang \
	hang_bisect hang_reduce atlas night; do
	# shellcheck disable=SC2016 # awk's
	check "$command --help has two examples" [ "$("$hangar" $command --help | awk '/^Examples:/ { on = 1; next } !/^  / { on = 0 } on' | wc -l)" -ge 2 ]
	page=$root/opt/h/share/man/man1/hangar-$command.1
	check "hangar-$command has a page" grep -q "^hangar-$command .. [A-Za-z]" "$page"
	for section in SYNOPSIS 'EXIT STATUS' FILES EXAMPLES 'SEE ALSO'; do
		check "its page has no $section" grep -qx ".SH $section" "$page"
	done
done
check "and under the programs' names" grep -qx '.so man1/hangar-run.1' "$root/opt/h/share/man/man1/hangar-hangar_run.1"
# completed WORD...: the last one
completed() {
	PATH=$root/opt/h/bin:$PATH bash -c '. "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hangar; printf "%s\n" "${COMPREPLY[@]}"' \
		"$root/opt/h/share/bash-completion/completions/hangar" "$@"
}
check "completes a fault" [ "$(completed hangar perf all_gather --fault = drop-r)" = drop-rank ]
check "completes what follows a hang" [ "$(completed hangar run --on-hang = | paste -sd,)" = report,abort,kill ]
check "completes a topology" [ "$(completed hangar predict -t dgx-h1)" = dgx-h100 ]
check "completes an option" grep -qx -- --fault <<<"$(PATH=$root/opt/h/bin:$PATH bash -c \
	". $root/opt/h/share/bash-completion/completions/hangar; COMP_WORDS=(hangar all_reduce --fau) COMP_CWORD=2; _hangar; printf '%s\n' \"\${COMPREPLY[@]}\"")"
check "nothing installed names its tree" [ "$(grep -rlI "$tree" "$root" | wc -l)" = 0 ]
check "uninstalls" place --remove
check "nothing stays: $(find "$root" -type f)" [ "$(find "$root" -type f -o -type l | wc -l)" = 0 ]
finish
