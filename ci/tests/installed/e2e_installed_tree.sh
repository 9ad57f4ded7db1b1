#!/bin/bash
# e2e_installed_tree.sh: tests of the programs, run against what `make install` puts elsewhere: the programs find all beside themselves.
# timeout: 1200
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"
limit=60 run make -s install DESTDIR="$work/root" PREFIX=/usr BUILD="$BUILD"
expect_rc 0 'make install'
mkdir "$work/build"
ln -s "$work"/root/usr/libexec/hangar/bin/* "$BUILD/tests" "$work/build/"
for name in e2e_usage e2e_output e2e_run e2e_kill e2e_preload e2e_record e2e_faults_steps; do
	BUILD=$work/build limit=400 run ci/tests/runner "$name"
	expect_rc 0 "$name of the installed tree: $(tail -n 20 "$work/out")"
done
rm -rf hangar-runs # what they leave in the current folder
finish
