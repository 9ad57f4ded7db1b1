# arrivals.gp: how late each rank came to the sampled calls of a communicator: a lane a rank (or some), a column a call (or the
# mean of some), lateness as colour.
# usage: gnuplot -e "csv='arrivals.csv'; out='DIR/arrivals'" plots/arrivals.gp     of ci/night/arrivals.py

needs = "column call rank late_us"
texts = ""
load ARG0[1:strlen(ARG0) - strlen("arrivals.gp")]."common.gp"

most = 0; ranks = 0; step = 1e9; columns = 0; first = 0; last = 0
note(row) = (most = column("late_us") > most ? column("late_us") : most, \
	ranks = column("rank") > ranks ? column("rank") : ranks, \
	step = column("rank") > 0 && column("rank") < step ? column("rank") : step, \
	columns = column("column") > columns ? column("column") : columns, \
	last = column("call") > last ? column("call") : last, \
	first = first == 0 || column("call") < first ? column("call") : first, 0)
stats csv using (whole(0) ? note(0) : 0) nooutput
if (most <= 0) {
	print file, ": no call to which a rank came late"
	exit status 1
}
scale = most < 1000 ? 1 : most < 1e6 ? 1e-3 : 1e-6

set xrange [-0.5:columns + 0.5]
set yrange [ranks + step - 0.5:-0.5]
set xlabel sprintf("sampled calls, %.0f to %.0f", first, last)
unset xtics
set ylabel step > 1 ? sprintf("rank, the latest of %d", step) : "rank"
if (ranks < 32) { set ytics 1 }
unset grid
set cbrange [0:most * scale]
set cblabel "later than the median rank, ".(scale == 1 ? "us" : scale == 1e-3 ? "ms" : "s")
set palette defined (0 "#f7fbff", 0.3 "#9ecae1", 0.6 "#e69f00", 1 "#b2182b")
set title "How late each rank came to a call"
# Browsers blur an image of few cells: these are drawn one by one.
cells = columns * (1 + ranks / step) < 8000 ? "pixels" : ""
do for [format in formats] {
	eval terminal(format, 1.2, ranks < 32 ? 0.6 + 0.02 * ranks : 1.1)
	set output out.".".format
	plot csv using (whole(0) ? column("column") : NaN):(column("rank") + (step - 1) / 2.0):(column("late_us") * scale) \
		with image @cells notitle
	set output
}
