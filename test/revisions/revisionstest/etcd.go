// Package revisionstest runs an etcd for a test, and writes to it as an API server does.
package revisionstest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// Etcd is an etcd that ends with its test.
type Etcd struct {
	t      testing.TB
	socket string
	client *clientv3.Client

	mu          sync.Mutex
	cut         bool
	connections []net.Conn // of the test's clients
}

// StartEtcd returns an etcd that answers.
func StartEtcd(t testing.TB) *Etcd {
	t.Helper()
	dir, err := os.MkdirTemp("", "etcd") // the path of a socket must be short, which t.TempDir is not
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	startProcess(t, dir)
	e := &Etcd{t: t, socket: filepath.Join(dir, "client")}
	e.client, err = clientv3.New(clientv3.Config{Endpoints: e.endpoints(), Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.client.Close()) })
	return e
}

func (e *Etcd) endpoints() []string {
	return []string{"unix://" + e.socket}
}

// Config is what a client needs, whose connections can then be cut.
func (e *Etcd) Config() clientv3.Config {
	return clientv3.Config{
		Endpoints:   e.endpoints(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(e.dial)},
	}
}

func (e *Etcd) dial(ctx context.Context, _ string) (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cut {
		return nil, errors.New("etcd is down, as far as the test is concerned")
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
	if err == nil {
		e.connections = append(e.connections, connection)
	}
	return connection, err
}

// Cut breaks the connections of all clients and lets nobody connect until Reconnect.
func (e *Etcd) Cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cut = true
	for _, connection := range e.connections {
		_ = connection.Close() // its client may have done so
	}
	e.connections = nil
}

// Reconnect lets clients connect again after Cut.
func (e *Etcd) Reconnect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cut = false
}

// Put stores an object, which must know its kind: one of a kind that is built in as protobuf, any other as JSON. It returns the revision.
func (e *Etcd) Put(key string, object runtime.Object) int64 {
	e.t.Helper()
	value, err := encode(object)
	require.NoError(e.t, err)
	return e.PutRaw(key, string(value))
}

// PutRaw stores a value and returns the revision.
func (e *Etcd) PutRaw(key, value string) int64 {
	e.t.Helper()
	response, err := e.client.Put(e.t.Context(), key, value)
	require.NoError(e.t, err)
	return response.Header.Revision
}

// Delete removes what is stored under a key and returns the revision.
func (e *Etcd) Delete(key string) int64 {
	e.t.Helper()
	response, err := e.client.Delete(e.t.Context(), key)
	require.NoError(e.t, err)
	require.EqualValues(e.t, 1, response.Deleted, "nothing is stored under %s", key)
	return response.Header.Revision
}

// Compact forgets what was written before a revision.
func (e *Etcd) Compact(revision int64) {
	e.t.Helper()
	_, err := e.client.Compact(e.t.Context(), revision)
	require.NoError(e.t, err)
}

func encode(object runtime.Object) ([]byte, error) {
	if _, _, err := clientgoscheme.Scheme.ObjectKinds(object); runtime.IsNotRegisteredError(err) {
		return json.Marshal(object)
	}
	return runtime.Encode(protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme), object)
}
