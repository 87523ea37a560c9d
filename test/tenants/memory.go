package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// peakMemory is the most memory that was resident since resetPeak, in bytes; 0 if the process is gone.
func peakMemory(pid int) int64 {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kibibytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err == nil {
				return kibibytes << 10
			}
		}
	}
	return 0
}

// resetPeak makes the kernel forget the peak of resident memory. Where it does not, peaks are those since the process began.
func resetPeak(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// monitor is the token of somebody who may read our programs' metrics.
type monitor string

// scrapeTimeout is how long a program may take to tell its metrics.
const scrapeTimeout = 10 * time.Second

func newMonitor(ctx context.Context, api client.Client) (monitor, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "bench-monitor"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:monitoring"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	if err := api.Create(ctx, account); err != nil {
		return "", fmt.Errorf("create account for metrics: %w", err)
	}
	if err := api.Create(ctx, binding); err != nil {
		return "", fmt.Errorf("grant metrics: %w", err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := api.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("request token for metrics: %w", err)
	}
	return monitor(request.Status.Token), nil
}

// liveHeap is what a program's last garbage collection found in use, about: the next one is due when the heap has
// doubled. It is 0 if the program does not say.
func (m monitor) liveHeap(cluster *controlplane.Cluster, program string) int64 {
	url, err := cluster.URL(program)
	if err != nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+string(m))
	// The controller makes a certificate of its own.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	return nextCollection(response.Body) / 2
}

func nextCollection(metrics io.Reader) int64 {
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "go_memstats_next_gc_bytes "); ok {
			bytes, err := strconv.ParseFloat(value, 64)
			if err == nil {
				return int64(bytes)
			}
		}
	}
	return 0
}
