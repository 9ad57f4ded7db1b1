# trend.gp: bus bandwidth over nights, from trend.csv: a panel per point, with its interval, control
# limits, and marks where host, NCCL or driver changed. Limits are those of an individuals chart:
# the median +- 3.14 times the median step from one night to the next (Wheeler's constants), which
# one bad night does not move, from FEWEST nights on and apart for each host, NCCL and driver. A
# night outside of them is red.
# usage: gnuplot -e "csv='DIR/trend.csv'; out='DIR/trend'" plots/trend.gp      writes out.svg, .png
#        each=1    a panel of each point; default: of the largest size of each collective, mode
#                  and, where the file says so, variant (ranks, type, operator)

needs = "bytes busbw"
wants = "low high"
texts = "date host nccl driver collective mode placement"
load ARG0[1:strlen(ARG0) - strlen("trend.gp")]."common.gp"
FEWEST = 5

# One pass for the kinds of points, and one of each kind for its largest size; or one for all points.
if (!exists("each")) { each = 0 }
variant(row) = place("variant") ? strcol("variant") : ""
kind_of(row) = strcol("collective")."|".strcol("mode")."|".variant(0)
point_of(row) = sprintf("%s|%s|%s|%s|%s", strcol("collective"), strcol("bytes"), strcol("mode"), \
	strcol("placement"), variant(0))
is_kind(name) = whole(0) ? kind_of(0) eq name : 0
kinds = ""
points = ""
note_kind(row) = each ? (points = keep(points, point_of(0)), 0) : (kinds = keep(kinds, kind_of(0)), 0)
stats csv using (whole(0) ? note_kind(0) : 0) nooutput
note_size(v) = v > most ? (most = v, point = point_of(0), 0) : 0
do for [kind in kinds] {
	most = -1
	stats csv using (is_kind(kind) ? note_size(column("bytes")) : 0) nooutput
	points = keep(points, point)
}
npoints = words(points)
if (npoints == 0) {
	print file, ": no rows to plot"
	exit status 1
}

# A panel's rows, cut out once: night, bandwidth, low, high, phase, step from that phase's last
# night. A phase is one host, NCCL and driver; what begins one is said at its mark.
bound(name) = (v = number(name), v == v ? v : column("busbw"))
is_point(name) = whole(0) ? point_of(0) eq name : 0
phase_of(row) = sprintf("%s|NCCL %s|driver %s", strcol("host"), strcol("nccl"), strcol("driver"))
part(s, k) = (mark = strstrt(s, "|"), k == 1 ? (mark ? s[:mark - 1] : s) : part(s[mark + 1:], k - 1))
new_part(k, a, b) = part(a, k) eq part(b, k) ? "" : " ".part(b, k)
changed(a, b) = new_part(1, a, b).new_part(2, a, b).new_part(3, a, b)
MOST = 60   # phases of a point; all later ones count as the last
array last[MOST]
array from[MOST]
array to[MOST]
array news[MOST]
begin_phase(name) = (phases = keep(phases, name), p = words(phases), (last[p] = 0), \
	(from[p] = night), (news[p] = changed(before, name)))
note_phase(name) = (strstrt(phases, "'".name."'") || words(phases) == MOST ? 0 : begin_phase(name), \
	p = index_of(phases, name), p = p ? p : MOST, before = name, (to[p] = night), p)
note_step(v) = (step = last[p] > 0 ? abs(v - last[p]) : -1, (last[p] = v), step)
stats csv using (whole(0) ? 1 : 0) nooutput
array date[STATS_records + 1]
note_night(row) = (night = night + 1, (date[night] = strcol(place("night") ? "night" : "date")), night)

outside(n, p, v) = v < real(word(lows[n], int(p))) || v > real(word(highs[n], int(p)))
red(n, p, v) = outside(n, p, v) ? v : NaN

# What is drawn into a panel beside its curve, as text for eval, and each phase's limits.
array decor[npoints]
array lows[npoints]
array highs[npoints]
array reds[npoints]
level(x1, x2, y, look) = sprintf("set arrow from %g, %.9g to %g, %.9g nohead %s; ", \
	x1 - 0.4, y, x2 + 0.4, y, look)
limits(x1, x2, y, far) = level(x1, x2, y, "linecolor rgb '#009E73' linewidth 1"). \
	level(x1, x2, y - far, "linecolor rgb '#D55E00' linewidth 1 dashtype 3"). \
	level(x1, x2, y + far, "linecolor rgb '#D55E00' linewidth 1 dashtype 3")
