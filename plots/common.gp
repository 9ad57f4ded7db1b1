# common.gp: what all plots share: the curves in the CSV, the look, both file formats. Loaded by the
# other scripts; they are called with csv and out set:
# gnuplot -e "csv='DIR/rows.csv'; out='DIR/busbw'" plots/busbw.gp

if (!exists("csv") || !exists("out")) {
	print "usage: gnuplot -e \"csv='DIR/rows.csv'; out='DIR/NAME'\" plots/NAME.gp"
	exit status 2
}

set datafile separator ","
set datafile missing NaN          # a row of another curve leaves no gap in this one's line
set key autotitle columnheader    # makes the header line give the columns their names

# A curve is one type, operator, root, mode and placement. One pass over the file collects the
# curves and the range of sizes; a size of 0 bytes (a small total split over many ranks) can't stand
# on a logarithmic axis.
curves = ""
what = ""
smallest = 1e300
largest = 0
curve_of(row) = sprintf("%s,%s,%s,%s,%s", strcol("dtype"), strcol("redop"), strcol("root"), \
	strcol("mode"), strcol("placement"))
what_of(row) = sprintf("%s on %s, %s ranks, %s node%s", strcol("collective"), strcol("backend"), \
	strcol("nranks"), strcol("nnodes"), strcol("nnodes") eq "1" ? "" : "s")
note_curve(key) = strstrt(curves, key." ") ? 0 : (curves = curves.key." ", 0)
note_what(text) = what eq "" ? (what = text, 0) : 0
note_size(size) = size > 0 ? (smallest = size < smallest ? size : smallest, \
	largest = size > largest ? size : largest, 0) : 0
stats csv using \
	(note_curve(curve_of(0)) + note_what(what_of(0)) + note_size(column("size_bytes"))) nooutput
ncurves = words(curves)
if (ncurves == 0 || largest == 0) {
	print csv, ": no rows to plot"
	exit status 1
}
curve(i) = word(curves, i)

# The value where the row belongs to the curve and can be drawn, else NaN.
of_curve(i, value) = curve_of(0) eq curve(i) && column("size_bytes") > 0 ? value : NaN

spaced(s) = (at = strstrt(s, ","), at ? s[:at - 1]." ".spaced(s[at + 1:]) : s)
part(i, n) = word(spaced(curve(i)), n)
series(i) = sprintf("%s%s %s%s", part(i, 1), part(i, 2) eq "none" ? "" : " ".part(i, 2), part(i, 4), \
	part(i, 3) eq "-1" ? "" : " root ".part(i, 3))
in_place(i) = part(i, 5) eq "in-place"

# What all curves have in common goes into the title, the rest into the key.
nseries = 0
seen = ""
array number[ncurves]
do for [i = 1:ncurves] {
	key = curve(i)[:strlen(curve(i)) - strlen(part(i, 5)) - 1]
	if (!strstrt(seen, key." ")) {
		seen = seen.key." "
		nseries = nseries + 1
	}
	do for [k = 1:nseries] {
		if (word(seen, k) eq key) { number[i] = k }
	}
}
label(i) = (nseries > 1 ? series(i).", " : "").part(i, 5)

# Colours that colour-blind readers can tell apart (Okabe and Ito). Of several series each has its
# colour. In-place curves are dashed.
array colours[8] = [0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x000000, 0x999999]
colour(i) = colours[((nseries == 1 ? in_place(i) + 1 : number[i]) - 1) % 8 + 1]
do for [i = 1:ncurves] {
	set linetype i linecolor rgb colour(i) linewidth 2 dashtype 1 pointtype 7 pointsize 0.5
	if (in_place(i)) { set linetype i dashtype (4, 3) pointtype 6 }
}

set border 3 linecolor rgb "#555555"
set tics nomirror out textcolor rgb "#222222"
set grid xtics ytics linetype 1 linecolor rgb "#e4e4e4" linewidth 1
set logscale x 2
set xrange [smallest / 1.4 : largest * 1.4]
set xlabel "size, bytes"
escaped(s) = (mark = strstrt(s, "_"), mark ? s[:mark - 1]."\\_".escaped(s[mark + 1:]) : s)
set title sprintf("{/:Bold %s}%s", escaped(what), \
	nseries == 1 ? "\n{/*0.85 ".escaped(series(1))."}" : "")
set key top left reverse Left samplen 2.5 spacing 1.2 noenhanced
if (ncurves > 8) { set key outside right top }
if (ncurves > 24) { unset key }   # nobody could tell them apart

# Ticks at powers of two, at most about 12 of them, labelled 1K 1M 1G.
unit(b) = b >= 2.0**40 ? sprintf("%gT", b / 2.0**40) : \
	b >= 2.0**30 ? sprintf("%gG", b / 2.0**30) : \
	b >= 2.0**20 ? sprintf("%gM", b / 2.0**20) : \
	b >= 2.0**10 ? sprintf("%gK", b / 2.0**10) : sprintf("%g", b)
first = floor(log(smallest) / log(2))
last = ceil(log(largest) / log(2))
every = ceil((last - first + 1) / 12.0)
set xtics ()
do for [i = first:last:every] {
	set xtics add (unit(2.0**i) 2.0**i)
}

# The command that selects a file format; for eval.
terminal(format) = format eq "svg" ? \
	"set terminal svg size 900,560 dynamic enhanced font 'Helvetica,14' background 'white'" : \
	"set terminal pngcairo size 1800,1120 fontscale 2 linewidth 2 pointscale 2 enhanced \
	background 'white'"
