/* fabric.h: the network between nodes as a graph of links, and the link that an algorithm's edges
 * load most. Links: the NICs of a node, out and in (its rails), and of a leaf the uplinks to the
 * spines and the downlinks from them. Spines do not block; flows spread evenly over them. */
#pragma once

#include <stddef.h>

#include "topo/topo.h"

/* The edges between nodes, in rank order; a load of 1 is all that a node sends in a ring. */
enum fabric_traffic {
	FABRIC_RING, /* each node to the next */
	FABRIC_TREE, /* NCCL's double binary tree (src/graph/trees.cc), half of the data on each of
			 * the two, up and down */
	FABRIC_PAT,  /* 2^k nodes on, the farther the less (src/device/all_gather.h) */
	FABRIC_SWITCH,	 /* once up to the switches, which reduce, and once down */
	FABRIC_ALL,	 /* evenly to all others, by the NIC of the sending GPU */
	FABRIC_ROOT,	 /* all to one GPU of node 0, 1 in total */
	FABRIC_NEXT,	 /* one GPU of each node to the next node */
	FABRIC_EXCHANGE, /* and from here: all GPUs with the node 2^k away */
	FABRIC_TRAFFICS = FABRIC_EXCHANGE + 20
};

/* A link: `width` is its capacity, in the NICs of a healthy node; `load` all that crosses it, of
 * which `beside` is the other job's. */
struct fabric_link {
	int at; /* the node or leaf */
	bool in;
	double width, load, beside;
};

/* Of a traffic: of the NICs, and of the leaves, the one where load / width is largest. A leaf's
 * load is 0 where nothing leaves a leaf. */
struct fabric_busiest {
	struct fabric_link nic, leaf;
};

/* How a node reaches the network. */
struct fabric_node {
	int nics;   /* that its GPUs reach */
	double nic; /* the NICs of one GPU over those of the node */
	bool pxn;   /* each flow finds the NIC on its rail over NVLink */
};

/* The busiest links of `nnodes` nodes, placed as sys->layout says, for every traffic. One node: none.
 */
void fabric_load(const struct topo_system *sys, int nnodes, const struct fabric_node *node,
		 struct fabric_busiest *busiest);

/* Who shares a link under a traffic, in words: its edges "8>16" ("8>*": to all), the first few. */
void fabric_sharers(const struct topo_system *sys, int nnodes, const struct fabric_node *node,
		    enum fabric_traffic traffic, const struct fabric_link *link, bool leaf,
		    char *text, size_t size);
