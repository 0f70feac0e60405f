"""gRPC: Siddhi's event service and services of users, as client and as server, over grpc.aio."""
