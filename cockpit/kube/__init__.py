"""The only room that speaks to an API server: session, discovery, reflector, decode, calls, logs.

What imports aiohttp or the `kubernetes` package is not imported on the way to the first frame. Read-only is
enforced in `cockpit.kube.guard`, below everything that could ask for a write.
"""
