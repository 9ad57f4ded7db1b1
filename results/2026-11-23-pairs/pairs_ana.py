import csv,glob,sys,statistics as st,re,math
d=sys.argv[1]; per={}
allr=[]
for f in sorted(glob.glob(d+'/*_*.csv')):
    m=re.match(r'.*/(\w+)_(\d+)\.csv',f)
    c,n=m.group(1),int(m.group(2))
    if c=='pairs': continue
    for r in csv.DictReader(open(f)):
        try: p=float(r['predicted_us']); t=float(r['time_us'])
        except: continue
        per.setdefault((c,n),[]).append((int(r['size_bytes']),r['placement'],p/t)); allr.append((int(r['size_bytes']),p/t))
for k in sorted(per,key=lambda x:(x[1],x[0])):
    print('%-15s %2d'%k,' '.join('%s%s:%.2f'%(s>>10,'i' if pl.startswith('in') else '',x) for s,pl,x in per[k] ))
for lo,hi,name in ((1<<20,1e18,'from 1 MiB'),(0,1<<20,'below')):
    x=[abs(v-1) for s,v in allr if lo<=s<hi]; f=[max(v,1/v) for s,v in allr if lo<=s<hi]
    if x: print(name,'n',len(x),'median err %.1f%%'%(100*st.median(x)),'within 20%%: %.0f%%'%(100*sum(e<=.2 for e in x)/len(x)),'within x2: %.0f%%'%(100*sum(e<=2 for e in f)/len(f)),'max factor %.2f'%max(f), 'median ratio %.2f'%st.median(v for s,v in allr if lo<=s<hi))
