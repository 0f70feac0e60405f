"""WebSocket: client and server, each as source and sink, over the package websockets."""
