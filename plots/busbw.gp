# busbw.gp: bus bandwidth over size, out of place and in place; beside it, where the file says so,
# what was predicted, between what nine in ten of such machines delivered, and what links could carry.
# usage: gnuplot -e "csv='DIR/rows.csv'; out='DIR/busbw'" plots/busbw.gp     writes out.svg, .png

here = ARG0[1:strlen(ARG0) - strlen("busbw.gp")]
needs = "busbw_gbs"
predicts = "predicted_busbw_gbs"
load here."rows.gp"

set ylabel "bus bandwidth, GB/s"
set format y "%g"

# A ceiling far above everything else would press that to the ground: it is said then, not drawn.
stats csv using (number_of("ceiling_busbw_gbs")) nooutput
lowest = least
highest = greatest
least = 1e300
greatest = 0
stats csv using (number_of("busbw_gbs") + number_of(predicts)) nooutput
most = greatest
greatest = 0 # of the bars: none where no such machine was scored
if (place("predicted_low_gbs")) { stats csv using (number_of("predicted_low_gbs")) nooutput }
barred = greatest > 0
greatest = most
far = highest > 1.5 * greatest
set yrange [0:*]
if (far) { set yrange [0:1.12 * greatest] }
set offsets 0, 0, graph 0.03, 0   # a ceiling keeps off the edge
what_can = "what links or memory can carry"
outside = far && lowest > 1.12 * greatest
if (outside && npredicted) {
	set label 1 sprintf("%s: %s%.4g GB/s, above the picture", what_can, \
		lowest < highest ? sprintf("%.4g to ", lowest) : "", highest) \
		at graph 0.01, 0.96 left textcolor rgb "#555555" noenhanced
}

predictions = beside(predicts, "predicted", "linewidth 1", "predicted_colour(k)")
bars = !npredicted || !barred ? "" : "for [k = 1:npredicted] csv using ". \
	"(size(0)):(of_curve(predicted_curve(k), 'predicted_low_gbs')):". \
	"(of_curve(predicted_curve(k), 'predicted_high_gbs')) with filledcurves fillstyle ". \
	"transparent solid 0.15 noborder linecolor rgb predicted_colour(k) notitle, "
ceilings = outside || highest == 0 ? "" : \
	beside("ceiling_busbw_gbs", what_can, "linewidth 1.5 dashtype 3", "0x777777")
do for [format in formats] {
	eval terminal(format, wide, 1)
	set output out.".".format
	plot @bars for [i = 1:ncurves] csv using (size(0)):(of_curve(i, "busbw_gbs")) @mean \
		with linespoints linetype i title label(i) @predictions @ceilings
	set output
}
