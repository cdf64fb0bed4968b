"""Messages of the kubelet, generated from the `.proto` file beside them."""
