"""The corpus that says whether verdicts are right: injected causes, and objects as components wrote them."""
