"""Pools outside the cluster: AWS through boto3, anything else by commands. Reads on demand, sends what is
planned.

boto3 (extra `cloud`) is imported with the first question to AWS. Whoever runs the machines is asked in a
thread, or in a process of its own, with a deadline; what it answers becomes a `PoolObject` and its
`Machine` records.
"""
