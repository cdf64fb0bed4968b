"""Definitions and custom objects, right and wrong, for the comparison with the real server."""

from typing import Any

Tree = dict[str, Any]

THINGS: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.y.test"},
    "spec": {
        "group": "y.test",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["n"],
                                "properties": {
                                    "n": {"type": "integer", "minimum": 1, "maximum": 10, "format": "int32"},
                                    "s": {
                                        "type": "string",
                                        "minLength": 2,
                                        "maxLength": 4,
                                        "pattern": "^[a-z]+$",
                                    },
                                    "e": {"type": "string", "enum": ["A", "B"]},
                                    "b": {"type": "boolean"},
                                    "f": {
                                        "type": "number",
                                        "exclusiveMinimum": True,
                                        "minimum": 0,
                                        "multipleOf": 0.5,
                                    },
                                    "i": {"x-kubernetes-int-or-string": True},
                                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "nul": {"type": "string", "nullable": True},
                                    "d": {"type": "string", "default": "dd"},
                                    "dn": {"type": "string", "nullable": True, "default": "dd"},
                                    "arr": {
                                        "type": "array",
                                        "minItems": 1,
                                        "maxItems": 2,
                                        "items": {"type": "string"},
                                    },
                                    "set": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "set",
                                        "items": {"type": "string"},
                                    },
                                    "lm": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["k"],
                                        "items": {
                                            "type": "object",
                                            "required": ["k"],
                                            "properties": {
                                                "k": {"type": "string"},
                                                "v": {"type": "integer", "default": 3},
                                            },
                                        },
                                    },
                                    "m": {"type": "object", "additionalProperties": {"type": "integer"}},
                                    "o": {
                                        "type": "object",
                                        "minProperties": 1,
                                        "maxProperties": 2,
                                        "properties": {
                                            "x": {"type": "string", "default": "q"},
                                            "y": {
                                                "type": "object",
                                                "default": {},
                                                "properties": {"z": {"type": "integer", "default": 7}},
                                            },
                                        },
                                    },
                                    "dt": {"type": "string", "format": "date-time"},
                                    "one": {"type": "integer", "oneOf": [{"minimum": 5}, {"maximum": 2}]},
                                    "anyof": {
                                        "type": "object",
                                        "properties": {"p": {"type": "string"}, "q": {"type": "string"}},
                                        "anyOf": [{"required": ["p"]}, {"required": ["q"]}],
                                    },
                                    "allof": {"type": "integer", "allOf": [{"minimum": 5}, {"maximum": 2}]},
                                    "nt": {"type": "integer", "not": {"minimum": 5}},
                                    "quan": {
                                        "anyOf": [{"type": "integer"}, {"type": "string"}],
                                        "pattern": "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$",
                                        "x-kubernetes-int-or-string": True,
                                    },
                                    "tmpl": {
                                        "type": "object",
                                        "x-kubernetes-embedded-resource": True,
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {
                                    "ready": {"type": "integer"},
                                    "replicas": {"type": "integer"},
                                    "selector": {"type": "string"},
                                },
                            },
                        },
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.n",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
            }
        ],
    },
}

