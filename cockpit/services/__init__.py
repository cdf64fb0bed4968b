"""What runs beside the screens: problems and pools over time, drains, changes of pools, reads on demand."""
