# atlas.gp: how each fault ends with each NCCL library: a heat map of ci/atlas's map-TRANSPORT.csv. In a field
# how many cells have each end (2H/1W: two hangs, one wrong data; letters are in the key); a star where the two runs of a cell
# differ, a question mark where one was run once.
# usage: gnuplot -e "csv='DIR/map-net.csv'; out='DIR/atlas-net'; transport='net'" plots/atlas.gp

needs = "x y kind"
texts = "library fault text"
load ARG0[1:strlen(ARG0) - strlen("atlas.gp")]."common.gp"

letters = "P d W E D H N A"
kinds = "passes diverged wrong-data error died hang no-end absent"
array shades[8] = [0x009E73, 0x8fd0b8, 0xD55E00, 0xE69F00, 0xCC79A7, 0x0072B2, 0x002a4d, 0xdddddd]
wide = 0; high = 0
stats csv using (whole(0) ? (wide = column("x") > wide ? column("x") : wide, high = column("y") > high ? column("y") : high, 0) : 0) nooutput
if (!exists("transport")) { transport = "" }
set xrange [-0.5:wide + 0.5]
set yrange [-0.5:high + 0.5]
unset grid
set tics scale 0
set key outside bottom center horizontal Left reverse noenhanced samplen 2 width 0
set title transport." by NCCL version: cells and how they end\n?: run once, *: runs differ" noenhanced font ",14"
at(name) = int(place(name))
shade(k) = shades[int(k) + 1]
ink(k) = k == 1 || k == 7 ? 0x222222 : 0xffffff # on the light ones
do for [format in formats] {
	eval terminal(format, 0.75 + 0.1 * wide, 0.4 + 0.045 * high)
	set output out.".".format
	plot csv using (column("x")):(column("y")):(0.48):(0.46):(shade(column("kind"))):xticlabels(strcol(at("library"))):yticlabels(commas(strcol(at("fault")))) \
			with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, \
		csv using (column("x")):(column("y")):(strcol(at("text"))):(ink(column("kind"))) with labels textcolor rgb variable font ",10" noenhanced notitle, \
		for [k = 1:8] NaN with boxes fillstyle solid noborder linecolor rgb shades[k] title word(letters, k)." ".word(kinds, k).(k == 8 ? ", n not fired" : "")
	set output
}
