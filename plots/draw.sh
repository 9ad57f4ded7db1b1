# draw.sh: pictures whole or not at all; sourced by plot and predict, which set `name`, theirs, and `here`.
# shellcheck shell=sh
# shellcheck disable=SC2154 # name and here

# say TEXT: why something is not drawn; echo would read backslashes
say() {
	printf '%s: %s\n' "$name" "$1" >&2
}

if ! command -v gnuplot >/dev/null; then
	say 'gnuplot is not installed: apt-get install gnuplot-nox (Debian, Ubuntu), or the package gnuplot'
	exit 77
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hangar-plot.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The scripts' strings are in single quotes, where a quote is written twice.
quoted() {
	printf '%s' "$1" | sed "s/'/''/g"
}

# whole PICTURE: gnuplot came to its end; it takes no notice of a full disk
whole() {
	tail -c 12 "$1" 2>/dev/null | grep -qa -e '</svg>' -e IEND
}

# put FILE TO: copies it there; else says why not and leaves no part of it
put() {
	put_why=$({ LC_ALL=C cp "$1" "$2.partial" && LC_ALL=C mv -fT "$2.partial" "$2"; } 2>&1) && return
	rm -f "$2.partial"
	say "$2: ${put_why##*: }"
	return 1
}

# picture SCRIPT TO FORMATS SETTINGS: draws TO.svg, TO.png and prints that
picture() {
	gnuplot -e "out='$(quoted "$scratch")/picture'; formats='$3'; $4" "$here/$1.gp" || return
	made=
	for format in $3; do
		if ! whole "$scratch/picture.$format"; then
			why=$(LC_ALL=C head -c 1M /dev/zero 2>&1 >"$scratch/picture.$format") || why=${why##*: }
			say "$scratch/picture.$format: ${why:-gnuplot did not draw it}"
			return 1
		fi
		put "$scratch/picture.$format" "$2.$format" || return
		made="$made $2.$format"
	done
	printf '#%s\n' "$made"
}
