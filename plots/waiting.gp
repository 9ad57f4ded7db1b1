# waiting.gp: share of the time that each rank spent in calls, and of that waiting for others, of hangar_run --csv. The rank
# that waits least is the one that the others wait for.
# usage: gnuplot -e "csv='DIR/meter.csv'; out='DIR/waiting'" plots/waiting.gp

needs = "rank held_percent"
texts = ""
load ARG0[1:strlen(ARG0) - strlen("waiting.gp")]."common.gp"

ranks = -1
note(row) = (ranks = column("rank") > ranks ? column("rank") : ranks, 0)
stats csv using (whole(0) ? note(0) : 0) nooutput
if (ranks < 0) {
	print file, ": no rank's row"
	exit status 1
}
of_rank(name) = whole(0) ? column("rank") >= 0 ? number(name) : NaN : NaN

set xrange [-0.5:ranks + 0.5]
set yrange [0:*]
set xlabel "rank"
set ylabel "share of the time, %"
if (ranks < 32) { set xtics 1 }
set style fill solid 1 noborder
set boxwidth ranks < 128 ? 0.8 : 1
set title "Time in calls, and waiting in them"
set key outside bottom center horizontal reverse Left samplen 2 noenhanced
do for [format in formats] {
	eval terminal(format, 1.2, 0.8)
	set output out.".".format
	plot csv using "rank":(of_rank("held_percent")) smooth frequency with boxes linecolor rgb "#9ecae1" title "in calls", \
		csv using "rank":(of_rank("waited_percent")) smooth frequency with boxes linecolor rgb colours[2] title "waiting for others"
	set output
}
