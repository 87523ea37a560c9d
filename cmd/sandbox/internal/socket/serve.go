// Package socket serves gRPC in a kubelet's directories, where plugins and kubelets find each other by the names of files.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"google.golang.org/grpc"
)

// Serve serves at a socket, in place of one that an earlier run left there. It calls say if the server fails later. Stopping the server
// removes the socket.
func Serve(server *grpc.Server, path string, say func(word string, details ...any)) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket of an earlier run: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("listen at a socket: %w", err)
	}
	go func() {
		if err := server.Serve(listener); err != nil {
			say("FAILED", err)
		}
	}()
	return nil
}
