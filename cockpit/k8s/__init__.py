"""Kubernetes' own rules, each once: pure functions, used by the product and the embedded cluster alike.

One module for each rule. It knows nothing but `cockpit.model` and the standard library; what comes as a tree
(JSON) is read by the `..._of` functions, where what is malformed reads as not there. Answers of the real API
server and scheduler to the same questions are recorded in tests/unit/k8s/recorded.
"""
