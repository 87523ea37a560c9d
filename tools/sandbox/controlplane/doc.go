// Package controlplane starts and stops a real Kubernetes cluster on one machine, for the sandbox and for tests.
//
// Every component is an operating system process of its own that listens on a free port of 127.0.0.1: etcd,
// kube-apiserver, kube-controller-manager, the stock kube-scheduler, KWOK in place of kubelets, and our two programs.
// The upstream components are compiled into the sandbox executable, which this package runs as
// "sandbox component NAME". What a process needs to be started again is kept in a record beside its data, so that any
// later process can stop, kill or restart components that another one started.
package controlplane
