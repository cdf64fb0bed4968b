"""The only room that speaks to an API server: session, discovery, reflector, decode, calls, logs.

Nothing here imports the `kubernetes` package or aiohttp on the way to the first frame: both are imported
inside functions. Read-only is enforced in `cockpit.kube.guard`, below everything that could ask for a write.
"""
