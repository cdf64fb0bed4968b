"""Pools of machines: one file per owner, the plan of a resize, stages and progress. Calls nothing."""
