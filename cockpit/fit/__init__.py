"""Would this gang fit now, on which nodes, and what is missing."""
