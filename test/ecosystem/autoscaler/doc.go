// Package autoscaler runs stories with the real Karpenter, on nodes that it makes and that KWOK plays the kubelets of. The referee judges each
// story, and the nodes are counted.
//
// Karpenter is the program bin/ecosystem/karpenter, which `make test-ecosystem` builds.
package autoscaler
