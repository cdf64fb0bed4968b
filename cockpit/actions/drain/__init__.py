"""Drain a node: what it does to whom, the plan, and what goes on once the node is cordoned."""