DEFINITIONS: dict[str, Tree] = {
    "all right": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "another name": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foo"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "group without a dot": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x"},
        "spec": {
            "group": "x",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "no schema": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    },
    "no versions": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [],
        },
    },
    "no version is stored": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": False,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "two versions are stored": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                },
                {
                    "name": "v2",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                },
            ],
        },
    },
    "a version twice": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                },
                {
                    "name": "v1",
                    "served": True,
                    "storage": False,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                },
            ],
        },
    },
    "name of a version": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "V_1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "unknown scope": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Global",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "no scope": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "no kind": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "no plural": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "kind with an underscore": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "job_x"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "field without type": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"properties": {"a": {"type": "string"}}}},
                        }
                    },
                }
            ],
        },
    },
    "root is a text": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "string",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "root without type": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            }
                        }
                    },
                }
            ],
        },
    },
    "unknown type": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": {"a": {"type": "text"}}}},
                        }
                    },
                }
            ],
        },
    },
    "array without items": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"a": {"type": "array"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "list of maps without keys": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {
                                            "type": "array",
                                            "x-kubernetes-list-type": "map",
                                            "items": {
                                                "type": "object",
                                                "properties": {"k": {"type": "string"}},
                                            },
                                        }
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "key that is not required": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {
                                            "type": "array",
                                            "x-kubernetes-list-type": "map",
                                            "x-kubernetes-list-map-keys": ["k"],
                                            "items": {
                                                "type": "object",
                                                "properties": {"k": {"type": "string"}},
                                            },
                                        }
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "unknown list type": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {
                                            "type": "array",
                                            "x-kubernetes-list-type": "bag",
                                            "items": {"type": "string"},
                                        }
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "list type of a text": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"a": {"type": "string", "x-kubernetes-list-type": "set"}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "additional and named properties": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {
                                            "type": "object",
                                            "properties": {"x": {"type": "string"}},
                                            "additionalProperties": {"type": "string"},
                                        }
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "additional false": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"a": {"type": "object", "additionalProperties": False}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "pattern that is none": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"a": {"type": "string", "pattern": "("}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "default of another type": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"a": {"type": "integer", "default": "x"}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "preserve false": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {"type": "object", "x-kubernetes-preserve-unknown-fields": False}
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "integer and int-or-string": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {"type": "integer", "x-kubernetes-int-or-string": True}
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "unique items": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {
                                            "type": "array",
                                            "uniqueItems": True,
                                            "items": {"type": "string"},
                                        }
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "reference": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": {"a": {"$ref": "#/x"}}}},
                        }
                    },
                }
            ],
        },
    },
    "scale without paths": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                    "subresources": {"scale": {}},
                }
            ],
        },
    },
    "scale paths in wrong halves": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                    "subresources": {
                        "scale": {"specReplicasPath": ".status.x", "statusReplicasPath": ".spec.y"}
                    },
                }
            ],
        },
    },
    "scale paths that are none": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                    "subresources": {
                        "scale": {
                            "specReplicasPath": "spec.replicas",
                            "statusReplicasPath": ".status.replicas",
                            "labelSelectorPath": ".status[0]",
                        }
                    },
                }
            ],
        },
    },
    "printer columns": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                    "additionalPrinterColumns": [
                        {"name": "A", "type": "text", "jsonPath": ".a"},
                        {"name": "B", "type": "string"},
                        {"type": "string", "jsonPath": "a"},
                    ],
                }
            ],
        },
    },
    "schema of labels": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "schema of the name": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "metadata": {
                                    "type": "object",
                                    "properties": {"name": {"type": "string", "pattern": "^a"}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "webhook": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
            "conversion": {"strategy": "Webhook"},
        },
    },
    "unknown conversion": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
            "conversion": {"strategy": "Foo"},
        },
    },
    "preserve unknown fields": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
            "preserveUnknownFields": True,
        },
    },
    "protected group": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.k8s.io"},
        "spec": {
            "group": "x.k8s.io",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "rule in CEL": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {
                                            "type": "integer",
                                            "x-kubernetes-validations": [{"rule": "self > 0"}],
                                        }
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "short name in capitals": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2", "shortNames": ["J2"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                            },
                        }
                    },
                }
            ],
        },
    },
    "required": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {
                                        "a": {
                                            "type": "object",
                                            "required": ["q"],
                                            "properties": {"q": {"type": "string"}},
                                        }
                                    },
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "format": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"a": {"type": "string", "format": "date-time"}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
    "empty enum": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobs2.x.test"},
        "spec": {
            "group": "x.test",
            "scope": "Namespaced",
            "names": {"plural": "jobs2", "kind": "Job2"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"a": {"type": "string", "enum": []}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    },
}

