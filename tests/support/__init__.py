"""What tests are built on: a scripted model server, the ACP schema as an oracle, a raw client."""
