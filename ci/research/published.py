"""published: sweeps of other people's clusters, at every size, and which of them may be fitted to.

The sample is not in the tree (--published of ci/research/accuracy); here are the machines of its sweeps.
"""
import collections
import csv
import math
import re
import statistics

# NCCL of SuperBench 0.4's container (its Dockerfile builds the branch bootstrap_tag, of early 2021, before 2.9).
SUPERBENCH = ['--nccl', '2.8']
# The machines of the published sweeps, in topo_predict's words; by the rows' machine column, never
# by their results.
MACHINES = {
    'a10g_tcp_2x1': ['--topo', 'tcp-10g', '--nodes', '2'],
    'gcp_a4_b200_ag_2x1': ['--topo', 'dgx-b200', '--gpus', '1', '--nodes', '2', '--transport', 'roce'],
    'gcp_a4_b200_ar_1x8': ['--topo', 'dgx-b200'],
    'h100_309_2x8': ['--topo', 'dgx-h100', '--nodes', '2'],
    'h100_309_4x8': ['--topo', 'dgx-h100', '--nodes', '4'],
    'h100_tog_nvls_1x8': ['--topo', 'dgx-h100', '--algo', 'NVLS', '--process-gpus', '8'],   # without MPI: one process
    'h100_tog_ring_1x8': ['--topo', 'dgx-h100', '--algo', 'Ring', '--process-gpus', '8'],
    'v100_hcm_1x8': ['--topo', 'dgx-v100', '--process-gpus', '8'],   # inferred: as nccl-tests' README starts it
    'oci_a100_2x8_full': ['--topo', 'dgx-a100', '--nics', '16', '--nic-gbps', '100', '--nodes', '2',
                          '--transport', 'roce'],
    'sb_a100_1x8_allreduce': ['--topo', 'dgx-a100', '--process-gpus', '8', *SUPERBENCH],
    'sb_a100_1x8_allgather': ['--topo', 'dgx-a100', '--process-gpus', '8', *SUPERBENCH],
    'sb_a100_1x8_alltoall': ['--topo', 'dgx-a100', '--process-gpus', '8', *SUPERBENCH],
    'sb_a100_1x8_broadcast': ['--topo', 'dgx-a100', '--process-gpus', '8', *SUPERBENCH],
    'sb_a100_1x8_reduce': ['--topo', 'dgx-a100', '--process-gpus', '8', *SUPERBENCH],
    'sb_a100_1x8_reducescatter': ['--topo', 'dgx-a100', '--process-gpus', '8', *SUPERBENCH],
    'alps_gh200_1x4': ['--topo', 'gh200-quad', '--nodes', '1'],
    'alps_gh200_2x4': ['--topo', 'gh200-quad', '--nodes', '2'],
    'alps_gh200_4x4': ['--topo', 'gh200-quad', '--nodes', '4'],
    'alps_gh200_16x4': ['--topo', 'gh200-quad', '--nodes', '16'],
    'xx_h100_10xG': ['--topo', 'dgx-h100', '--nodes', '10'],   # and --gpus by the row
    'rtx4090_phb_2': ['--topo', 'geforce-4090', '--gpus', '2'],
    'gtc24_nvlstree_16x8': ['--topo', 'dgx-h100', '--nodes', '16', '--algo', 'NVLSTree'],
    't_178': ['--topo', 'a100-pcie-bridged', '--nccl', '2.19'],   # inferred from the date; and --gpus by the row
}
# Two decimals are printed: below this a figure is known to worse than 5 %.
LEAST_GBS = .1
BANDS = ('plateau', '>64MiB', '1-64MiB', '<1MiB')

Sweep = collections.namedtuple('Sweep', 'name cluster part collective gpu nodes gpus machine busbw')


def part_of(gpu):
    """The test part is of strangers: all clusters of a kind of GPU that no fit and no choice of a mechanism has read:
    Grace hosts (NVLink in pairs, Slingshot), GeForce without P2P, one GPU a node over TCP."""
    return 'test' if gpu.startswith(('GH200', 'A10G', 'RTX')) else 'fit'


def kind_of(gpu, nodes, machine):
    """A kind of machine: generation of its GPUs, NVLink or not, one node or a network."""
    nic = machine[machine.index('--transport') + 1] if '--transport' in machine else {
        'gh200-quad': 'slingshot', 'tcp-10g': 'tcp'}.get(machine[1], 'ib')
    words = gpu.replace('DGX ', '').replace('-', ' ').split()
    name = ' '.join(words[:2]) if words[0] == 'RTX' or words[1:2] == ['PCIe'] else words[0]
    return '%s %s' % (name, nic if nodes > 1 else 'node')


def band(size, largest):
    return ('plateau' if size == largest else '>64MiB' if size > 64 << 20 else
            '1-64MiB' if size >= 1 << 20 else '<1MiB')


