# timeline.gp: calls of ranks around a divergence: a lane per rank, a bar per call, waiting apart.
# Calls of several communicators have a strip in the colour of theirs, and its number beside their own.
# usage: gnuplot -e "csv='DIR/timeline.csv'; out='DIR/timeline'" plots/timeline.gp
# writes out.svg, .png

if (!exists("csv") || !exists("out")) {
	print "usage: gnuplot -e \"csv='DIR/timeline.csv'; out='DIR/timeline'\" plots/timeline.gp"
	exit status 2
}

set datafile separator ","
set datafile columnheaders

# One pass collects what is no bar: texts, points in time, breaks of the axis, lanes.
title = ""; parted = ""
comms = ""
divergence = -1; verdict = 0; widest = 0
nlanes = 0; ncalls = 0; nbreaks = 0; nnotes = 0; nqueued = 0; ndevice = 0
array low[8]
array high[8]
array rank[128]
array guilty[128]
array how[128]
array note[16]
is(name) = strcol("row") eq name
start(i) = column("start_ms")
# A text of a file has semicolons for commas; that of a lane is set in two lines.
commas(s) = (mark = strstrt(s, ";"), mark ? s[:mark - 1].",".commas(s[mark + 1:]) : s)
longer(text) = strlen(text) > widest ? (widest = strlen(text), 0) : 0
lines(s) = (cut = strstrt(s, "; for "), longer(s[:cut]), longer(s[cut + 1:]), \
	cut ? commas(s[:cut - 1])."\n".commas(s[cut + 2:]) : commas(s))
take_break(i) = (nbreaks = nbreaks + 1, low[nbreaks] = column("start_ms"), \
	high[nbreaks] = column("end_ms"), 0)
take_lane(i) = (nlanes = nlanes + 1, rank[nlanes] = strcol("rank"), \
	guilty[nlanes] = int(column("guilty")), how[nlanes] = lines(strcol("text")), 0)
take_call(i) = (ncalls = ncalls + 1, nqueued = nqueued + (strcol("state") eq "queued"), \
	ndevice = ndevice + (column("device_end_ms") > 0), \
	comms = strstrt(" ".comms, " ".strcol("comm")." ") ? comms : comms.strcol("comm")." ", 0)
take_row(i) = \
	is("title") ? (title = strcol("text"), 0) : \
	is("divergence") ? (parted = strcol("text"), divergence = start(0), 0) : \
	is("verdict") ? (verdict = start(0), 0) : \
	is("note") && nnotes < 16 ? (nnotes = nnotes + 1, note[nnotes] = strcol("text"), 0) : \
	is("break") && nbreaks < 8 ? take_break(0) : \
	is("lane") && nlanes < 128 ? take_lane(0) : \
	is("call") ? take_call(0) : 0
stats csv using (take_row(0)) nooutput
if (ncalls == 0) {
	print csv, ": no calls to draw"
	exit status 1
}

# Long stretches in which nothing begins or ends are shortened, the last one less than the others.
cut = nbreaks == 0 ? 0 : sum [i = 1:nbreaks] (high[i] - low[i])
kept = verdict - cut > 0 ? verdict - cut : 1
width(i) = kept * (i == nbreaks ? 0.4 : 0.15)
within(t, i) = t <= low[i] ? 0 : t >= high[i] ? high[i] - low[i] : t - low[i]
place(t) = nbreaks == 0 ? t : \
	t + (sum [i = 1:nbreaks] within(t, i) * (width(i) / (high[i] - low[i]) - 1))
right = place(verdict)

ink = 0x222222; grey = 0x666666; paper = 0xffffff; plain = 0xF5F6F7; blush = 0xFBE9E3
blue = 0x0072B2; dark = 0x003F63; pale = 0x9CC9E3; gold = 0xF0C24B; orange = 0xD55E00
red = 0xB3261E
ncomms = words(comms)
several = ncomms > 1
sorted = ""
do for [n = 1:ncomms] {
	least = 2**32
	do for [c in comms] { if (!strstrt(" ".sorted, " ".c." ") && int(c) < least) { least = int(c) } }
	sorted = sorted.sprintf("%d ", least)
}
comms = sorted
array hue[6] = [0x009E73, 0xA63D8F, 0x111111, 0x7FD1F7, 0x8C6D31, 0xF2A7D0]
set border 0
set key at screen 0.5, screen 0.015 bottom center horizontal maxrows 1 Left reverse \
	samplen 1.6 width -2 noenhanced
