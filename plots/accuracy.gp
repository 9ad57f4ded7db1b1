# accuracy.gp: predicted against measured time on our own hosts, their ratio over size, and
# published plateaus where the file has some. Ratios are logarithmic: half is as far off as twice.
# usage: gnuplot -e "csv='DIR/accuracy.csv'; out='DIR/accuracy'" plots/accuracy.gp
#        own='NAME'    the source that is drawn (default: the first one with times)
#        rows=1        csv is a rows.csv: each collective stands for a model

if (!exists("rows")) { rows = 0 }
measured = rows ? "time_us" : "measured"
predicted = rows ? "predicted_us" : "predicted"
model = rows ? "collective" : "model"
source = rows ? "backend" : "source"
needs = "size_bytes ".measured." ".predicted
texts = rows ? "collective backend" : "source model unit"
load ARG0[1:strlen(ARG0) - strlen("accuracy.gp")]."common.gp"

# One pass: models, our source, and how far each picture reaches.
if (!exists("own")) { own = "" }
models = ""
nours = 0
nplateaus = 0
low_us = 1e300; high_us = 0; low_gbs = 1e300; high_gbs = 0
smallest = 1e300; largest = 0; widest = 1.1
note_model(name) = strstrt(" ".models, " ".name." ") ? 0 : (models = models.name." ", 0)
note_time(v) = v > 0 ? \
	(low_us = v < low_us ? v : low_us, high_us = v > high_us ? v : high_us, 0) : 0
note_gbs(v) = v > 0 ? \
	(low_gbs = v < low_gbs ? v : low_gbs, high_gbs = v > high_gbs ? v : high_gbs, 0) : 0
far_off(v) = v < 1 ? 1 / v : v
note_ratio(v) = v > 0 ? (widest = far_off(v) > widest ? far_off(v) : widest, 0) : 0
ratio(row) = column(measured) > 0 ? column(predicted) / column(measured) : 0
note_size(v) = v > 0 ? \
	(smallest = v < smallest ? v : smallest, largest = v > largest ? v : largest, 0) : 0
note_ours(row) = (nours = nours + 1, \
	note_time(column(measured)) + note_time(column(predicted)) + \
	note_ratio(ratio(0)) + note_size(column("size_bytes")))
note_plateau(row) = (nplateaus = nplateaus + 1, \
	note_gbs(column(measured)) + note_gbs(column(predicted)))
note_first(name) = own eq "" ? (own = name, 0) : 0
is_time(row) = rows || strcol("unit") eq "us" ? note_first(strcol(source)) + 1 : 0
note_row(row) = note_model(strcol(model)) + (is_time(0) ? \
	strcol(source) eq own ? note_ours(0) : 0 : note_plateau(0))
stats csv using (whole(0) ? note_row(0) : 0) nooutput
if (nours == 0) {
	print file, ": no times to plot"
	exit status 1
}

nmodels = words(models)
array known_titles[3] = ["fitted constants", "physical only", "NCCL's own estimate"]
title_of(i) = (mark = word(models, i), number = mark eq "fitted" ? 1 : mark eq "physical" ? 2 : \
	mark eq "nccl" ? 3 : 0, number ? known_titles[number] : mark)
is_model(i) = strcol(model) eq word(models, i)
ours(i, name) = whole(0) ? strcol(source) eq own && is_model(i) ? column(name) : NaN : NaN
is_ours(i) = whole(0) ? strcol(source) eq own && is_model(i) : 0
our_ratio(i) = is_ours(i) && ratio(0) > 0 ? ratio(0) : NaN
plateau(i, name) = whole(0) ? !rows && strcol("unit") ne "us" && is_model(i) ? column(name) : NaN : NaN
do for [i = 1:nmodels] {
	set linetype i linecolor rgb colour_of(word(models, i), i) \
		pointtype place_of(word(models, i), i) > 8 ? 9 : 7 pointsize 0.4
}
set key outside bottom center horizontal reverse Left samplen 1 spacing 1.2 noenhanced
set format x "%g"

do for [format in formats] {
	eval terminal(format, nplateaus ? 1.6 : 1.2, 0.95)
	set output out.".".format
	set multiplot layout 1, nplateaus ? 3 : 2
	set logscale xy
	set title own.": time" noenhanced
	set xlabel "measured, us"
	set ylabel "predicted, us"
	set xtics autofreq 10
	set xrange [low_us / 1.5 : high_us * 1.5]
	set yrange [low_us / 1.5 : high_us * 1.5]
	plot x with lines linecolor rgb "#999999" notitle, \
		for [i = 1:nmodels] csv using (ours(i, measured)):(ours(i, predicted)) with points \
		linetype i title title_of(i)
	unset logscale
	set logscale x 2
	set logscale y 10
	set title own.": predicted / measured over size" noenhanced
	set xlabel "size, bytes"
	set ylabel "predicted time / measured time"
	set xrange [smallest / 1.4 : largest * 1.4]
	set yrange [1 / (1.1 * widest) : 1.1 * widest]
	if (widest <= 2) { set ytics (0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2) }
	if (widest > 2 && widest <= 20) { set ytics (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20) }
	if (widest > 20) { set ytics autofreq 10**ceil(log10(widest) / 5) }
	eval power_ticks(smallest, largest, 7)
	plot 1 with lines linecolor rgb "#999999" notitle, for [i = 1:nmodels] csv using \
		(ours(i, "size_bytes")):(our_ratio(i)) with points linetype i title title_of(i)
	unset logscale
	set xtics autofreq
	set ytics autofreq
	if (nplateaus) {
		set logscale xy
		set title "published plateaus"
		set xlabel "measured, GB/s"
		set ylabel "predicted, GB/s"
		set xtics autofreq 10
		set xrange [low_gbs / 1.5 : high_gbs * 1.5]
		set yrange [low_gbs / 1.5 : high_gbs * 1.5]
		plot x with lines linecolor rgb "#999999" notitle, \
			for [i = 1:nmodels] csv using (plateau(i, measured)):(plateau(i, predicted)) \
			with points linetype i title title_of(i)
		unset logscale
	}
	unset multiplot
	set output
}