change(x, text) = sprintf("set arrow from %g, graph 0 to %g, graph 1 nohead linecolor rgb '#777777' \
	dashtype 2; set label '%s' at %g, graph 0.03 rotate by 90 offset 0.7, 0 noenhanced font ',10' \
	textcolor rgb '#555555'; ", x, x, quoted(text), x)
do for [n = 1:npoints] {
	night = 0
	phases = ""
	before = ""
	eval sprintf("set table $panel%d", n)
	plot csv using (mine = is_point(word(points, n)), mine ? note_night(0) : NaN): \
		(mine ? column("busbw") : 0):(mine ? bound("low") : 0):(mine ? bound("high") : 0): \
		(mine ? note_phase(phase_of(0)) : 0):(mine ? note_step(column("busbw")) : 0) \
		with table if (mine)
	unset table
	decor[n] = sprintf("set xrange [0.3 : %g]; set xtics (", night + 0.7)
	many = night < 3 ? night : 3
	do for [k = 1:many] {
		x = many == 1 ? 1 : 1 + (night - 1) * (k - 1) / (many - 1)
		decor[n] = decor[n].sprintf("%s'%s' %d", k > 1 ? ", " : "", quoted(date[x]), x)
	}
	decor[n] = decor[n]."); "
	lows[n] = ""
	highs[n] = ""
	eval of_panel
	do for [p = 1:words(phases)] {
		if (p > 1) { decor[n] = decor[n].change(from[p] - 0.5, news[p]) }
		eval sprintf("stats $panel%d using ($5 == p ? $2 : NaN) nooutput", n)
		middle = STATS_median
		far = NaN
		if (STATS_records >= FEWEST) {
			eval sprintf("stats $panel%d using ($5 == p && $6 >= 0 ? $6 : NaN) nooutput", n)
			far = 3.14 * STATS_median
			decor[n] = decor[n].limits(from[p], to[p], middle, far)
		}
		lows[n] = lows[n].sprintf("%.9g ", middle - far)
		highs[n] = highs[n].sprintf("%.9g ", middle + far)
	}
	reds[n] = 0
	eval sprintf("stats $panel%d using (reds[n] = reds[n] + outside(n, $5, $2)) nooutput", n)
	eval of_file
}

eval of_panel
wide = npoints == 1 ? 1 : 0.6 * across(npoints)
tall = 0.55 * down(npoints) + 0.16
night_look = "points linecolor rgb 0x0072B2 pointtype 7 pointsize 0.5"
red_look = "points linecolor rgb 0xD5005E pointtype 7 pointsize 0.9"
do for [format in formats] {
	eval terminal(format, wide, tall)
	set output out.".".format
	eval panel_look
	set multiplot title "bus bandwidth over nights, GB/s" font ":Bold,14" layout down(npoints), across(npoints) \
		margins screen 0.07 / wide, screen 1 - 0.03 / wide, screen 0.14 / tall, \
		screen 1 - 0.13 / tall spacing screen 0.08 / wide, screen 0.14 / tall
	do for [n = 1:npoints] {
		unset arrow
		unset label
		name = word(points, n)
		set title sprintf("%s, %s, %s, %s\n%s", part(name, 1), unit(real(part(name, 2))), \
			part(name, 3), part(name, 4), commas(part(name, 5))) noenhanced font ",12" offset 0, -0.6
		set format y "%g"
		set yrange [0 <*:*]
		set offsets 0, 0, graph 0.1, graph 0.1
		eval decor[n]
		eval sprintf("plot $panel%d using 1:2 with lines linecolor rgb 0x9fc5e0 notitle, \
			$panel%d using 1:2:3:4 with yerrorbars linecolor rgb 0x0072B2 pointsize 0 notitle, \
			$panel%d using 1:2 with %s notitle%s", n, n, n, night_look, \
			reds[n] ? sprintf(", $panel%d using 1:(red(n, $5, $2)) with %s notitle", n, red_look) : "")
	}
	eval legend_look(0.07 / tall)
	eval sprintf("plot NaN with %s title 'a night, with its interval', NaN with %s title \
		'outside of the limits', NaN with lines linecolor rgb 0x009E73 title 'median', \
		NaN with lines linecolor rgb 0xD55E00 dashtype 3 title 'control limits, from %d nights on'", \
		night_look, red_look, FEWEST)
	unset multiplot
	set output
}
