# scaling.gp: what more ranks cost: bus bandwidth over the number of ranks, and in percent of what
# the fewest ranks reached; dashed: the same of the prediction. A curve per collective at its largest
# size, or at one size. From rows of one sweep at several numbers of ranks (ci/scaling); drawn is
# what is out of place and of the first row's backend, mode and type.
# usage: gnuplot -e "csv='DIR/rows.csv'; out='DIR/scaling'" plots/scaling.gp      writes out.svg, .png
#        at=BYTES    the size (default: the largest one of the fewest ranks)

needs = "busbw_gbs size_bytes nranks"
wants = "predicted_busbw_gbs"
texts = "collective backend placement mode dtype"
load ARG0[1:strlen(ARG0) - strlen("scaling.gp")]."common.gp"
if (!exists("at")) { at = 0 }

# Passes: the kind of the first row; fewest and most ranks; each collective's size; its reference.
kind = ""
kind_of(row) = sprintf("%s %s %s", strcol("backend"), strcol("mode"), strcol("dtype"))
of_kind(row) = whole(0) ? strcol("placement") eq "out-of-place" && column("busbw_gbs") > 0 ? \
	(kind = kind eq "" ? kind_of(0) : kind, kind_of(0) eq kind) : 0 : 0
names = ""
least = 1e300
most = 0
counts = ""
note_row(n) = (names = keep(names, strcol("collective")), least = n < least ? n : least, \
	most = n > most ? n : most, counts = keep(counts, sprintf("%d", n)))
stats csv using (of_kind(0) ? note_row(column("nranks")) : 0) nooutput
ncurves = words(names)
if (ncurves == 0) {
	print file, ": no rows to plot"
	exit status 1
}
array fewest[ncurves]
array size[ncurves]
array reach[ncurves]      # of the fewest ranks
array predicted[ncurves]
is_curve(i) = of_kind(0) ? strcol("collective") eq word(names, i) : 0
# A total that is split over ranks is not quite the same for 3 ranks as for 2: a tenth is let pass.
near(i) = abs(column("size_bytes") - size[i]) <= 0.1 * size[i]
ranks(i) = is_curve(i) ? column("nranks") : NaN
point(i, name) = is_curve(i) ? near(i) ? number(name) : NaN : NaN
note_fewest(n) = n < fewest[i] ? (fewest[i] = n) : 0
note_size(v) = column("nranks") == fewest[i] && v > size[i] ? (size[i] = v) : 0
note_reach(v, w) = v == v && column("nranks") == fewest[i] ? \
	((reach[i] = v), (predicted[i] = w == w ? w : 0), 0) : 0
has_prediction = 0
shown = ""   # curves that have the size
do for [i = 1:ncurves] {
	fewest[i] = 1e300
	size[i] = at
	reach[i] = 0
	predicted[i] = 0
	stats csv using (is_curve(i) ? note_fewest(column("nranks")) : 0) nooutput
	if (!at) { stats csv using (is_curve(i) ? note_size(column("size_bytes")) : 0) nooutput }
	stats csv using (note_reach(point(i, "busbw_gbs"), point(i, "predicted_busbw_gbs"))) nooutput
	if (reach[i] > 0) { shown = shown.sprintf(" %d", i) }
	has_prediction = has_prediction || predicted[i] > 0
}
if (shown eq "") {
	print file, sprintf(": no rows of %g bytes to plot", at)
	exit status 1
}

title_of(i) = sprintf("%s, %s", word(names, i), unit(size[i]))
do for [i = 1:ncurves] {
	set linetype i linecolor rgb colour_of(word(names, i), i) linewidth 2 \
		pointtype place_of(word(names, i), i) > 8 ? 9 : 7 pointsize 0.6
}
set logscale x 2
set xrange [least / 1.2 : most * 1.2]
set xtics ()
do for [count in counts] { set xtics add (count real(count)) }
set xlabel "ranks"
set yrange [0:*]
set offsets 0, 0, graph 0.05, 0
set format y "%g"
set key outside bottom center horizontal reverse Left samplen 2 spacing 1.1 noenhanced
curve = "smooth unique with linespoints linetype i title title_of(int(i))"
beside(y) = !has_prediction ? "" : ", for [i in shown] csv using (ranks(int(i))):(".y.") smooth \
	unique with lines linecolor rgb colour_of(word(names, int(i)), int(i)) linewidth 0.7 dashtype 2 notitle"
absolute = beside("point(int(i), 'predicted_busbw_gbs')")
relative = beside("100 * point(int(i), 'predicted_busbw_gbs') / predicted[int(i)]")
said = has_prediction ? " (dashed: predicted)" : ""
do for [format in formats] {
	eval terminal(format, 1.3, 1)
	set output out.".".format
	set multiplot layout 1, 2
	set title "bus bandwidth, GB/s".said
	plot for [i in shown] csv using (ranks(int(i))):(point(int(i), "busbw_gbs")) @curve @absolute
	set title "percent of what the fewest ranks reached".said
	plot for [i in shown] csv using (ranks(int(i))): \
		(100 * point(int(i), "busbw_gbs") / reach[int(i)]) @curve @relative
	unset multiplot
	set output
}
