# recover.gp: how each cure ends after each break, as a heat map: milliseconds from the break to the first right sum,
# of the last run. From recover_perf --csv.
# usage: gnuplot -e "csv='DIR/recover.csv'; out='DIR/recover'" plots/recover.gp      writes out.svg, .png

needs = "nranks"
texts = "break cure outcome"
load ARG0[1:strlen(ARG0) - strlen("recover.gp")]."common.gp"

kinds = "right hangs error wrong n/a void"
array shades[6] = [0x009E73, 0x0072B2, 0xE69F00, 0xD55E00, 0xcccccc, 0xeeeeee]
breaks = ""; cures = ""; library = ""
of(names, name) = sum [k = 1:words(names)] (word(names, k) eq name ? k : 0)
with_it(names, name) = of(names, name) ? names : names." ".name
text(name) = strcol(int(place(name)))
array last[1024] # the row of each cell's last run
cell(break, cure) = of(breaks, break) * 32 + of(cures, cure)
stats csv using (whole(0) ? (breaks = with_it(breaks, text("break")), cures = with_it(cures, text("cure")), \
	last[cell(text("break"), text("cure"))] = column(0), library = place("nccl") ? text("nccl") : library, 0) : NaN) nooutput
if (breaks eq "") {
	print file, ": no cells to plot"
	exit status 1
}
shade(name) = shades[of(kinds, name) ? of(kinds, name) : 3]
is_last(row) = last[cell(text("break"), text("cure"))] == row ? of(breaks, text("break")) : NaN
field(outcome, ms) = valid(int(place("first_ms"))) ? sprintf("%.0f ms", ms) : outcome
set xrange [0.5:words(cures) + 0.5]
set yrange [words(breaks) + 0.5:0.5]
unset grid
set tics scale 0
set xtics ("" 0)
set ytics ("" 0)
do for [k = 1:words(cures)] { set xtics add (word(cures, k) k) }
do for [k = 1:words(breaks)] { set ytics add (word(breaks, k) k) }
set key outside bottom center horizontal Left reverse noenhanced width 2
set title "from the break to the first right sum".(library eq "" ? "" : ", NCCL ".library) noenhanced
do for [format in formats] {
	eval terminal(format, 0.9, 0.75)
	set output out.".".format
	plot csv using (of(cures, text("cure"))):(is_last(column(0))):(0.48):(0.46):(shade(text("outcome"))) \
			with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, \
		csv using (of(cures, text("cure"))):(is_last(column(0))):(field(text("outcome"), column("first_ms"))) \
			with labels textcolor rgb "white" font ",10" noenhanced notitle, \
		for [k = 1:6] NaN with boxes fillstyle solid noborder linecolor rgb shades[k] title word(kinds, k)
	set output
}
