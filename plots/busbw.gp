# busbw.gp: bus bandwidth over size, out of place and in place; beside it, where the file says so,
# what was predicted and what the links could carry.
# usage: gnuplot -e "csv='DIR/rows.csv'; out='DIR/busbw'" plots/busbw.gp     writes out.svg, .png

here = ARG0[1:strlen(ARG0) - strlen("busbw.gp")]
needs = "busbw_gbs"
foretells = "predicted_busbw_gbs"
load here."rows.gp"

set ylabel "bus bandwidth, GB/s"
set yrange [0:*]
set offsets 0, 0, graph 0.03, 0   # a ceiling keeps off the edge
set format y "%g"

predictions = beside(foretells, "predicted", "linewidth 1", "predicted_colour(k)")
ceilings = beside("ceiling_busbw_gbs", "ceiling", "linewidth 1.5 dashtype 3", "0x777777")
do for [format in formats] {
	eval terminal(format, wide, 1)
	set output out.".".format
	plot for [i = 1:ncurves] csv using (size(0)):(of_curve(i, "busbw_gbs")) \
		with linespoints linetype i title label(i) @predictions @ceilings
	set output
}
