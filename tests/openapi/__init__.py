"""The OpenAPI document of the ingress: what it says, and that a running ingress keeps to it."""
