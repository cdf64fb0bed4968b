"""HTTP of the embedded API server: TLS, people, paths, lists, watches, tables, proxies."""
