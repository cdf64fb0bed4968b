"""What the served built-in kinds look like, custom resource definitions, and OpenAPI made of both."""

from cockpit.sim.server.schema.kinds import built_in_kinds, shape_of
from cockpit.sim.server.schema.shape import ANY, Field, Shape

__all__ = ["ANY", "Field", "Shape", "built_in_kinds", "shape_of"]