OBJECTS: dict[str, Tree] = {
    "00 n": {"spec": {"n": 1}},
    "01 n": {"spec": {"n": "x"}},
    "02 n": {"spec": {"n": 0}},
    "03 n": {"spec": {"n": 11}},
    "04 n": {"spec": {"n": 1.5}},
    "05 n": {"spec": {"n": 2.0}},
    "06 n": {"spec": {"n": 1099511627776}},
    "07 n": {"spec": {"n": None}},
    "08 n s": {"spec": {"n": 1, "s": "a"}},
    "09 n s": {"spec": {"n": 1, "s": "abcde"}},
    "10 n s": {"spec": {"n": 1, "s": "A1"}},
    "11 e n": {"spec": {"n": 1, "e": "C"}},
    "12 b n": {"spec": {"n": 1, "b": "x"}},
    "14 f n": {"spec": {"n": 1, "f": 0.3}},
    "15 f n": {"spec": {"n": 1, "f": "x"}},
    "16 i n": {"spec": {"n": 1, "i": True}},
    "17 i n": {"spec": {"n": 1, "i": 1.5}},
    "18 i n": {"spec": {"n": 1, "i": "5"}},
    "19 any n": {"spec": {"n": 1, "any": {"q": {"r": None}}}},
    "20 any n": {"spec": {"n": 1, "any": None}},
    "21 n nul": {"spec": {"n": 1, "nul": None}},
    "22 d n": {"spec": {"n": 1, "d": None}},
    "23 dn n": {"spec": {"n": 1, "dn": None}},
    "24 b n": {"spec": {"n": 1, "b": None}},
    "25 arr n": {"spec": {"n": 1, "arr": []}},
    "26 arr n": {"spec": {"n": 1, "arr": ["a", "b", "c"]}},
    "27 arr n": {"spec": {"n": 1, "arr": [1]}},
    "28 arr n": {"spec": {"n": 1, "arr": "x"}},
    "29 n set": {"spec": {"n": 1, "set": ["a", "a"]}},
    "30 lm n": {"spec": {"n": 1, "lm": [{"k": "a"}, {"k": "a"}]}},
    "31 lm n": {"spec": {"n": 1, "lm": [{"v": 1}]}},
    "32 lm n": {"spec": {"n": 1, "lm": [{"k": "a"}]}},
    "33 m n": {"spec": {"n": 1, "m": {"a": 1}}},
    "34 m n": {"spec": {"n": 1, "m": {"a": "x"}}},
    "35 m n": {"spec": {"n": 1, "m": {"a": None}}},
    "36 n o": {"spec": {"n": 1, "o": {}}},
    "37 n o": {"spec": {"n": 1, "o": {"x": "1", "y": {}}}},
    "38 n o": {"spec": {"n": 1, "o": {"x": "1", "y": {}, "z": 1}}},
    "39 dt n": {"spec": {"n": 1, "dt": "x"}},
    "40 dt n": {"spec": {"n": 1, "dt": "2020-01-01T00:00:00Z"}},
    "41 n one": {"spec": {"n": 1, "one": 3}},
    "42 n one": {"spec": {"n": 1, "one": 7}},
    "43 anyof n": {"spec": {"n": 1, "anyof": {}}},
    "44 anyof n": {"spec": {"n": 1, "anyof": {"p": "1"}}},
    "45 allof n": {"spec": {"n": 1, "allof": 3}},
    "46 n nt": {"spec": {"n": 1, "nt": 7}},
    "47 n quan": {"spec": {"n": 1, "quan": "x"}},
    "48 n quan": {"spec": {"n": 1, "quan": "5Gi"}},
    "49 n tmpl": {"spec": {"n": 1, "tmpl": {}}},
    "50 n tmpl": {"spec": {"n": 1, "tmpl": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "A_"}}}},
    "51 bar foo n": {"spec": {"n": 1, "foo": 1, "bar": {"x": 1}}},
    "52 spec": {"spec": None},
    "53 spec": {"spec": "x"},
    "54 n": {"spec": {"n": 1}, "extra": 1, "status": {"ready": 1}},
    "55 empty": {"spec": {}},
    "56 n s": {"spec": {"n": "x", "s": 1}},
    "57 n": {"spec": {"n": 1}, "metadata": {"name": "t", "foo": 1}},
    "58 n": {"spec": {"n": 1}, "metadata": {"name": "t", "labels": {"a": 1}}},
}
