package kueue

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	syaml "sigs.k8s.io/yaml"

	"example.com/podsequence/tools/sandbox/childprocess"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	system  = "kueue-system"
	service = "kueue-webhook-service"
	secret  = "kueue-webhook-server-cert"

	startPatience = 5 * time.Minute
)

// configuration is Kueue's, with ports and directories of this machine.
const configuration = `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health:
  healthProbeBindAddress: 127.0.0.1:%d
metrics:
  bindAddress: "0"
webhook:
  host: 127.0.0.1
  port: %d
  certDir: %q
leaderElection:
  leaderElect: false
internalCertManagement:
  enable: true
  webhookServiceName: kueue-webhook-service
  webhookSecretName: kueue-webhook-server-cert
featureGates:
  VisibilityOnDemand: false
waitForPodsReady:
  timeout: 1m
  recoveryTimeout: 1m
  requeuingStrategy:
    timestamp: Eviction
    backoffBaseSeconds: 1
    backoffMaxSeconds: 2
integrations:
  frameworks:
  - batch/job
  - pod
  - deployment
  - statefulset
`

// installKueue installs Kueue and runs it until the cluster stops.
func (e *environment) installKueue() error {
	program, err := kueueProgram()
	if err != nil {
		return err
	}
	health, err := controlplane.FreePort()
	if err != nil {
		return err
	}
	webhooks, err := controlplane.FreePort()
	if err != nil {
		return err
	}
	manifests, err := e.manifests(webhooks)
	if err != nil {
		return err
	}
	if err := e.kubectl(manifests, "apply", "--server-side", "-f", "-"); err != nil {
		return err
	}
	if err := e.kubectl("", "wait", "--for=condition=Established", "--timeout=5m", "crd", "--all"); err != nil {
		return err
	}
	certificates := filepath.Join(e.Dir, "kueue-certificates")
	config := filepath.Join(e.Dir, "kueue.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, configuration, health, webhooks, certificates), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := e.runKueue(program, config); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	if err := e.mountCertificate(ctx, certificates); err != nil {
		return err
	}
	return awaitReady(ctx, health)
}

func kueueProgram() (string, error) {
	bin, err := controlplane.FindBin()
	if err != nil {
		return "", err
	}
	program := filepath.Join(bin, "ecosystem", "kueue")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("no Kueue: run make build-ecosystem: %w", err)
	}
	return program, nil
}

// manifests returns Kueue's own, without what a kubelet would run, and with a Service that is another name of localhost.
func (e *environment) manifests(port int) (string, error) {
	module, err := exec.Command("go", "-C", "../programs/kueue", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue").Output()
	if err != nil {
		return "", fmt.Errorf("find Kueue's module: %w", err)
	}
	rendered, err := e.output("", "kustomize", filepath.Join(strings.TrimSpace(string(module)), "config", "default"))
	if err != nil {
		return "", err
	}
	var kept []string
	decoder := yaml.NewYAMLToJSONDecoder(strings.NewReader(rendered))
	for {
		object := &unstructured.Unstructured{}
		if decoder.Decode(&object.Object) != nil {
			return strings.Join(kept, "---\n"), nil
		}
		switch object.GetKind() {
		case "Deployment", "APIService", "FlowSchema", "PriorityLevelConfiguration":
			continue
		case "Service":
			if object.GetName() != service {
				continue
			}
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "CustomResourceDefinition":
			setPort(object.Object, int64(port), "spec", "conversion", "webhook")
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
			for _, webhook := range webhooks {
				setPort(webhook.(map[string]any), int64(port))
			}
			object.Object["webhooks"] = webhooks
		}
		text, err := syaml.Marshal(object.Object)
		if err != nil {
			return "", fmt.Errorf("write manifests: %w", err)
		}
		kept = append(kept, string(text))
	}
}

// setPort sets the port of the Service by which the API server reaches a webhook, if there is one.
func setPort(object map[string]any, port int64, path ...string) {
	path = append(path, "clientConfig", "service")
	if target, found, _ := unstructured.NestedMap(object, path...); found {
		target["port"] = port
		_ = unstructured.SetNestedMap(object, target, path...) // it was read from there
	}
}

func (e *environment) runKueue(program, config string) error {
	log, err := os.Create(e.Log("kueue"))
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	defer log.Close() //nolint:errcheck // the child has it
	command := exec.Command(program, "--config="+config, "--zap-log-level=3")
	command.Env = append(os.Environ(), "KUBECONFIG="+e.Kubeconfig())
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := childprocess.Start(command); err != nil {
		return fmt.Errorf("start Kueue: %w", err)
	}
	e.AtStop(func() error {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		return nil
	})
	return nil
}

// mountCertificate writes the Secret with the certificate of Kueue's webhooks to a directory once Kueue has made the certificate.
func (e *environment) mountCertificate(ctx context.Context, directory string) error {
	found := &corev1.Secret{}
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := e.API.Get(ctx, types.NamespacedName{Namespace: system, Name: secret}, found)
		return err == nil && len(found.Data["tls.crt"]) > 0 && len(found.Data["tls.key"]) > 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the certificate of Kueue's webhooks: %w", err)
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	for _, name := range []string{"ca.crt", "ca.key", "tls.key", "tls.crt"} { // Kueue waits for the last
		if err := os.WriteFile(filepath.Join(directory, name), found.Data[name], 0o600); err != nil {
			return fmt.Errorf("write certificate: %w", err)
		}
	}
	return nil
}
