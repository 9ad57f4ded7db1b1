# latency.gp: time of a call over size: the median, as a band the 5th to 95th percentile of the
# samples, and what was predicted where the file says so.
# usage: gnuplot -e "csv='DIR/rows.csv'; out='DIR/latency'" plots/latency.gp  writes out.svg, .png

here = ARG0[1:strlen(ARG0) - strlen("latency.gp")]
needs = "time_us p5_us p95_us"
predicts = "predicted_us"
load here."rows.gp"

# Bands of several series would hide each other, and percentiles have no mean.
nbands = nseries == 1 && !repeated ? ncurves : 0
set ylabel "time, microseconds (median".(nbands ? "; band: p5 to p95)" : ")")
set logscale y 10
stats csv using (number_of("time_us") + number_of("p95_us") + number_of(predicts)) nooutput
set format y greatest < 1e5 ? "%g" : least >= 1 ? "%.0f" : "10^{%L}"   # never two notations

predictions = beside(predicts, "predicted", "linewidth 1", "predicted_colour(k)")
do for [format in formats] {
	eval terminal(format, wide, 1)
	set output out.".".format
	plot for [i = 1:nbands] csv using (size(0)):(of_curve(i, "p5_us")): \
			(of_curve(i, "p95_us")) with filledcurves fillstyle transparent solid 0.2 noborder \
			linecolor rgb colour(i) notitle, \
		for [i = 1:ncurves] csv using (size(0)):(of_curve(i, "time_us")) @mean \
			with linespoints linetype i title label(i) @predictions
	set output
}
