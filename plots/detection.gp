# detection.gp: how long verdicts took: the share of runs named after so many milliseconds, a curve
# for each outcome (or fault, or any other column), with median and longest in the key.
# usage: gnuplot -e "csv='DIR/detection.csv'; out='DIR/detection'" plots/detection.gp
#        by='COLUMN'    what makes a curve (default: outcome). Runs without a verdict have no detect_ms.

needs = "detect_ms"
if (!exists("by")) { by = "outcome" }
texts = by
load ARG0[1:strlen(ARG0) - strlen("detection.gp")]."common.gp"

curves = ""
least = 1e300
most = 0
named(row) = whole(0) ? column("detect_ms") > 0 : 0
note_time(v) = (least = v < least ? v : least, most = v > most ? v : most, 0)
note_row(row) = (curves = keep(curves, strcol(by)), note_time(column("detect_ms")))
stats csv using (named(0) ? note_row(0) : 0) nooutput
ncurves = words(curves)
if (ncurves == 0) {
	print file, ": no verdict with a time"
	exit status 1
}
of_curve(i) = named(0) ? strcol(by) eq word(curves, i) ? column("detect_ms") : NaN : NaN
spell(ms) = ms < 1000 ? sprintf("%.3g ms", ms) : sprintf("%.3g s", ms / 1000)
array label[ncurves]
array share[ncurves]
do for [i = 1:ncurves] {
	stats csv using (of_curve(i)) nooutput
	share[i] = 100.0 / STATS_records
	label[i] = sprintf("%s: %d, median %s, longest %s", word(curves, i), STATS_records, \
		spell(STATS_median), spell(STATS_max))
}

set logscale x 10
set xrange [10 ** floor(log10(least)) : 10 ** (floor(log10(most)) + 1)]
set format x "%g"
set xlabel "time to the verdict, ms"
set ylabel "share of runs, %"
set yrange [0:103]
set arrow from 1000, graph 0 to 1000, graph 1 nohead linecolor rgb "#777777" dashtype 3
set title "When runs that went wrong were named, by ".by noenhanced
set key outside bottom center horizontal reverse Left samplen 2 noenhanced
do for [format in formats] {
	eval terminal(format, 1, 0.95 + 0.03 * ncurves)
	set output out.".".format
	plot for [i = 1:ncurves] csv using (of_curve(i)):(share[i]) smooth cumulative with steps \
			linecolor rgb colours[(i - 1) % 8 + 1] linewidth 1.5 notitle, \
		for [i = 1:ncurves] csv using (of_curve(i)):(share[i]) smooth cumulative with points \
			linecolor rgb colours[(i - 1) % 8 + 1] pointtype 7 pointsize 0.4 title label[i]
	set output
}
