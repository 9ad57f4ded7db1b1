# rows.gp: the curves of a rows.csv: measured, and beside them predicted ones where they are filled
# in. Loaded by busbw.gp and latency.gp, which set `here` (their folder) and `needs`.
# only='COLLECTIVE,BACKEND,RANKS,NODES' chooses of a file that holds several of these; without it
# such a file is refused: curves of several collectives in one picture would say nothing.

needs = needs." nranks nnodes size_bytes root"
texts = "collective backend dtype redop mode placement"
load here."common.gp"

# A curve is one type, operator, root, mode and placement. One pass over the file collects the
# curves and the range of sizes; a size of 0 bytes (a small total split over many ranks) can't stand
# on a logarithmic axis.
curves = ""
what = ""
kinds = ""
if (!exists("only")) { only = "" }
smallest = 1e300
largest = 0
with_prediction = ""
curve_of(row) = sprintf("%s,%s,%s,%s,%s", strcol("dtype"), strcol("redop"), strcol("root"), \
	strcol("mode"), strcol("placement"))
what_of(row) = sprintf("%s on %s, %s ranks, %s node%s", strcol("collective"), strcol("backend"), \
	strcol("nranks"), strcol("nnodes"), strcol("nnodes") eq "1" ? "" : "s")
kind_of(row) = strcol("collective").",".strcol("backend").",".strcol("nranks").",".strcol("nnodes")
note_kind(key) = strstrt(" ".kinds, " ".key." ") ? 0 : (kinds = kinds.key." ", 0)
asked(row) = whole(0) ? only eq "" || kind_of(0) eq only : 0
note_curve(key) = strstrt(curves, key." ") ? 0 : (curves = curves.key." ", 0)
note_what(text) = what eq "" ? (what = text, 0) : 0
note_size(size) = size > 0 ? (smallest = size < smallest ? size : smallest, \
	largest = size > largest ? size : largest, 0) : 0
size(row) = asked(0) ? column("size_bytes") : NaN
predicts_place = place(predicts)
predicts_row(i) = predicts_place && valid(predicts_place) ? strcol(predicts) ne "nan" : 0
note_predicted(key) = predicts_row(0) && !strstrt(with_prediction, key." ") ? \
	(with_prediction = with_prediction.key." ", 0) : 0
points = ""
repeated = 0
note_point(key) = strstrt(points, key) ? (repeated = 1, 0) : (points = points.key, 0)
point_of(row) = sprintf("%s=%s ", curve_of(0), strcol("size_bytes"))
note_row(row) = note_kind(kind_of(0)) + note_point(point_of(0)) + note_curve(curve_of(0)) + \
	note_what(what_of(0)) + note_predicted(curve_of(0)) + note_size(size(0))
stats csv using (asked(0) ? note_row(0) : 0) nooutput
ncurves = words(curves)
if (ncurves == 0 || largest == 0) {
	print file, ": no rows to plot"
	exit status 1
}
if (words(kinds) > 1) {
	print file, ": holds ".kinds."- one picture each: only='".word(kinds, 1)."', or plots/plot"
	exit status 1
}
curve(i) = word(curves, i)

# A file of several launches or cycles has points more than once: drawn is their mean.
mean = repeated ? "smooth unique" : ""

# A column's value where the row belongs to the curve and can be drawn, else NaN.
of_curve(i, name) = asked(0) ? curve_of(0) eq curve(i) && size(0) > 0 ? column(name) : NaN : NaN

part(i, n) = word(spaced(curve(i)), n)
series(i) = sprintf("%s%s %s%s", part(i, 1), part(i, 2) eq "none" ? "" : " ".part(i, 2), \
	part(i, 4), part(i, 3) eq "-1" ? "" : " root ".part(i, 3))
in_place(i) = part(i, 5) eq "in-place"

# What all curves have in common goes into the title, the rest into the key: of several series one
# entry each. Placements of a series whose predictions are the same share a line, else each has one.
nseries = 0
nparted = 0   # series whose placements have predictions of their own
seen = ""
predicted = ""
array number[ncurves]
array titled[ncurves]
array first[ncurves]
array trace[ncurves]   # what is predicted, as text
note_trace(row) = curve_of(0) eq curve(i) ? \
	(text = text.strcol("size_bytes")."=".strcol(predicts)." ", 0) : 0
do for [i = 1:ncurves] {
	titled[i] = 1
	text = ""
	if (strstrt(with_prediction, curve(i)." ")) {
		stats csv using (asked(0) ? note_trace(0) : 0) nooutput
	}
	trace[i] = text
	key = curve(i)[:strlen(curve(i)) - strlen(part(i, 5)) - 1]
	if (!strstrt(seen, key." ")) {
		seen = seen.key." "
		nseries = nseries + 1
		first[nseries] = i
		if (text ne "") { predicted = predicted.sprintf("%d ", i) }
	} else {
		titled[i] = 0
	}
	do for [k = 1:nseries] {
		if (word(seen, k) eq key) { number[i] = k }
	}
	if (!titled[i] && text ne "" && text ne trace[first[number[i]]]) {
		predicted = predicted.sprintf("%d ", i)
		nparted = nparted + 1
	}
}
npredicted = words(predicted)
predicted_curve(k) = int(word(predicted, k))
label(i) = nseries == 1 ? part(i, 5) : titled[i] ? series(i) : ""

# Of several series each has its colour. In-place curves are dashed; predicted ones thin, in a grey
# of their own where there is one for all.
colour(i) = colours[((nseries == 1 ? in_place(i) + 1 : number[i]) - 1) % 8 + 1]
predicted_colour(k) = nseries == 1 && !nparted ? 0x222222 : colour(predicted_curve(k))
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
	(nseries == 1 ? escaped(series(1)) : "dashed: in-place"). \
	(repeated ? "; mean where a size was measured more than once" : ""))
# Below the picture: a ceiling runs across the top of it.
set key outside bottom center horizontal reverse Left samplen 2.5 spacing 1.2 noenhanced
if (nseries > 12) { set key outside right top vertical }
wide = nseries > 12 ? 1.4 : 1

# What stands in a predicted column, as the end of a plot command (a macro): thin lines and one
# entry of the key; nothing where nothing is predicted. A loop over nothing would run once.
beside(name, title, look, rgb) = npredicted == 0 ? "" : ", for [k = 1:npredicted] csv using ". \
	"(size(0)):(of_curve(predicted_curve(k), '".name."')) ".mean." ". \
	"with lines ".look." linecolor rgb ".rgb." notitle, NaN with lines ".look. \
	" linecolor rgb '#555555' title '".title."'"

# The least and the most of a column in what is drawn: in `least` and `greatest`.
least = 1e300
greatest = 0
note_value(v) = v > 0 ? \
	(least = v < least ? v : least, greatest = v > greatest ? v : greatest, 0) : 0
number_of(name) = place(name) && asked(0) && size(0) > 0 && valid(place(name)) ? \
	note_value(column(name)) : 0
