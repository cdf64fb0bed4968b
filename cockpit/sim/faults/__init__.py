"""A server that misbehaves on request: rules as data, seeded and counted, before a server or inside it."""
