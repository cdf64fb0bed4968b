"""Messages of the Kubernetes protobuf wire, trimmed to the fields that records are made of."""