set xrange [-0.01 * right : right * 1.004]
set yrange [nlanes - 0.4 : -0.75]
unset ytics

# Ticks: about six round numbers on what is not shortened, in a unit that makes them short; and the
# verdict.
step0 = kept / 6.0
power = 10.0**floor(log10(step0))
step = power * (step0 < 1.5 * power ? 1 : step0 < 3.5 * power ? 2 : step0 < 7.5 * power ? 5 : 10)
micro = kept < 2
shown(t) = sprintf("%g", micro ? t * 1000 : t)
long(t) = t >= 1000 ? sprintf("%.3g s", t / 1000) : \
	t >= 1 ? sprintf("%.3g ms", t) : sprintf("%.3g us", t * 1000)
hits(t, i) = t > low[i] && t < high[i] || abs(place(t) - place(low[i])) < 0.05 * right
in_break(t) = nbreaks == 0 ? 0 : sum [i = 1:nbreaks] hits(t, i)
limit = nbreaks > 0 && high[nbreaks] >= verdict ? low[nbreaks] : verdict
set xtics ()
set xtics out nomirror scale 0.4 textcolor rgb ink
do for [k = 0:200] {
	if (k * step <= limit && !in_break(k * step) && right - place(k * step) > 0.06 * right) {
		set xtics add (shown(k * step) place(k * step))
	}
}
set xtics add ("verdict" right)
set xlabel sprintf("%s after the first call shown", micro ? "microseconds" : "milliseconds") \
	noenhanced offset 0, 0.3 textcolor rgb ink

do for [i = 1:nlanes] {
	set object i rectangle from graph 0, first i - 1.45 to graph 1, first i - 0.55 behind \
		fillcolor rgb (guilty[i] ? blush : plain) fillstyle solid noborder
	set label i sprintf("%srank %s", guilty[i] ? "> " : "", rank[i]) noenhanced \
		at graph -0.008, first i - 1 right textcolor rgb (guilty[i] ? red : ink)
	set label 200 + i how[i] at graph 1.008, first i - 1 left noenhanced \
		offset 0, (strstrt(how[i], "\n") ? 0.5 : 0) textcolor rgb (guilty[i] ? red : ink)
}
# A break: a slanted strip of paper across all lanes, its true length above.
do for [i = 1:nbreaks] {
	middle = (place(low[i]) + place(high[i])) / 2
	set arrow 10 + i from middle - 0.006 * right, graph -0.005 \
		to middle - 0.001 * right, graph 1 nohead front linecolor rgb paper linewidth 5
	if (width(i) > 0.07 * right) {
		set label 400 + i "// ".long(high[i] - low[i])." //" at middle, graph 1 center \
			noenhanced offset 0, 0.7 textcolor rgb grey
	}
}
if (divergence >= 0) {
	# behind the bars, whose numbers it would strike through
	set arrow 1 from place(divergence), graph 0 to place(divergence), graph 1 nohead back \
		linecolor rgb red linewidth 1.5 dashtype (6, 4)
	# near an edge of the picture the text keeps inside
	set label 500 parted at place(divergence), graph 1 noenhanced offset 0, 1.8 \
		textcolor rgb red
	if (place(divergence) > 0.2 * right) { set label 500 center }
	if (place(divergence) > 0.8 * right) { set label 500 right }
}
set label 600 commas(title) at graph 0, graph 1 left noenhanced offset 0, 3.5 textcolor rgb ink font ",17"
do for [i = 1:nnotes] {
	set label 700 + i note[i] at graph 0, graph 0 left noenhanced offset 0, -3.4 - 1.2 * i \
		textcolor rgb grey
}

# Bars; NaN where the line is none of the kind. What would be too short to see is made visible.
half = 0.32
least = 0.0015 * right
lane(i) = column("lane")
at(name) = place(column(name))
unfinished(i) = strcol("state") eq "unfinished"
queued(i) = strcol("state") eq "queued"
from(name, test) = strcol("row") eq "call" && test ? at(name) : NaN
to(first, name) = at(name) - at(first) < least ? at(first) + least : at(name)
waited(i) = column("joined_ms") > column("start_ms") && !unfinished(0)
moved(i) = column("end_ms") > column("joined_ms") && !unfinished(0) && !queued(0)
ran(i) = column("device_end_ms") > 0

