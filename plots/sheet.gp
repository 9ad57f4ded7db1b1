# sheet.gp: all collectives of a rows.csv on one sheet: bus bandwidth over size, a panel for each
# collective, backend and number of ranks; where the columns are filled predicted (thin) and what
# links or memory can carry (dotted). A size measured more than once is drawn as its mean.
# usage: gnuplot -e "csv='DIR/rows.csv'; out='DIR/sheet'" plots/sheet.gp      writes out.svg, .png

needs = "busbw_gbs size_bytes nranks nnodes"
wants = "predicted_busbw_gbs ceiling_busbw_gbs"
texts = "collective backend placement mode dtype redop"
load ARG0[1:strlen(ARG0) - strlen("sheet.gp")]."common.gp"

# One pass for what there is: kinds are panels, curves a type, operator and mode in one placement.
setup_of(row) = sprintf("%s, %s ranks, %s node%s", strcol("backend"), \
	strcol("nranks"), strcol("nnodes"), strcol("nnodes") eq "1" ? "" : "s")
kind_of(row) = strcol("collective")." on ".setup_of(0)
usual(name) = name eq "none" || name eq "sum"
series_of(row) = sprintf("%s%s %s", strcol("dtype"), \
	usual(strcol("redop")) ? "" : " ".strcol("redop"), strcol("mode"))
kinds = ""
setups = ""
series = ""
smallest = 1e300
largest = 0
note_size(v) = (smallest = v < smallest ? v : smallest, largest = v > largest ? v : largest, 0)
note_row(row) = (kinds = keep(kinds, kind_of(0)), setups = keep(setups, setup_of(0)), \
	series = keep(series, series_of(0)), \
	note_size(column("size_bytes")))
stats csv using (whole(0) ? column("size_bytes") > 0 ? note_row(0) : 0 : 0) nooutput
nkinds = words(kinds)
nseries = words(series)
if (nkinds == 0) {
	print file, ": no rows to plot"
	exit status 1
}

# A panel's rows, cut out once: size, bandwidth, predicted, ceiling (-1: none), series, in place. Beside that
# how high its curves and its ceiling reach.
number_of(name) = index_of(series, name)
array top[nkinds]
array roof[nkinds]
have = ""   # which curves have points: panel,series,place,column
second(row) = strcol("placement") eq "in-place"
mark_of(n, k, place, c) = sprintf("%d,%d,%d,%d", n, k, place, c)
note(n, c, v) = v == v ? \
	(have = keep(have, mark_of(n, number_of(series_of(0)), second(0), c)), v) : -1
cell(n, c, name) = mine ? note(n, c, number(name)) : -1
higher(n, v) = v > top[n] ? (top[n] = v) : v
ours(n) = whole(0) ? column("size_bytes") > 0 ? kind_of(0) eq word(kinds, n) : 0 : 0
do for [n = 1:nkinds] {
	top[n] = 0
	roof[n] = 0
	eval sprintf("set table $panel%d", n)
	plot csv using (mine = ours(n), mine ? column("size_bytes") : 0):\
		(higher(n, cell(n, 2, "busbw_gbs"))):(higher(n, cell(n, 3, "predicted_busbw_gbs"))): \
		(v = cell(n, 4, "ceiling_busbw_gbs"), v > roof[n] ? (roof[n] = v) : v):(mine ? number_of(series_of(0)) : 0):(mine && second(0)) \
		with table if (mine)
	unset table
}

# A plot command's part for column c of a panel's series k; of two placements the second is dashed.
curve(n, k, second, c, look) = !strstrt(have, "'".mark_of(n, k, second, c)."'") ? "" : \
	sprintf(", $panel%d using ($5 == %d && $6 == %d && $%d >= 0 ? $1 : NaN):%d \
	smooth unique with %s notitle", n, k, second, c, c, look)
measured(n, k, second) = curve(n, k, second, 2, sprintf("linespoints linecolor rgb %d \
	linewidth 1.5 dashtype %s pointtype %d pointsize 0.35", colours[(k - 1) % 8 + 1], \
	second ? "(4, 3)" : "1", second ? 6 : 7))
beside(n, k) = curve(n, k, 0, 3, "lines linecolor rgb 0x222222 linewidth 1"). \
	(far(n) ? "" : curve(n, k, 0, 4, "lines linecolor rgb 0x777777 dashtype 3"))
far(n) = roof[n] > 1.5 * top[n]   # would press all else to the ground: is said then, not drawn
all_series(n, k) = k > nseries ? "" : \
	measured(n, k, 0).measured(n, k, 1).beside(n, k).all_series(n, k + 1)

set format y "%g"
eval of_panel
entry(text, look) = sprintf(", NaN with %s title '%s'", look, quoted(text))
entries(k) = k > nseries ? "" : entry(word(series, k), sprintf("linespoints linecolor rgb %d \
	linewidth 1.5 pointtype 7 pointsize 0.35", colours[(k - 1) % 8 + 1])).entries(k + 1)
legend = entries(1).entry("in-place", "lines linecolor rgb 0x555555 linewidth 1.5 dashtype (4, 3)"). \
	(strstrt(have, ",3'") ? entry("predicted", "lines linecolor rgb 0x222222 linewidth 1"). \
	entry("what links or memory can carry", "lines linecolor rgb 0x777777 dashtype 3") : "")
alike = words(setups) == 1
common = "bus bandwidth over size, GB/s".(alike ? ": ".word(setups, 1) : "")
wide = nkinds == 1 ? 1 : 0.5 * across(nkinds)
tall = 0.5 * down(nkinds) + 0.16
do for [format in formats] {
	eval terminal(format, wide, tall)
	set output out.".".format
	eval panel_look
	set logscale x 2
	set xrange [smallest / 1.4 : largest * 1.4]
	eval power_ticks(smallest, largest, 6)
	set multiplot title common font ":Bold,14" layout down(nkinds), across(nkinds) margins screen 0.06 / wide, \
		screen 1 - 0.02 / wide, screen 0.13 / tall, screen 1 - 0.12 / tall \
		spacing screen 0.07 / wide, screen 0.13 / tall
	do for [n = 1:nkinds] {
		name = word(kinds, n)
		set title alike ? name[:strstrt(name, " on ") - 1] : name noenhanced font ":Bold,12" offset 0, -0.6
		unset label
		if (far(n) && roof[n] > 0) { set label 1 sprintf("links or memory: %.4g GB/s", roof[n]) \
			at graph 0.02, 0.93 textcolor rgb "#555555" font ",11" }
		set yrange [0 : top[n] + roof[n] <= 0 ? 1 : 1.08 * (far(n) || roof[n] < top[n] ? top[n] : roof[n])]
		eval "plot NaN notitle".all_series(n, 1)
	}
	eval legend_look(0.07 / tall)
	eval "plot NaN notitle".legend
	unset multiplot
	set output
}
