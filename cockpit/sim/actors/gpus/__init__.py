"""GPUs that work, heat up, throttle and fail, told as dcgm-exporter tells them."""