def sweeps(path):
    """busbw by size, mean of the placements. Peaks and quoted figures, which have no size: as of
    8 GiB."""
    groups, versions = collections.OrderedDict(), {}
    with open(path) as rows:
        for r in csv.DictReader(rows):
            version = re.match(r'\d+\.\d+', r['nccl'])
            versions[r['id'].split(':')[0]] = ['--nccl', version.group()] if version else []
            key = r['id'].split(':')[0], r['collective'], r['gpu'], int(r['nnodes']), int(r['ngpus'])
            sizes = groups.setdefault(key, collections.defaultdict(list))
            sizes[int(r['size_bytes'] or 8 << 30)].append(float(r['busbw_gbs']))
    for (name, collective, gpu, nodes, ngpus), sizes in groups.items():
        cluster = '_'.join(name.split('_')[:2])
        machine = MACHINES[name] + versions[name] + ([] if '--gpus' in MACHINES[name] else ['--gpus', str(ngpus // nodes)])
        yield Sweep(name, cluster, part_of(gpu), collective, gpu, nodes, ngpus // nodes, machine,
                    {size: statistics.mean(values) for size, values in sizes.items()})


# Bars that are argued, (low, high) below 1 MiB, to 64 MiB, above; points widen them alone. Of kinds that the fit part has, hosts
# differ by a factor of two below 1 MiB. Of a kind that no source is of: the first looks at strangers (test-scorings.txt), of whose
# points one in ten was three times slower than predicted up to 64 MiB, and a half slower above. Through host memory: stores with
# an IOMMU reach 2 GB/s, where 10 are predicted, copy engines 11 to 19. Live, the launch was measured.
KNOWN = (.5, 1.35), (.65, 1.2), (.84, 1.08)
STRANGE = (.3, 1.7), (.35, 1.5), (.6, 1.2)
ARGUED = {
    'network-efa': STRANGE, 'network-slingshot': STRANGE, 'network-tcp': STRANGE,
    'network-uplinks': (*STRANGE[:2], (.5, 1.2)), 'own-gpu': STRANGE, 'rack': STRANGE,
    'network-pcie': (*STRANGE[:2], (.45, 1.7)), 'node-pcie': (*STRANGE[:2], (.45, 1.7)),
    'node-geforce': ((.3, 3), (.5, 8), (.5, 8)),
    'node-shm': ((.3, 1.7), (.15, 1.8), (.15, 2)),
    'network-hopper': KNOWN, 'network-other': KNOWN,
    'node-blackwell': ((.4, 1.5), (.6, 1.25), (.8, 1.1)),
    'node-nvls': ((.5, 1.5), (.7, 1.2), (.9, 1.06)),
    'node-older': ((.5, 1.5), (.7, 1.2), (.9, 1.08)),
    'node-hopper': ((.5, 1.5), (.75, 1.15), (.9, 1.06)),
    'node-hopper-live': ((.65, 1.3), (.8, 1.15), (.93, 1.05)),
    'two-hopper': ((.5, 1.5), (.7, 1.15), (.93, 1.06)),
    'two-hopper-live': ((.55, 1.3), (.7, 1.15), (.93, 1.06)),
}


def quantile(weighed, rank):
    for value, weight in weighed:
        rank -= weight
        if rank <= 1e-9:
            return value
    return weighed[-1][0]


def bars(rows_):
    """Error bars by class and sizes, of rows (source, class, collective, size, measured over predicted busbw): the 90 % interval,
    each source weighing alike, never narrower than what is argued of the class, as few sources tell too little of the next."""
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for source, kind, _, size, ratio in rows_:
        cells[kind, 0 if size < 1 << 20 else 1 if size <= 64 << 20 else 2][source].append(ratio)
    for kind in sorted(ARGUED):
        for sizes, (low, high) in enumerate(ARGUED[kind]):
            sources = cells.get((kind, sizes), {})
            weighed = sorted((ratio, 1 / len(ratios)) for ratios in sources.values() for ratio in ratios)
            if weighed:
                low = min(low, quantile(weighed, .05 * len(sources)))
                high = max(high, quantile(weighed, .95 * len(sources)))
            yield {'class': kind, 'sizes': sizes, 'low': float('%.3g' % low), 'high': float('%.3g' % high),
                   'points': sum(map(len, sources.values())), 'sources': len(sources), **(floor(rows_, kind) if sizes == 2 else {})}


def floor(rows_, kind):
    """Of all sizes from 64 MiB on: how many sweeps there are, and measured over predicted that 98 of 100 points exceed, each source
    weighing alike. A sweep is a collective of a source."""
    sources = collections.defaultdict(list)
    found = [(source, collective, ratio) for source, name, collective, size, ratio in rows_ if name == kind and size >= 64 << 20]
    for source, _, ratio in found:
        sources[source].append(ratio)
    weighed = sorted((ratio, 1 / len(ratios)) for ratios in sources.values() for ratio in ratios)
    return {'sweeps': len({row[:2] for row in found}), 'floor': float('%.3g' % quantile(weighed, .02 * len(sources))) if weighed else 0}


def rows(path, predict, models, parts):
    """Predictions beside each size of each sweep; `predict` is given topo_predict's arguments."""
    for sweep in sweeps(path):
        if sweep.part not in parts:
            continue
        span = ['-c', sweep.collective, '-b', str(min(sweep.busbw)), '-e', str(max(sweep.busbw))]
        for model, more in models:
            predicted = predict(*sweep.machine, *span, *more)
            for size, busbw in sweep.busbw.items():
                row = predicted.get((sweep.collective, size))
                if row is not None and busbw >= LEAST_GBS:
                    yield dict(source='published', model=model, size_bytes=size, placement='', set=sweep.part,
                               sweep='%s/%s/%dx%d' % (sweep.name, sweep.collective, sweep.nodes, sweep.gpus),
                               machine=kind_of(sweep.gpu, sweep.nodes, sweep.machine),
                               band=band(size, max(sweep.busbw)), measured=busbw, unit='GB/s',
                               predicted=float(row['busbw_gbs']), gpu=sweep.gpu, nodes=sweep.nodes,
                               low=row.get('low_busbw_gbs'), high=row.get('high_busbw_gbs'), cluster=sweep.cluster,
                               collective=sweep.collective, algo='%(algo)s %(proto)s' % row,
                               kind=row.get('bar_class', ''))


def score(some):
    """'median, p90, bias, worst factor, points' of the rows: absolute error in percent; bias is of the mean
    logarithm."""
    logs = [math.log(r['predicted'] / r['measured']) for r in some]
    errors = sorted(abs(100 * math.expm1(x)) for x in logs)
    if not errors:
        return '%8s%28s' % ('-', '')
    return '%7.1f %7.1f %+7.1f %6.2f %4d  ' % (
        statistics.median(errors), errors[math.ceil(.9 * len(errors)) - 1],
        100 * math.expm1(statistics.mean(logs)), math.exp(max(map(abs, logs))), len(errors))


def coverage(rows_):
    """The share of rows that are inside their error bar; the bars' median width over the prediction."""
    barred = [r for r in rows_ if r['low']]
    inside = [float(r['low']) <= r['measured'] <= float(r['high']) for r in barred]
    below = sum(r['measured'] < float(r['low']) for r in barred)
    widths = [(float(r['high']) - float(r['low'])) / r['predicted'] for r in rows_ if r['low']]
    return 'never scored: %d points' % len(rows_) if not inside else (
        '%5.1f %% of %d points inside, %.1f %% below, median width %.0f %%; never scored: %d points' % (
            100 * sum(inside) / len(inside), len(inside), 100 * below / len(inside), 100 * statistics.median(widths), len(rows_) - len(inside)))


def gate(rows_):
    """What --min-percent 80 says of healthy points from 64 MiB: they fail below 80 % of the bar's lower end."""
    large = [r for r in rows_ if r['size_bytes'] >= 64 << 20]
    failed = [r for r in large if r['low'] and r['measured'] < .8 * float(r['low'])]
    return '--min-percent 80 fails %d of %d healthy points from 64 MiB%s' % (len(failed), len(large), ''.join(
        '\n    %s %d: %.4g of %.4g' % (r['sweep'], r['size_bytes'], r['measured'], r['predicted']) for r in failed[:8]))


def summary(scored, parts):
    """Lines of a table, of these parts alone; each size a point, each placement's mean."""
    yield 'Published sweeps: absolute error of busbw in percent: median, p90, bias, worst factor, points'
    for part in parts:
        rows_ = [r for r in scored if r['set'] == part]
        main = [r for r in rows_ if r['model'] == 'fitted']
        clusters = sorted({'_'.join(r['sweep'].split('_')[:2]) for r in main})
        yield '\n%s part: %s' % (part, ', '.join(clusters))
        yield '%-34s' % part + ''.join('%-36s' % ('    ' + name) for name in BANDS)
        groups = [('all', main)] + [(m, [r for r in rows_ if r['model'] == m]) for m in ('physical', 'nccl')]
        for key in ('machine', 'algo', 'nodes', 'collective', 'sweep'):
            of = collections.defaultdict(list)
            for r in main:
                of[r[key].split('/')[0] if key == 'sweep' else r[key]].append(r)
            groups += [('%s %s' % (key, value), of[value]) for value in sorted(of)]
        for name, some in groups:
            yield '%-34.34s' % name + ''.join(score([r for r in some if r['band'] == b]) for b in BANDS)
        yield 'Error bars: all %s' % coverage(main)
        for key in ('kind', 'machine'):
            for kind in sorted({r[key] for r in main}):
                yield '%-34s %s' % (kind or '(no class)', coverage([r for r in main if r[key] == kind]))
        yield gate(main)
