"""Model gateways: hosted and local models through litellm, the offline demo, scripted models."""
