#!/bin/bash
# e2e_packages.sh: the packages in clean roots of other distributions: installed, first verdict, removed. Two minutes each.
# timeout: 1800
# alone: it builds
# shellcheck source=ci/tests/installed/packages.sh
source "$(dirname "$0")/packages.sh"

install debootstrap rpm
for what in dist dist deb rpm bundle wheel; do
	limit=600 run make "$what"
	expect_rc 0 "make $what"
	cat "$work/out" >>"$work/made"
done
holds 'make dist: two runs differ' [ "$(grep '\.tar\.gz: .*sha256' "$work/made" | grep -v linux | sort -u | wc -l)" -eq 1 ]
holds "a newer glibc is needed: $(grep -m 1 glibc "$work/made")" grep -q '^# needs glibc 2\.\(2[0-9]\|3[0-4]\);' "$work/made"
packages=$PWD/build-package/packages
holds 'the bundle has more than 25 MB' [ "$(stat -c %s "$packages"/hangar-*-linux-*.tar.gz)" -lt 25000000 ]

# inside ROOT COMMAND: in the root, with mounts of its own and a minimal environment
inside() {
	# shellcheck disable=SC2016 # of the inner shell
	unshare -m --propagation private bash -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
		exec chroot "$0" env -i HOME=/root DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd /root; $1"' "$1" "$2" \
		>"$work/out" 2>"$work/err"
	rc=$?
	runs=$((runs + 1)) said="$2 in ${1##*/}"
}

# verdict ROOT COMMAND PACKAGE: the hang of `make hang` by the installed command, and where its evidence goes
verdict() {
	local from=$SECONDS
	inside "$1" "$2 hang -g 4 --backend mpi"
	expect_rc 0 "$2 hang in ${1##*/}"
	expect_out '^# verdict: outcome=hang class=missing-call ranks=3 .* evidence=hangar-runs/'
	holds 'no evidence' [ -n "$(compgen -G "$1/root/hangar-runs/*/postmortem.md")" ]
	echo "# ${1##*/}: $3, $(sed -n 's/^found: Open/Open/p' "$work/version"): verdict $((SECONDS - began)) s after the first command, $((SECONDS - from)) s of them its own"
}

# Without netbase (/etc/protocols) Open MPI's UCX takes 5 s longer to start.
# try SUITE MIRROR PACKAGE [SCRIPT]: a clean root gets the package by two commands and says its verdict
try() {
	local root=$work/$1 hangar=hangar
	debootstrap --no-check-gpg --variant=minbase --include=ca-certificates "$1" "$root" "$2" ${4:+"$4"} >"$work/why" 2>&1 || {
		echo "# $1: no root: $(tail -n 1 "$work/why")"
		return
	}
	sed -i 's/ main$/ main universe/' "$root/etc/apt/sources.list"
	[[ $2 == *ubuntu* ]] || sed -i 's/ universe$//' "$root/etc/apt/sources.list"
	cp /etc/resolv.conf "$root/etc/"
	cp "$packages"/hangar[-_]* "$root/root/"
	began=$SECONDS
	inside "$root" 'apt-get -q update'
	case $3 in
	deb)
		inside "$root" 'apt-get -qy install ./hangar_*.deb'
		expect_rc 0 "installing in $1"
		;;
	bundle)
		hangar=$(basename "$packages"/hangar-*-linux-*.tar.gz | sed 's/-linux.*//')/bin/hangar
		inside "$root" 'tar -xzf hangar-*-linux-*.tar.gz'
		inside "$root" "$hangar all_reduce"
		expect_rc 77 'without Open MPI'
		expect_err 'Open MPI \(4.1 or 5\) is not here: libmpi.so.40'
		inside "$root" 'apt-get -qy --no-install-recommends install openmpi-bin netbase'
		;;
	rpm)
		inside "$root" 'apt-get -qy --no-install-recommends install openmpi-bin netbase rpm && rpm -i --nodeps hangar-*.rpm'
		expect_rc 0 "installing in $1"
		;;
	esac
	inside "$root" "$hangar --version"
	cp "$work/out" "$work/version"
	verdict "$root" "$hangar" "$3"
	if [ "$3" = deb ]; then
		inside "$root" 'dpkg -r hangar'
		holds 'something stays' [ ! -e "$root/usr/libexec/hangar" ]
	fi
	rm -rf "$root"
}
# The wheel, and the tree by pip, in environments of this machine's Python
here=$PWD
for from in "$packages"/hangar-*.whl "$here/ci/packaging"; do
	python3 -m venv --clear "$work/venv" >"$work/why" 2>&1 || break
	limit=600 run "$work/venv/bin/pip" -q install --no-index "$from"
	expect_rc 0 "pip install $from"
	echo 'print("ran")' >"$work/train.py"
	run "$work/venv/bin/python" -m hangar run "$work/train.py"
	expect_out '^ran$'
	cd "$work" || exit 1
	run "$work/venv/bin/hangar" hang -g 4 --backend mpi
	expect_rc 0 "the wheel's hang"
	expect_out '^# verdict: outcome=hang class=missing-call ranks=3 '
	run "$work/venv/bin/hangar" demo --out "$work/demo"
	expect_rc 0 "the wheel's demo: four bugs are named"
	holds "the exception has the line that raised it" grep -qE "^ *#?  said: train.py:52: ValueError" "$work/out"
	holds 'the demo ends without a page' [ -s "$(tail -n 1 "$work/out")" ]
	rm -rf "$work/demo"
	cd "$here" || exit 1
done
debian=http://deb.debian.org/debian ubuntu=http://archive.ubuntu.com/ubuntu
try bookworm $debian deb
try trixie $debian deb # Open MPI 5
try jammy $ubuntu bundle
try noble $ubuntu deb /usr/share/debootstrap/scripts/gutsy
# No root of RHEL 9 can be had from Debian's mirrors: its package, and its glibc by the symbols above.
try bookworm $debian rpm
finish
