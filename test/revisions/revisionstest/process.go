package revisionstest

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// startProcess starts the sandbox's etcd with its files and sockets in a directory. It returns when etcd says that it answers.
func startProcess(t testing.TB, dir string) {
	t.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	// etcd reports this as any service does that systemd starts.
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "ready"), Net: "unixgram"})
	require.NoError(t, err)
	defer func() { _ = ready.Close() }()

	url := func(name string) string { return "unix://" + filepath.Join(dir, name) }
	etcd := exec.Command(filepath.Join(bin, "sandbox"), "component", controlplane.Etcd, "--",
		"--data-dir", filepath.Join(dir, "data"), "--unsafe-no-fsync", "--log-level", "error",
		"--listen-client-urls", url("client"), "--advertise-client-urls", url("client"),
		"--listen-peer-urls", url("peer"), "--initial-advertise-peer-urls", url("peer"), "--initial-cluster", "default="+url("peer"),
		"--heartbeat-interval", "10", "--election-timeout", "100") // alone, it elects itself after that
	etcd.Env = append(etcd.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "ready"))
	etcd.Stdout, etcd.Stderr = t.Output(), t.Output()
	require.NoError(t, etcd.Start())
	ended := make(chan struct{})
	go func() {
		_ = etcd.Wait() // it is killed
		close(ended)
		_ = ready.Close() // nobody waits for it in vain
	}()
	t.Cleanup(func() {
		_ = etcd.Process.Kill() // it may have ended
		<-ended
	})
	_, err = ready.Read(make([]byte, 64))
	require.NoError(t, err, "etcd ended before it answered")
}
