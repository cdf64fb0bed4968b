"""Textual screens: compose, bind keys, hand sources to widgets, turn messages into actions."""
