"""The four kinds of patches and who owns which field: pure functions over JSON trees.

Nothing here changes what it is given; a result may share subtrees with its inputs.
"""
