# rows.gp: the curves of a rows.csv: measured, and beside them predicted ones where they are filled
# in. Loaded by busbw.gp and latency.gp, which set `here` (their folder) and `needs`.

needs = needs." nranks nnodes size_bytes root"
texts = "collective backend dtype redop mode placement"
load here."common.gp"

# A curve is one type, operator, root, mode and placement. One pass over the file collects the
# curves and the range of sizes; a size of 0 bytes (a small total split over many ranks) can't stand
# on a logarithmic axis.
curves = ""
what = ""
smallest = 1e300
largest = 0
foretold = ""
curve_of(row) = sprintf("%s,%s,%s,%s,%s", strcol("dtype"), strcol("redop"), strcol("root"), \
	strcol("mode"), strcol("placement"))
what_of(row) = sprintf("%s on %s, %s ranks, %s node%s", strcol("collective"), strcol("backend"), \
	strcol("nranks"), strcol("nnodes"), strcol("nnodes") eq "1" ? "" : "s")
note_curve(key) = strstrt(curves, key." ") ? 0 : (curves = curves.key." ", 0)
note_what(text) = what eq "" ? (what = text, 0) : 0
note_size(size) = size > 0 ? (smallest = size < smallest ? size : smallest, \
	largest = size > largest ? size : largest, 0) : 0
size(row) = whole(0) ? column("size_bytes") : NaN
foretell_place = place(foretells)
foretells_row(i) = foretell_place && valid(foretell_place) ? strcol(foretells) ne "nan" : 0
note_foretold(key) = foretells_row(0) && !strstrt(foretold, key." ") ? \
	(foretold = foretold.key." ", 0) : 0
note_row(row) = note_curve(curve_of(0)) + note_what(what_of(0)) + note_foretold(curve_of(0)) + \
	note_size(size(0))
stats csv using (whole(0) ? note_row(0) : 0) nooutput
ncurves = words(curves)
if (ncurves == 0 || largest == 0) {
	print csv, ": no rows to plot"
	exit status 1
}
curve(i) = word(curves, i)

# A column's value where the row belongs to the curve and can be drawn, else NaN.
of_curve(i, name) = whole(0) ? curve_of(0) eq curve(i) && size(0) > 0 ? column(name) : NaN : NaN

part(i, n) = word(spaced(curve(i)), n)
series(i) = sprintf("%s%s %s%s", part(i, 1), part(i, 2) eq "none" ? "" : " ".part(i, 2), \
	part(i, 4), part(i, 3) eq "-1" ? "" : " root ".part(i, 3))
in_place(i) = part(i, 5) eq "in-place"

# What all curves have in common goes into the title, the rest into the key: of several series one
# entry each. Placements of a series have one prediction: the first one's.
nseries = 0
seen = ""
predicted = ""
array number[ncurves]
array titled[ncurves]
do for [i = 1:ncurves] {
	titled[i] = 1
	key = curve(i)[:strlen(curve(i)) - strlen(part(i, 5)) - 1]
	if (!strstrt(seen, key." ")) {
		seen = seen.key." "
		nseries = nseries + 1
		if (strstrt(foretold, curve(i)." ")) { predicted = predicted.sprintf("%d ", i) }
	} else {
		titled[i] = 0
	}
	do for [k = 1:nseries] {
		if (word(seen, k) eq key) { number[i] = k }
	}
}
npredicted = words(predicted)
foretold_curve(k) = int(word(predicted, k))
label(i) = nseries == 1 ? part(i, 5) : titled[i] ? series(i) : ""

# Of several series each has its colour. In-place curves are dashed; predicted ones thin, in a grey
# of their own where there is one series.
colour(i) = colours[((nseries == 1 ? in_place(i) + 1 : number[i]) - 1) % 8 + 1]
predicted_colour(k) = nseries == 1 ? 0x222222 : colour(foretold_curve(k))
do for [i = 1:ncurves] {
	shape = 7 + 2 * ((number[i] - 1) / 8)   # full; one less is the outline
	set linetype i linecolor rgb colour(i) linewidth 2 dashtype 1 pointtype shape pointsize 0.5
	if (in_place(i)) { set linetype i dashtype (4, 3) pointtype shape - 1 }
}

set logscale x 2
set xrange [smallest / 1.4 : largest * 1.4]
set xlabel "size, bytes"
eval power_ticks(smallest, largest, 12)
escaped(s) = (mark = strstrt(s, "_"), mark ? s[:mark - 1]."\\_".escaped(s[mark + 1:]) : s)
set title sprintf("{/:Bold %s}\n{/*0.85 %s}", escaped(what), \
	nseries == 1 ? escaped(series(1)) : "dashed: in-place")
# Below the picture: a ceiling runs across the top of it.
set key outside bottom center horizontal reverse Left samplen 2.5 spacing 1.2 noenhanced
if (nseries > 12) { set key outside right top vertical }
wide = nseries > 12 ? 1.4 : 1

# What stands in a predicted column, as the end of a plot command (a macro): a thin line per series
# and one entry of the key; nothing where nothing is predicted. A loop over nothing would run once.
beside(name, title, look, rgb) = npredicted == 0 ? "" : ", for [k = 1:npredicted] csv using ". \
	"(size(0)):(of_curve(foretold_curve(k), '".name."')) ". \
	"with lines ".look." linecolor rgb ".rgb." notitle, NaN with lines ".look. \
	" linecolor rgb '#555555' title '".title."'"