# The number of a call stands in its bar where there is room; of a send and a receive that never
# ended together, side by side.
letter = 0.0105 * right
number(i) = several ? "c".strcol("comm").": ".strcol("seq") : strcol("seq")
of_comm(k) = strcol("comm") eq word(comms, k)
inset(i) = letter * (0.8 + 0.5 * strlen(number(0)))
side(i) = begun == lane(0) ? 2 * inset(0) : 0
beside(i) = (shift = side(0), begun = unfinished(0) ? lane(0) : -1, shift)
middle(i) = unfinished(0) ? at("start_ms") + inset(0) + beside(0) : \
	(at("joined_ms") + at("end_ms")) / 2
roomy(i) = unfinished(0) || \
	at("end_ms") - at("joined_ms") > letter * (0.5 + strlen(number(0)))

set lmargin 10
set rmargin widest + 3
set tmargin 5.2
set bmargin 7 + 1.2 * nnotes + 1.8 * several
tall = 44.0 * nlanes + 220 + 22 * nnotes + 34 * several
do for [k = 1:several * ncomms] { # a legend apart: a row of its own above the key
	set object 200 + k rectangle from screen 0.2 + 0.06 * k, screen 62 / tall to \
		screen 0.215 + 0.06 * k, screen 70 / tall fillcolor rgb hue[(k - 1) % 6 + 1] \
		fillstyle solid noborder
	set label 800 + k "c".word(comms, k) at screen 0.22 + 0.06 * k, screen 66 / tall left
	set label 800 "communicators" at screen 0.25, screen 66 / tall right
}
set style fill solid noborder
do for [format in "svg png"] {
	if (format eq "svg") {
		set terminal svg size 1100, tall dynamic enhanced font 'Helvetica,14' \
			background 'white'
	} else {
		set terminal pngcairo size 2200, 2 * tall fontscale 2 linewidth 2 enhanced \
			background 'white'
	}
	set output out.".".format
	begun = -1
	plot csv using (from("joined_ms", moved(0))):(lane(0)):(at("joined_ms")): \
			(to("joined_ms", "end_ms")):(lane(0) - half):(lane(0) + half) \
			with boxxyerror fillcolor rgb blue title "in the call", \
		csv using (from("start_ms", waited(0))):(lane(0)):(at("start_ms")): \
			(to("start_ms", "joined_ms")):(lane(0) - half):(lane(0) + half) \
			with boxxyerror fillcolor rgb gold title "waits for a later rank", \
		csv using (from("start_ms", unfinished(0))):(lane(0)):(at("start_ms")): \
			(to("start_ms", "end_ms")):(lane(0) - half):(lane(0) + half) \
			with boxxyerror fillcolor rgb orange title "call that never ended", \
		csv using (from("start_ms", queued(0))):(lane(0)):(at("start_ms")): \
			(to("start_ms", "end_ms")):(lane(0) - half):(lane(0) + half) \
			with boxxyerror fillcolor rgb pale \
			title (nqueued ? "queued, its end is not known" : ""), \
		csv using (from("device_start_ms", ran(0))):(lane(0)):(at("device_start_ms")): \
			(to("device_start_ms", "device_end_ms")): \
			(lane(0) + 0.6 * half):(lane(0) + half) \
			with boxxyerror fillcolor rgb dark title (ndevice ? "on the device" : ""), \
		for [k = 1:several * ncomms] csv using (from("start_ms", of_comm(k))):(lane(0)): \
			(at("start_ms")):(to("start_ms", "end_ms")): \
			(lane(0) - half):(lane(0) - 0.55 * half) \
			with boxxyerror fillcolor rgb hue[(k - 1) % 6 + 1] notitle, \
		csv using (from("start_ms", 1)):(lane(0) - half):(0):(2 * half) \
			with vectors nohead linecolor rgb paper linewidth 1.2 notitle, \
		csv using (roomy(0) ? middle(0) + 0 * from("start_ms", 1) : NaN): \
			(lane(0)):(number(0)) \
			with labels center noenhanced textcolor rgb paper notitle
	set output
}
