#!/bin/bash
# e2e_package.sh: what --version says, and which libnccl is loaded.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"

# ---- --version ----

version=$(sed -n 's/^#define HANGAR_VERSION "\(.*\)"/\1/p' common/lib/base/version.h)
for program in all_reduce_perf hangar_run hang_diagnose health; do
	run "$BUILD/$program" --version
	expect_rc 0 "$program --version"
	check "$program says its version" grep -qx "$program (hangar) $version" "$work/out"
	check "$program: the build" grep -Eq '^built: (CUDA [0-9.]+, NCCL [0-9.]+|without CUDA and NCCL), Open MPI [45][0-9.]+, [a-z]+ [0-9.]+, ' "$work/out"
	check "$program: commit" grep -Eqx 'commit: ([0-9a-f]{7,}(-dirty)?|unknown)' "$work/out"
	check "$program: what is found" [ "$(grep -cE '^found: (no )?(NCCL|CUDA driver|Open MPI|a driver for CUDA)' "$work/out")" = 3 ]
done

# ---- packages ----

for which in a b; do
	BUILD=$work/$which run ci/packaging/package dist
	[ "$rc" -eq 77 ] || expect_rc 0 'package dist'
done
if [ "$rc" -eq 0 ]; then
	check 'two runs of make dist give the same bytes' cmp "$work"/{a,b}/packages/hangar-"$version".tar.gz
	tar -xzf "$work/a/packages/hangar-$version.tar.gz" -C "$work"
	check 'its tree says its commit' [ "$("$work/hangar-$version/ci/packaging/built" gcc | head -n 1)" = "commit: $(git describe --always --exclude '*')" ]
fi
# A function of glibc 2.36 is named
mkdir "$work/new"
cp -r "$BUILD"/{built.txt,hangar_run,libhangar.so,specs} "$work/new/"
printf '#include <stdlib.h>\nint main(void) { return (int)arc4random(); }\n' | gcc -x c - -o "$work/new/nccl_log" 2>/dev/null && {
	BUILD=$work/new run ci/packaging/package bundle
	expect_rc 1 'package bundle'
	check "the symbol is named: $(cat "$work/err")" grep -qx '#   arc4random (2.36) in nccl_log' "$work/err"
}

# ---- which libnccl ----

cat >"$work/main.c" <<'EOF'
#include "base/nccl_library.h"
int main(int argc, char **argv)
{
	const char *why;
	const struct nccl_library *found = (nccl_library_ask(argc > 1 ? argv[1] : NULL), nccl_library_load(&why));

	printf(found->handle ? "%s %d %s" : "none: %3$s", found->source, found->version, found->handle ? found->path : why);
	return 0;
}
EOF
for which in asked path built venv/lib/python3.12/site-packages/nvidia/nccl/lib home/.local/lib/python3.9/site-packages/nvidia/nccl/lib; do
	mkdir -p "$work/$which"
	cp "$BUILD"/tests/double/{libnccl.so.2,libcuda.so.1} "$work/$which/"
done
mkdir "$work/broken" "$work/venv/bin"
echo text >"$work/broken/libnccl.so.2"
cp /bin/true "$work/venv/bin/python3"
for built in '' "$work/built"; do
	gcc -w -std=gnu11 -D_GNU_SOURCE -DNCCL_BUILT="\"$built\"" -Icommon/lib -include base/c.h common/lib/base/nccl_library.c "$work/main.c" -o "$work/find${built:+_built}" -ldl || exit 1
done
# found WANT PROGRAM [NAME=VALUE...] [-- FILE]: what is found in an environment of these alone
found() {
	local want=$1 program=$2 is
	shift 2
	is=$(cd "$work" && env -i HOME=/none PATH=/none DOUBLE_VERSION=22203 "${@/#--/./$program}")
	check "$*: '$is' instead of '$want'" [ "$is" = "$want" ]
}
here=$(realpath "$work")
pip=lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2
nowhere=$(cd "$work" && env -i HOME=/none PATH=/none ./find)
check "nothing named: '$nowhere'" grep -Eq "^(the system's [0-9]+ /.*|none: libnccl.so.2: cannot open shared object file: No such file or directory)$" <<<"$nowhere"
found "--nccl-lib 22203 $here/asked/libnccl.so.2" find LD_LIBRARY_PATH=path VIRTUAL_ENV=venv -- asked/libnccl.so.2
found "preloaded 22203 $here/path/libnccl.so.2" find LD_PRELOAD="$work/path/libnccl.so.2" -- asked/libnccl.so.2
found "LD_LIBRARY_PATH 22203 $here/path/libnccl.so.2" find LD_LIBRARY_PATH=/none::path VIRTUAL_ENV=venv --
found "LD_LIBRARY_PATH 22203 $here/path/libnccl.so.2" find_built LD_LIBRARY_PATH=path --
found "the build's 22203 $here/built/libnccl.so.2" find_built VIRTUAL_ENV=venv --
found "pip's 22203 $here/venv/$pip" find VIRTUAL_ENV=venv HOME=home --
found "pip's 22203 $here/venv/$pip" find CONDA_PREFIX=venv HOME=home --
found "pip's 22203 $here/venv/$pip" find PATH=/none:"$work/venv/bin" HOME=home --
found "pip's 22203 $here/home/.local/lib/python3.9/site-packages/nvidia/nccl/lib/libnccl.so.2" find HOME=home --
# what is named and cannot be loaded is no reason to take another
found 'none: broken/libnccl.so.2: file too short' find LD_LIBRARY_PATH=broken VIRTUAL_ENV=venv --
found 'none: none.so: cannot open shared object file: No such file or directory' find VIRTUAL_ENV=venv -- none.so
run "$BUILD/all_reduce_perf" --nccl-lib "$work/asked/libnccl.so.2" --version
check "--version says the library of --nccl-lib" grep -qx "found: NCCL 2.28.9, --nccl-lib: $here/asked/libnccl.so.2" "$work/out"

# ---- what a container lacks ----

# shellcheck disable=SC2016 # of the inner shell
run unshare -m bash -c 'mount -t tmpfs -o size=32m tmpfs /dev/shm && exec "$0" "$@"' "$BUILD/all_gather_perf" --backend mpi -g 4 --fault=drop-rank --out "$work/run"
[ "$(id -u)" != 0 ] || check "a small /dev/shm is said: $(head -n 1 "$work/err")" grep -q '^all_gather_perf: /dev/shm has 32 MiB for 4 ranks' "$work/err"
cat >"$work/refuse.c" <<'EOF'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) /* as Docker's default profile on old kernels */
{
	struct sock_filter filter[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 4, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) || execv(argv[1], argv + 1);
}
EOF
gcc -o "$work/refuse" "$work/refuse.c" || exit 1
run "$work/refuse" "$BUILD/all_gather_perf" --backend mpi -g 3 --fault=drop-rank --out "$work/refused"
expect_rc 10 'a hang without ptrace'
check "refused ptrace is said" grep -qx '# no stacks: ptrace is refused; a container needs --cap-add=SYS_PTRACE' "$work/out"
run "$work/refuse" "$BUILD/health"
check "health says it" grep -q 'warn: ptrace: refused: a hang has its verdict, and no stacks. Do: start the container with --cap-add=SYS_PTRACE' "$work/out"

check "no program links libnccl" [ "$(ldd "$BUILD"/{all_reduce_perf,health,hangar_run} | grep -c nccl)" = 0 ]
finish
