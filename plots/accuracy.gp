# accuracy.gp: predicted against measured time on our own hosts, and the error over size.
# usage: gnuplot -e "csv='DIR/accuracy.csv'; out='DIR/accuracy'" plots/accuracy.gp

if (!exists("csv") || !exists("out")) {
	print "usage: gnuplot -e \"csv='DIR/accuracy.csv'; out='NAME'\" plots/accuracy.gp"
	exit status 2
}
set datafile separator ","
set datafile missing NaN
set key autotitle columnheader

names = "fitted physical nccl"
titles = "'fitted constants' 'physical only' \"NCCL's own estimate\""
array colours[3] = [0x0072B2, 0x009E73, 0xD55E00]
of(i, value) = strcol("source") eq "h200x4" && strcol("model") eq word(names, i) ? value : NaN
published(i, value) = strcol("source") eq "published" && strcol("model") eq word(names, i) ? value : NaN
do for [i = 1:3] {
	set linetype i linecolor rgb colours[i] pointtype 7 pointsize 0.4
}
set border 3 linecolor rgb "#555555"
set tics nomirror out textcolor rgb "#222222"
set grid xtics ytics linetype 1 linecolor rgb "#e4e4e4" linewidth 1
set key top left reverse Left noenhanced

terminal(format) = format eq "svg" ? \
	"set terminal svg size 1200,500 dynamic font 'Helvetica,13' background 'white'" : \
	"set terminal pngcairo size 2400,1000 fontscale 1.6 linewidth 2 pointscale 2 background 'white'"
do for [format in "svg png"] {
	eval terminal(format)
	set output out.".".format
	set multiplot layout 1,3
	set logscale xy
	set title "4 H200: time"
	set xlabel "measured, us"
	set ylabel "predicted, us"
	set xrange [8:12000]
	set yrange [5:15000]
	plot x with lines linecolor rgb "#999999" notitle, \
		for [i = 1:3] csv using (column("measured")):(of(i, column("predicted"))) with points linetype i \
		title word(titles, i)
	unset logscale
	set logscale x 2
	set title "4 H200: error over size"
	set xlabel "size, bytes"
	set ylabel "error of predicted time, %"
	set xrange [4:4.3e9]
	set yrange [-60:60]
	set xtics ("8" 8, "1K" 2**10, "64K" 2**16, "1M" 2**20, "64M" 2**26, "1G" 2**30)
	plot for [i = 1:3] csv using (column("size_bytes")):(of(i, column("error_percent"))) with points linetype i notitle
	unset logscale
	set xtics autofreq
	set logscale xy
	set title "published plateaus"
	set xlabel "measured, GB/s"
	set ylabel "predicted, GB/s"
	set xrange [0.5:1200]
	set yrange [0.5:1200]
	plot x with lines linecolor rgb "#999999" notitle, \
		for [i = 1:3] csv using (column("measured")):(published(i, column("predicted"))) with points linetype i notitle
	unset logscale
	unset multiplot
	set output
}
