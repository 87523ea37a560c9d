//go:build linux

package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"

	"sigs.k8s.io/yaml"

	"example.com/podsequence/tools/sandbox/realnode"
)

// Directories as a node sees them.
const (
	nodeBin  = "/run/node/bin"
	nodeDisk = "/run/node/disk"
	socket   = "/run/containerd/containerd.sock"
)

// Images that every node has.
const (
	pauseImage    = "localhost/podsequence/pause:1"
	workloadImage = "localhost/podsequence/workload:1"
)

func (n *node) disk() string { return n.config.Disk(n.Node) }

const containerdConfig = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
address = "` + socket + `"
[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "` + pauseImage + `"
[plugins."io.containerd.cri.v1.runtime"]
# Without CAP_SYS_RESOURCE nobody may lower a score.
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["` + nodeBin + `"]
conf_dir = "` + nodeDisk + `/etc/cni"
[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "` + nodeBin + `/noseccomp"
SystemdCgroup = false
`

var cniConfig = template.Must(template.New("").Parse(`{"cniVersion": "1.0.0", "name": "pods", "plugins": [{
  "type": "bridge", "bridge": "pods", "isDefaultGateway": true, "hairpinMode": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "{{.PodCIDR}}"}]], "dataDir": "/run/cni"}}]}
`))

var kubeletConfig = template.Must(template.New("").Parse(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {{.IP}}
healthzBindAddress: 127.0.0.1
tlsCertFile: ` + nodeDisk + `/etc/kubelet.crt
tlsPrivateKeyFile: ` + nodeDisk + `/etc/kubelet.key
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: ` + nodeDisk + `/etc/ca.crt}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://` + socket + `
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
makeIPTablesUtilChains: false
resolvConf: ` + nodeDisk + `/etc/resolv.conf
clusterDomain: cluster.local
clusterDNS: [10.96.0.10]
staticPodPath: ` + nodeDisk + `/manifests
# The disk is that of the machine, and what is free of it says nothing about the node.
evictionHard:
  memory.available: 1Mi
  nodefs.available: 0%
  nodefs.inodesFree: 0%
  imagefs.available: 0%
  imagefs.inodesFree: 0%
# 100 turns it off: on a disk that is 85% full kubelet would remove the images that no container uses, and nobody could pull them.
imageGCHighThresholdPercent: 100
`))

// sysctls are what kubelet sets for the whole machine. A node has a file with the value in place of each.
var sysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// writeFiles writes everything that a node reads when it boots.
func (n *node) writeFiles() error {
	for _, dir := range []string{"etc/cni", "etc/proc", "lib/kubelet", "lib/containerd", "log", "manifests"} {
		if err := os.MkdirAll(filepath.Join(n.disk(), dir), 0o755); err != nil {
			return fmt.Errorf("make disk of %s: %w", n.Name, err)
		}
	}
	kubelet, err := n.kubeletConfig()
	if err != nil {
		return err
	}
	cni, err := fill(cniConfig, n.Node)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"etc/containerd.toml":      []byte(containerdConfig),
		"etc/cni/10-pods.conflist": cni,
		"etc/kubelet.yaml":         kubelet,
		"etc/resolv.conf":          []byte("nameserver 10.96.0.10\n"),
		"etc/proc/boot_id":         []byte(newUUID() + "\n"),
	}
	for name, value := range sysctls {
		files["etc/proc/"+filepath.Base(name)] = []byte(value + "\n")
	}
	for name, source := range map[string]string{
		"etc/ca.crt": n.config.CA, "etc/kubeconfig": n.Kubeconfig, "etc/kubelet.crt": n.Cert, "etc/kubelet.key": n.Key,
	} {
		if files[name], err = os.ReadFile(source); err != nil {
			return fmt.Errorf("read credentials of %s: %w", n.Name, err)
		}
	}
	machineID := "etc/machine-id"
	if _, err := os.Stat(filepath.Join(n.disk(), machineID)); errors.Is(err, fs.ErrNotExist) {
		files[machineID] = []byte(fmt.Sprintf("%x\n", randomBytes()))
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(n.disk(), name), content, 0o600); err != nil {
			return fmt.Errorf("write files of %s: %w", n.Name, err)
		}
	}
	return nil
}

// kubeletConfig merges the user's configuration over ours.
func (n *node) kubeletConfig() ([]byte, error) {
	ours, err := fill(kubeletConfig, n.Node)
	if err != nil || n.config.KubeletConfig == "" {
		return ours, err
	}
	theirs, err := os.ReadFile(n.config.KubeletConfig)
	if err != nil {
		return nil, fmt.Errorf("read configuration of kubelet: %w", err)
	}
	var config, changes map[string]any
	if err := errors.Join(yaml.Unmarshal(ours, &config), yaml.Unmarshal(theirs, &changes)); err != nil {
		return nil, fmt.Errorf("decode configuration of kubelet: %w", err)
	}
	merge(config, changes)
	merged, err := yaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode configuration of kubelet: %w", err)
	}
	return merged, nil
}

// merge sets what changes have, and keeps the rest.
func merge(config, changes map[string]any) {
	for key, value := range changes {
		inner, isMap := value.(map[string]any)
		ours, hasMap := config[key].(map[string]any)
		if isMap && hasMap {
			merge(ours, inner)
			continue
		}
		config[key] = value
	}
}

func fill(t *template.Template, node realnode.Node) ([]byte, error) {
	var content bytes.Buffer
	if err := t.Execute(&content, node); err != nil {
		return nil, fmt.Errorf("write files of %s: %w", node.Name, err)
	}
	return content.Bytes(), nil
}

func randomBytes() []byte {
	content := make([]byte, 16)
	_, _ = rand.Read(content) // never fails
	return content
}

func newUUID() string {
	b := randomBytes()
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
